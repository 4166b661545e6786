/**
 * The null provider of `null.c`, compiled and loaded, and what is measured on it: a queue pair that is connected with
 * itself.
 */
import { CompletionQueue, DeviceContext, MemoryRegion, ProtectionDomain, QueuePair, Verbs } from "@effect-rdma/verbs"
import { Effect, Layer, Schema } from "effect"
import { execFileSync } from "node:child_process"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"

/** The C compiler or the headers are not here. */
export class CannotCompile extends Schema.TaggedError<CannotCompile>("CannotCompile")("CannotCompile", {
  reason: Schema.String
}) {
  override get message() {
    return `${this.reason} (apt-get install gcc libc6-dev libibverbs-dev)`
  }
}

/** The path of the compiled library, which is removed with the scope. */
export const path = Effect.gen(function*() {
  const directory = yield* Effect.acquireRelease(
    Effect.sync(() => mkdtempSync(join(tmpdir(), "effect-rdma-null-"))),
    (directory) => Effect.sync(() => rmSync(directory, { recursive: true }))
  )
  const output = join(directory, "libnull.so")
  const source = fileURLToPath(new URL("./null.c", import.meta.url))
  yield* Effect.try({
    try: () =>
      execFileSync("gcc", ["-Wall", "-Werror", "-O2", "-shared", "-fPIC", "-o", output, source], {
        stdio: ["ignore", "ignore", "pipe"]
      }),
    catch: (error) => {
      const text = error instanceof Error ? error.message : String(error)
      return new CannotCompile({ reason: text.split("\n").find((line) => line.includes("error")) ?? text })
    }
  })
  return output
})

export const layer = Layer.unwrap(Effect.map(path, (path) => Verbs.Verbs.layerFromPath(path)))

/** A queue pair that sends, its queue and memory. */
export const make = Effect.gen(function*() {
  const context = yield* DeviceContext.openByName("null0")
  const domain = yield* ProtectionDomain.alloc(context)
  const queue = yield* CompletionQueue.make(context, { cqe: 256 })
  const queuePair = yield* QueuePair.make(domain, {
    qpType: "rc",
    sendCq: queue,
    recvCq: queue,
    cap: { maxSendWr: 128, maxRecvWr: 128, maxSendSge: 4 }
  })
  const local = yield* QueuePair.endpoint(queuePair)
  yield* QueuePair.connect(queuePair, local, local)
  const region = yield* MemoryRegion.alloc(domain, { length: 4096 })
  return { context, queue, queuePair, region }
})
