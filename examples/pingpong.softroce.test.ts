/** Each ping-pong program against its namesake in C, in both roles, and against itself. */
import { Verbs } from "@effect-rdma/verbs"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { execFile, spawn } from "node:child_process"
import { once } from "node:events"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { text } from "node:stream/consumers"
import { promisify } from "node:util"
import { kernelHolds, once as onceInProcess } from "../packages/testkit/test/lanes/softRoce.ts"
import { nodeFlags } from "./nodeFlags.ts"
import { tcpPeer } from "./pingpong.ts"
import { type AllOptions, assertPrinted, options, printedBy, type Program, programs } from "./pingpongTest.ts"

const { port } = options
const host = "127.0.0.1"

/** Waits until somebody listens on the port. Node takes its time to start there, the first time above all. */
const listening = Effect.gen(function*() {
  const listener = new RegExp(`:${port.toString(16)} [0:]+ 0A `, "i")
  for (let left = 2400; left > 0; left--) {
    if (["tcp", "tcp6"].some((table) => listener.test(readFileSync(`/proc/net/${table}`, "utf8")))) return
    yield* Effect.sleep("100 millis")
  }
  return yield* Effect.die("nobody listens")
})

const argumentsOf = ({ chk, events, host, iters, rxDepth, size }: AllOptions): ReadonlyArray<string> => [
  "-s",
  `${size}`,
  "-n",
  `${iters}`,
  "-r",
  `${rxDepth}`,
  ...chk ? ["-c"] : [],
  ...events ? ["-e"] : [],
  ...host === undefined ? [] : [host]
]

/** Runs the program in C, which must end well, and gives what it printed. */
const inC = (name: Program, options: AllOptions) =>
  Effect.promise(async (signal) => {
    const queuePairs = name === "srq" ? ["-q", `${options.numQp}`] : []
    const args = ["-g", "1", ...queuePairs, ...argumentsOf(options)]
    return (await promisify(execFile)(`ibv_${name}_pingpong`, args, { signal, timeout: 60_000 })).stdout
  })

const ours = (name: Program, options: AllOptions) => printedBy(programs[name], options, tcpPeer(options))

const bothOurs = (name: Program, options: AllOptions) =>
  Effect.all([ours(name, options), Effect.andThen(listening, ours(name, { ...options, host }))], { concurrency: 2 })

// The first wait for an event opens a file that stays with the process.
const firstEvent = onceInProcess(Effect.asVoid(bothOurs("rc", { ...options, events: true })))

/** Runs an effect, after which the kernel and the table of files must be as before. */
const leavingNothing = <A, E, R>(run: Effect.Effect<A, E, R>) =>
  Effect.gen(function*() {
    const before = yield* kernelHolds
    const exit = yield* Effect.exit(run)
    assert.deepStrictEqual(yield* kernelHolds, before)
    return yield* exit
  })

describe.for(["rc", "ud", "srq"] as const)("%s-pingpong", (name) => {
  const queuePairs = name === "srq" ? options.numQp : 1
  const cases = (name === "ud" ? [1, 1024] : [1, 4096, 65_536]).flatMap((size) =>
    [false, true].map((events) => ({ size, events }))
  )
  for (const each of cases) {
    it.live(
      `with C in both roles and with itself: ${each.size} bytes${each.events ? ", events" : ""}`,
      Effect.fnUntraced(function*() {
        yield* firstEvent
        const asServer = { ...options, ...each }
        const asClient = { ...asServer, host }
        for (const [server, client] of [[ours, inC], [inC, ours], [ours, ours]] as const) {
          const outputs = yield* leavingNothing(
            Effect.all([server(name, asServer), Effect.andThen(listening, client(name, asClient))], { concurrency: 2 })
          )
          for (const output of outputs) assertPrinted(output, asServer, queuePairs)
        }
      }, Effect.provide(Verbs.Verbs.layer)),
      300_000
    )
  }

  it.live(
    "fails when the program in C is killed, and leaves nothing",
    Effect.fnUntraced(function*() {
      const endless = { ...options, iters: 10_000_000 }
      const killed = inC(name, { ...endless, host }).pipe(
        Effect.timeoutOption("2 seconds")
      )
      const [error] = yield* leavingNothing(
        Effect.all([Effect.flip(ours(name, endless)), Effect.andThen(listening, killed)], { concurrency: 2 })
      )
      assert.include(["ProgramError", "WorkCompletionError"], error._tag)
    }, Effect.provide(Verbs.Verbs.layer)),
    300_000
  )
})

const start = (...args: ReadonlyArray<string>) =>
  spawn(process.execPath, [...nodeFlags, join(import.meta.dirname, "rc-pingpong.ts"), ...args], {
    stdio: ["ignore", "pipe", "inherit"]
  })
const exitOf = (child: ReturnType<typeof start>) => Effect.promise(() => once(child, "exit"))

describe("a program of its own", () => {
  it.live(
    "ends with 0 when all went well",
    Effect.fnUntraced(function*() {
      const server = start(...argumentsOf(options))
      const [output, exit] = yield* Effect.all([
        Effect.promise(() => text(server.stdout)),
        exitOf(server),
        Effect.andThen(listening, inC("rc", { ...options, host }))
      ], { concurrency: "unbounded" })
      assert.deepStrictEqual(exit, [0, null])
      assertPrinted(output, options, 1)
    }),
    300_000
  )

  it.live(
    "ends with 130 on Ctrl-C and leaves nothing",
    () =>
      leavingNothing(Effect.gen(function*() {
        const server = start()
        server.stdout.resume()
        yield* listening
        server.kill("SIGINT")
        assert.deepStrictEqual(yield* exitOf(server), [130, null])
      })),
    300_000
  )

  it.live(
    "ends with 1 when there is no server",
    Effect.fnUntraced(function*() {
      const client = start(host)
      client.stdout.resume()
      assert.deepStrictEqual(yield* exitOf(client), [1, null])
    }),
    300_000
  )
})
