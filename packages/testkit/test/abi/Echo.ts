/**
 * The echo provider of `native/echo.c`, compiled and loaded.
 */
import * as Library from "@effect-rdma/core/Library"
import * as Pointer from "@effect-rdma/core/Pointer"
import * as Effect from "effect/Effect"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import * as Compiler from "./Compiler.ts"

/** How a context is laid out; the names of the devices are `echo0`, `echo1`, … in this order. */
export const flavours = ["rdmaCore", "mlnxOfed", "oldRdmaCore", "legacy", "emptyMlnx"] as const

/** One of {@link flavours}. */
export type Flavour = typeof flavours[number]

/** What an operation received: every value as text, bytes as hex digits. */
export interface Report {
  readonly op: string
  readonly [field: string]: string
}

/** The test's side of the provider. */
export interface Echo {
  /** Load this in place of libibverbs. */
  readonly path: string
  readonly open: (flavour: Flavour) => Pointer.Pointer<"ibv_context">
  readonly close: (context: Pointer.Pointer<"ibv_context">) => void
  /**
   * Lets the next call of an operation fail: NULL where it makes an object, else `result`. errno becomes `errno`, or stays
   * as it is when that is 0.
   */
  readonly script: (operation: string, failure: { readonly result?: number; readonly errno?: number }) => void
  /** The last call. */
  readonly last: () => Report
  /** How many contexts, lists and objects are not released. */
  readonly live: () => number
}

const source = fileURLToPath(new URL("../../native/echo.c", import.meta.url))

/** Compiles and loads the provider; the file is removed with the scope, the library stays loaded. */
export const make = Effect.gen(function*() {
  const directory = yield* Effect.acquireRelease(
    Effect.sync(() => mkdtempSync(join(tmpdir(), "effect-rdma-echo-"))),
    (directory) => Effect.sync(() => rmSync(directory, { recursive: true }))
  )
  const path = join(directory, "libecho.so")
  Compiler.compile(source, path, ["-shared", "-fPIC", "-O1"])
  const library = yield* Library.open({ name: "echo", soname: [path], environment: "UNUSED", debianPackage: "gcc" })
  const open = library.bind("echo_open", ["int"], "pointer")
  const close = library.bind("echo_close", ["pointer"], "void")
  const script = library.bind("echo_script", ["string", "int", "int"], "int")
  const last = library.bind("echo_last", ["buffer", "size"], "int")
  const text = new Uint8Array(8192)
  const echo: Echo = {
    path,
    open: (flavour) => Pointer.make<"ibv_context">(open(flavours.indexOf(flavour))),
    close: (context) => close(context),
    script: (operation, { errno = 0, result = 0 }) => {
      if (script(operation, result, errno) !== 0) throw new Error("too many scripted failures")
    },
    last: () => JSON.parse(new TextDecoder().decode(text.subarray(0, last(text, text.length)))),
    live: library.bind("echo_live", [], "int")
  }
  return echo
})
