/**
 * The null provider of `null.c`, compiled and loaded, and what is measured on it: a queue pair that is connected with
 * itself.
 */
import { Library } from "@effect-rdma/core"
import { QueuePair, Verbs } from "@effect-rdma/verbs"
import { Context, Effect, Layer, Schema } from "effect"
import { execFileSync } from "node:child_process"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import * as Side from "./side.ts"

/** The C compiler or the headers are not here. */
export class CannotCompile extends Schema.TaggedError<CannotCompile>()("CannotCompile", { reason: Schema.String }) {
  override get message() {
    return `the null provider cannot be compiled: ${this.reason} (apt-get install gcc libc6-dev libibverbs-dev)`
  }
}

/** The compiled library, beside libibverbs in the process. */
export class NullProvider extends Context.Service<NullProvider, {
  readonly path: string
  /** After how many polls that find nothing a send completes: 0 at first. */
  readonly delay: (polls: number) => void
}>()("bench/NullProvider") {
  static readonly layer = Layer.effect(
    NullProvider,
    Effect.gen(function*() {
      const directory = yield* Effect.acquireRelease(
        Effect.sync(() => mkdtempSync(join(tmpdir(), "effect-rdma-null-"))),
        (directory) => Effect.sync(() => rmSync(directory, { recursive: true }))
      )
      const path = join(directory, "libnull.so")
      const source = fileURLToPath(new URL("./null.c", import.meta.url))
      yield* Effect.try({
        try: () =>
          execFileSync("gcc", ["-Wall", "-Werror", "-O2", "-shared", "-fPIC", "-o", path, source], {
            stdio: ["ignore", "ignore", "pipe"]
          }),
        catch: (error) => {
          const text = error instanceof Error ? error.message : String(error)
          const line = text.split("\n").find((line) => line.includes("error")) ?? text
          return new CannotCompile({ reason: line.trim() })
        }
      })
      const library = yield* Library.open({ name: "null", soname: [path], environment: "UNUSED", debianPackage: "gcc" })
      return { path, delay: library.bind("null_delay", ["int"], "void") }
    })
  )
}

/** It, and the library of verbs over it. */
export const layer = Layer.unwrap(Effect.map(NullProvider, ({ path }) => Verbs.Verbs.layerFromPath(path))).pipe(
  Layer.provideMerge(NullProvider.layer)
)

/** A side that is connected with itself. */
export const make = Effect.gen(function*() {
  const side = yield* Side.make("null0")
  yield* QueuePair.connect(side.queuePair, side.local, side.local)
  return side
})
