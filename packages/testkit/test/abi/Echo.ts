/**
 * The echo provider of `echo.c`, compiled and loaded.
 */
import * as Library from "@effect-rdma/core/Library"
import * as Pointer from "@effect-rdma/core/Pointer"
import * as Resource from "@effect-rdma/core/Resource"
import type * as Lane from "@effect-rdma/testkit/conformance/Lane"
import * as CompletionQueue from "@effect-rdma/verbs/CompletionQueue"
import * as Verbs from "@effect-rdma/verbs/Verbs"
import { afterAll, afterEach, assert, beforeAll } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
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

/** The report of a parent domain on these parts, with nothing else set. */
export const parentDomainReport = (
  parts: { readonly context: string; readonly pd: string; readonly td: string }
): Report => ({
  op: "alloc_parent_domain",
  ...parts,
  comp_mask: "0",
  alloc: "0",
  free: "0",
  pd_context: "0"
})

/** How a call fails. */
export interface Failure {
  readonly result?: number
  readonly errno?: number
  readonly after?: number
}

/** The test's side of the provider. */
export interface Echo {
  /** Load this in place of libibverbs. */
  readonly path: string
  readonly open: (flavour: Flavour) => Pointer.Pointer<"ibv_context">
  readonly close: (context: Pointer.Pointer<"ibv_context">) => void
  /** A queue pair that nobody made, for what is made on one; given back by `free`. */
  readonly qp: (context: Pointer.Pointer<"ibv_context">) => Pointer.Pointer<"ibv_qp">
  readonly free: (object: bigint) => void
  /**
   * Lets the next call of an operation fail, or one that comes `after` so many more: NULL where it makes an object, else
   * `result`. errno becomes `errno`, or stays as it is when that is 0.
   */
  readonly script: (operation: string, failure: Failure) => void
  /**
   * What the next poll gives: the number of a request that has completed, successfully unless there is a status, with the
   * numbers of C.
   */
  readonly completion: (
    wrId: bigint,
    fields?: { readonly status?: number; readonly opcode?: number; readonly flags?: number }
  ) => void
  /** The next object that is made has the address of the next one that is released: one of the same kind. */
  readonly recycle: () => void
  /** How many scripted failures are still to come. */
  readonly armed: () => number
  /** The last call. */
  readonly last: () => Report
  /** The calls since this was asked last, in order. */
  readonly calls: () => ReadonlyArray<Report>
  /** How many contexts, lists and objects are not released. */
  readonly live: () => number
  /** Forgets what is alive, what is scripted and what has completed. */
  readonly reset: () => void
}

const source = fileURLToPath(new URL("./echo.c", import.meta.url))

/** Compiles and loads the provider; the file is removed with the scope, the library stays loaded. */
export const makeWith = Effect.fnUntraced(function*(flags: ReadonlyArray<string>) {
  const directory = yield* Effect.acquireRelease(
    Effect.sync(() => mkdtempSync(join(tmpdir(), "effect-rdma-echo-"))),
    (directory) => Effect.sync(() => rmSync(directory, { recursive: true }))
  )
  const path = join(directory, "libecho.so")
  Compiler.compile(source, path, ["-shared", "-fPIC", "-O1", ...flags])
  const library = yield* Library.open({ name: "echo", soname: [path], environment: "UNUSED", debianPackage: "gcc" })
  const open = library.bind("echo_open", ["int"], "pointer")
  const close = library.bind("echo_close", ["pointer"], "void")
  const qp = library.bind("echo_qp", ["pointer"], "pointer")
  const free = library.bind("echo_free", ["pointer"], "void")
  const script = library.bind("echo_script", ["string", "int", "int", "int"], "int")
  const last = library.bind("echo_last", ["buffer", "size"], "int")
  const calls = library.bind("echo_calls", ["buffer", "size"], "int")
  const completion = library.bind("echo_completion", ["u64", "int", "int", "uint"], "void")
  const text = new Uint8Array(1 << 20)
  const read = (call: typeof last) => new TextDecoder().decode(text.subarray(0, call(text, text.length)))
  const echo: Echo = {
    path,
    open: (flavour) => Pointer.make<"ibv_context">(open(flavours.indexOf(flavour))),
    close: (context) => close(context),
    qp: (context) => Pointer.make<"ibv_qp">(qp(context)),
    free: (object) => free(object),
    script: (operation, { after = 0, errno = 0, result = 0 }) => {
      if (script(operation, result, errno, after) !== 0) throw new Error("too many scripted failures")
    },
    completion: (wrId, { flags = 0, opcode = 0, status = 0 } = {}) => completion(wrId, status, opcode, flags),
    recycle: library.bind("echo_recycle", [], "void"),
    armed: library.bind("echo_armed", [], "int"),
    last: () => JSON.parse(read(last)),
    calls: () => read(calls).split("\n").filter((line) => line !== "").map((line): Report => JSON.parse(line)),
    live: library.bind("echo_live", [], "int"),
    reset: library.bind("echo_reset", [], "void")
  }
  return echo
})

/** {@link makeWith} without flags. */
export const make = makeWith([])

/**
 * Lets requests complete, in this order, and gives their reports with the `wrId` that was given with each in place of the
 * number that C was told. Those numbers are ours, and no two of them are the same.
 */
export const completed = Effect.fnUntraced(function*(
  echo: Echo,
  queue: CompletionQueue.CompletionQueue,
  reports: ReadonlyArray<Report>
) {
  const numbers = reports.map(numberOf)
  assert.strictEqual(new Set(numbers).size, numbers.length)
  for (const number of numbers) {
    assert.isAtLeast(Number(number), 2 ** 24)
    echo.completion(number)
  }
  const completions = yield* CompletionQueue.poll(queue, numbers.length + 1)
  assert.deepInclude(echo.last(), { op: "poll_cq", cq: String(Resource.raw(queue)) })
  assert.strictEqual(completions.length, reports.length)
  return reports.map((report, index): Report => ({ ...report, wr_id: String(completions[index]?.wrId) }))
})

/** The number of a request in its report. */
export const numberOf = (report: Report): bigint => BigInt(report["wr_id"] ?? assert.fail(`${report.op} has no number`))

/** The provider as a lane, and the test's side of it. */
export interface EchoLane extends Lane.Lane<Verbs.Verbs> {
  readonly echo: () => Echo
}

/**
 * One provider for the tests of a `describe`: after each of them nothing of it is alive, and every scripted failure has
 * happened.
 */
export const lane = (flags: ReadonlyArray<string> = []): EchoLane => {
  const scope = Scope.makeUnsafe()
  let made: Echo | undefined
  const echo = (): Echo => {
    if (made === undefined) throw new Error("the provider is there only while tests run")
    return made
  }
  const state = () => ({ live: echo().live(), armed: echo().armed() })
  beforeAll(async () => {
    made = await Effect.runPromise(Effect.provideService(makeWith(flags), Scope.Scope, scope))
  })
  afterEach(() => {
    const left = state()
    // A failed test spoils no other.
    echo().reset()
    echo().calls()
    assert.deepStrictEqual(left, { live: 0, armed: 0 })
  })
  afterAll(() => Effect.runPromise(Scope.close(scope, Exit.void)))
  return {
    name: "echo",
    layer: Layer.unwrap(Effect.sync(() => Verbs.Verbs.layerFromPath(echo().path))),
    snapshot: Effect.sync(state),
    echo
  }
}
