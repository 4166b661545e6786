/** Each program of the connection manager against its namesake in C, in both roles, and against itself. */
import { RdmaCm } from "@effect-rdma/rdmacm"
import { Verbs } from "@effect-rdma/verbs"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Layer } from "effect"
import { execFile, spawn } from "node:child_process"
import { once } from "node:events"
import { join } from "node:path"
import { text } from "node:stream/consumers"
import { askRdma, kernelHolds, once as onceInProcess } from "../packages/testkit/test/lanes/softRoce.ts"
import { type Case, mckey, printedBy, rping, ucmatose, udaddy } from "./connectionsTest.ts"
import * as Mckey from "./mckey.ts"
import { nodeFlags } from "./nodeFlags.ts"
import * as Rping from "./rping.ts"
import * as Ucmatose from "./ucmatose.ts"
import * as Udaddy from "./udaddy.ts"

const libraries = Layer.merge(RdmaCm.RdmaCm.layer, Verbs.Verbs.layer)

/** Waits until the first of both sides can be called: an id listens, or has joined its group. */
const isUp = Effect.gen(function*() {
  for (let left = 600; left > 0; left--) {
    const ids = JSON.stringify(yield* askRdma("resource show cm_id"))
    if (/"LISTEN"|"ps":"UDP"/.test(ids)) return
    yield* Effect.sleep("100 millis")
  }
  return yield* Effect.die("nobody listens")
})

/** Runs a program in C, which must end well, and gives the lines that it printed, but for the one with its status. */
const inC = (command: string, ...args: ReadonlyArray<string>) =>
  Effect.callback<ReadonlyArray<string>>((resume) => {
    const child = execFile(command, args, { timeout: 60_000 }, (error, stdout) =>
      resume(
        error === null
          ? Effect.succeed(stdout.trimEnd().split("\n").filter((line) => line !== "return status 0"))
          : Effect.die(error)
      ))
    return Effect.callback<void>((resume) => {
      child.once("close", () => resume(Effect.void))
      child.kill("SIGKILL")
    })
  })

const letters = (options: Readonly<Record<string, string | number | boolean | undefined>>) =>
  Object.entries(options).flatMap(([letter, value]) =>
    value === undefined || value === false ? [] : value === true ? [`-${letter}`] : [`-${letter}`, `${value}`]
  )

/** A program, by us and in C with the same options. */
const programs = {
  rping: {
    ours: (options: Rping.Options) => printedBy(Rping.rping(options)),
    inC: ({ address, client, count, persistent, port, server, size, validate, verbose }: Rping.Options) =>
      inC(
        "rping",
        ...letters({
          s: server,
          c: client,
          a: address,
          p: port,
          S: size,
          C: count,
          P: persistent,
          v: verbose,
          V: validate
        })
      )
  },
  ucmatose: {
    ours: (options: Ucmatose.Options) => printedBy(Ucmatose.ucmatose(options)),
    inC: ({ bind, connections, count, port, server, size }: Ucmatose.Options) =>
      inC("ucmatose", ...letters({ s: server, b: bind, c: connections, C: count, S: size, p: port }))
  },
  udaddy: {
    ours: (options: Udaddy.Options) => printedBy(Udaddy.udaddy(options)),
    inC: ({ bind, connections, count, server, size }: Udaddy.Options) =>
      inC("udaddy", ...letters({ s: server, b: bind, c: connections, C: count, S: size }))
  },
  mckey: {
    ours: (options: Mckey.Options) => printedBy(Mckey.mckey(options)),
    inC: ({ bind, count, group, sendOnly, sender, size }: Mckey.Options) =>
      inC("mckey", ...letters({ m: group, b: bind, C: count, S: size, s: sender, o: sendOnly }))
  }
}

/** Both sides; the second is started when the first can be called. */
const both = <A, B, E, E2, R, R2>(server: Effect.Effect<A, E, R>, client: Effect.Effect<B, E2, R2>) =>
  Effect.all([server, Effect.andThen(isUp, client)], { concurrency: 2 })

// librdmacm keeps the device open, and the first wait for an event opens a file that stays with the process.
const firstUse = onceInProcess(Effect.suspend(() => {
  const { client, server } = rping({ count: 1 })
  return Effect.asVoid(both(programs.rping.ours(server), programs.rping.ours(client)))
}))

/** Runs an effect, after which the kernel and the table of files must be as before. */
const leavingNothing = <A, E, R>(run: Effect.Effect<A, E, R>) =>
  Effect.gen(function*() {
    yield* firstUse
    const before = yield* kernelHolds
    const exit = yield* Effect.exit(run)
    assert.deepStrictEqual(yield* kernelHolds, before)
    return yield* exit
  })

const withC = <Options, E>(
  name: string,
  program: {
    readonly ours: (options: Options) => Effect.Effect<ReadonlyArray<string>, E, RdmaCm.RdmaCm | Verbs.Verbs>
    readonly inC: (options: Options) => Effect.Effect<ReadonlyArray<string>>
  },
  cases: Readonly<Record<string, Case<Options>>>
) =>
  describe(name, () => {
    for (const [what, { client, printed, server }] of Object.entries(cases)) {
      const { inC, ours } = program
      const pairs = {
        "ours serves C": [ours, inC],
        "C serves ours": [inC, ours],
        "ours serves ours": [ours, ours]
      } as const
      for (const [who, [first, second]] of Object.entries(pairs)) {
        it.live(
          `${what}: ${who}`,
          Effect.fnUntraced(function*() {
            const outputs = yield* leavingNothing(both(first(server), second(client)))
            assert.deepStrictEqual(outputs, [printed.server, printed.client])
          }, Effect.provide(libraries)),
          300_000
        )
      }
    }
  })

withC("rping", programs.rping, {
  "as it is": rping(),
  "all that fits": rping({ size: 65_535, count: 3, port: 7175 }),
  "the least that C takes": rping({ size: 26, verbose: true })
})

withC("ucmatose", programs.ucmatose, {
  "as it is": ucmatose(),
  "eight connections of 4096 bytes": ucmatose({ connections: 8, size: 4096, port: 7472 })
})

withC("udaddy", programs.udaddy, {
  "as it is": udaddy(),
  "eight connections of 1024 bytes": udaddy({ connections: 8, size: 1024 })
})

withC("mckey", programs.mckey, { "as it is": mckey(), "1000 bytes": mckey({ size: 1000, count: 20 }) })

const { inC: rpingInC, ours } = programs.rping

const test = <A, E>(what: string, run: Effect.Effect<A, E, RdmaCm.RdmaCm | Verbs.Verbs>) =>
  it.live(what, () => Effect.provide(run, libraries), 300_000)

describe("rping when something is wrong", () => {
  const { client, server } = rping({ count: 0 })

  test(
    "a client that is killed is a server that ends well",
    Effect.gen(function*() {
      const killed = Effect.timeoutOption(rpingInC(client), "2 seconds")
      const [lines] = yield* leavingNothing(both(ours(server), killed))
      assert.match(lines[0] ?? "", /^server ping data: rdma-ping-0: /)
    })
  )

  test(
    "a server that is killed is an error of the client",
    Effect.gen(function*() {
      const killed = Effect.timeoutOption(rpingInC(server), "5 seconds")
      const [, error] = yield* leavingNothing(both(killed, Effect.flip(ours(client))))
      assert.strictEqual(error.message, "the other side has disconnected")
    })
  )

  test(
    "without a server the connection is rejected",
    Effect.gen(function*() {
      const error = yield* leavingNothing(Effect.flip(ours(client)))
      assert(error._tag === "ConnectionRejected", error.message)
      assert.deepInclude(error, { call: "rdma_connect", reason: "invalidServiceId", status: 8 })
    })
  )

  test(
    "more bytes than the server has room for are an error of the server",
    Effect.gen(function*() {
      const [error] = yield* leavingNothing(
        both(Effect.flip(ours({ ...server, size: 32 })), Effect.exit(rpingInC(client)))
      )
      assert.strictEqual(error.message, "the client has 64 bytes, and here is room for 32: see -S")
    })
  )

  test(
    "a persistent server has several clients at once, and ends when it is interrupted",
    leavingNothing(Effect.gen(function*() {
      const { client, printed } = rping({ count: 20 })
      const persistent = yield* Effect.forkChild(ours({ ...server, verbose: false, persistent: true }))
      yield* isUp
      const outputs = yield* Effect.forEach([rpingInC, ours, rpingInC, ours], (run) => run(client), { concurrency: 4 })
      for (const lines of outputs) assert.deepStrictEqual(lines, printed.client)
      yield* Fiber.interrupt(persistent)
    }))
  )

  test(
    "both are interrupted amid their transfers",
    leavingNothing(Effect.gen(function*() {
      const running = yield* Effect.forkChild(both(ours(server), ours(client)))
      yield* Effect.andThen(isUp, Effect.sleep("1 second"))
      yield* Fiber.interrupt(running)
    }))
  )
})

describe("a program of its own", () => {
  it.live(
    "serves C and ends with 0",
    Effect.fnUntraced(function*() {
      const { client, printed } = rping({ count: 5 })
      const child = spawn(process.execPath, [...nodeFlags, join(import.meta.dirname, "rping.ts"), "-s", "-v"], {
        stdio: ["ignore", "pipe", "inherit"]
      })
      const [output, exit, lines] = yield* Effect.all([
        Effect.promise(() => text(child.stdout)),
        Effect.promise(() => once(child, "exit")),
        Effect.andThen(isUp, rpingInC(client))
      ], { concurrency: "unbounded" })
      assert.deepStrictEqual(exit, [0, null])
      assert.deepStrictEqual(output.trimEnd().split("\n"), printed.server)
      assert.deepStrictEqual(lines, printed.client)
    }),
    300_000
  )
})
