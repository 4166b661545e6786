/**
 * Connections over Soft-RoCE: how many are set up and ended in a second, by us and by `cmtime` of C, which is the server of both;
 * and how long a round trip of `rping` takes, by us and in C, with either as the server. Both wait for events.
 */
// What else is in the barrels takes long to load in the guest.
import * as CmId from "@effect-rdma/rdmacm/CmId"
import * as CmQueuePair from "@effect-rdma/rdmacm/CmQueuePair"
import * as EventChannel from "@effect-rdma/rdmacm/EventChannel"
import * as RdmaCm from "@effect-rdma/rdmacm/RdmaCm"
import * as Verbs from "@effect-rdma/verbs/Verbs"
import * as Console from "effect/Console"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { execFile, spawn } from "node:child_process"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { rping } from "../examples/rping.ts"
import { median } from "./measure.ts"

const address = "10.0.0.1"
const rounds = 5

const output = (command: string, ...args: ReadonlyArray<string>) =>
  Effect.promise(async () => (await promisify(execFile)(command, args, { timeout: 120_000 })).stdout)

/** Runs a server that never ends by itself. */
const server = (command: string, ...args: ReadonlyArray<string>) =>
  Effect.acquireRelease(
    Effect.sync(() => spawn(command, args, { stdio: ["ignore", "ignore", "inherit"] })),
    (child) =>
      Effect.callback<void>((resume) => {
        child.once("exit", () => resume(Effect.void))
        child.kill("SIGKILL")
      })
  )

const isListening = Effect.gen(function*() {
  while (!(yield* output("rdma", "resource", "show", "cm_id")).includes("state LISTEN")) yield* Effect.sleep(100)
})

/** How often an effect is done, in turn with others, after a first time that does not count. */
const inTurn = <const Names extends string, E, R>(all: Readonly<Record<Names, Effect.Effect<number, E, R>>>) =>
  Effect.gen(function*() {
    const figures = new Map<string, Array<number>>()
    for (let round = -1; round < rounds; round++) {
      for (const [name, figure] of Object.entries<Effect.Effect<number, E, R>>(all)) {
        const value = yield* figure
        if (round >= 0) figures.set(name, [...figures.get(name) ?? [], value])
      }
    }
    for (const [name, values] of figures) {
      yield* Console.log(`  ${name}: ${values.map((value) => value.toFixed(0)).join(" ")}`)
    }
    return Object.fromEntries(Array.from(figures, ([name, values]) => [name, median(values)])) as Record<Names, number>
  })

// -----------------------------------------------------------------------------
// Connections
// -----------------------------------------------------------------------------

const connections = 100

/** Microseconds that each step took for one connection. */
type Steps = ReadonlyMap<string, number>

const cmtime = Effect.map(
  output("cmtime", "-s", address, "-c", `${connections}`),
  (text): Steps =>
    new Map(
      Array.from(text.matchAll(/^([a-z ]+?) *:.* ([\d.]+)$/gm), ([, step = "", micros]) => [step, Number(micros)])
    )
)

const onAll = <A, B, E, R>(all: ReadonlyArray<A>, step: (each: A) => Effect.Effect<B, E, R>) =>
  Effect.forEach(all, step, { concurrency: "unbounded" })

/** The same steps, each for all connections before the next one. */
const ourTime = Effect.gen(function*() {
  const steps = new Map<string, number>()
  let last = performance.now()
  const done = (step: string) =>
    Effect.sync(() => {
      const now = performance.now()
      steps.set(step, (now - last) * 1000 / connections)
      last = now
    })
  yield* Effect.scoped(Effect.gen(function*() {
    const channel = yield* EventChannel.make()
    const ids = yield* onAll(Array.from({ length: connections }), () => CmId.make(channel, "tcp"))
    yield* done("create id")
    yield* onAll(ids, (id) => CmId.resolveAddress(id, { destination: `${address}:7471` }))
    yield* done("resolve addr")
    yield* onAll(ids, (id) => CmId.resolveRoute(id))
    yield* done("resolve route")
    yield* onAll(
      ids,
      (id) => CmQueuePair.make(id, { qpType: "rc", cap: { maxSendWr: 1, maxRecvWr: 1, maxSendSge: 1, maxRecvSge: 1 } })
    )
    yield* done("create qp")
    yield* onAll(ids, (id) => CmId.connect(id, { responderResources: 1, initiatorDepth: 1, retryCount: 2 }))
    yield* done("connect")
    yield* onAll(ids, (id) => CmId.disconnect(id))
    yield* done("disconnect")
  }))
  yield* done("destroy")
  return steps
})

const sum = (steps: Steps) => Array.from(steps.values()).reduce((total, each) => total + each, 0)

const compareConnections = Effect.scoped(Effect.gen(function*() {
  yield* server("cmtime")
  yield* isListening
  const steps = { c: new Map<string, Array<number>>(), ours: new Map<string, Array<number>>() }
  const noted = <E, R>(who: keyof typeof steps, time: Effect.Effect<Steps, E, R>) =>
    Effect.map(time, (times) => {
      for (const [step, micros] of times) steps[who].set(step, [...steps[who].get(step) ?? [], micros])
      return sum(times)
    })
  yield* Console.log(`µs of a connection, ${connections} at once, the server is cmtime`)
  const { c, ours } = yield* inTurn({ c: noted("c", cmtime), ours: noted("ours", ourTime) })
  for (const [step, micros] of steps.ours) {
    yield* Console.log(
      `  ${step}: ${median(steps.c.get(step) ?? []).toFixed(0)} in C, ${median(micros).toFixed(0)} ours`
    )
  }
  yield* Console.log(
    `${(ours / c).toFixed(2)} times cmtime: ${(1e6 / c).toFixed(0)} connections a second in C, ` +
      `${(1e6 / ours).toFixed(0)} ours, medians of ${rounds} runs`
  )
}))

// -----------------------------------------------------------------------------
// Round trips
// -----------------------------------------------------------------------------

const few = 50
const many = 300

/** Microseconds of a round trip: what many take longer than few, so that the start and the connection do not count. */
const roundTrip = <E, R>(run: (count: number) => Effect.Effect<unknown, E, R>) =>
  Effect.map(
    Effect.all([Effect.timed(run(few)), Effect.timed(run(many))]),
    ([[short], [long]]) => Duration.toMillis(Duration.subtract(long, short)) * 1000 / (many - few)
  )

const inC = (count: number) => output("rping", "-c", "-a", address, "-C", `${count}`)

const byUs = (count: number) =>
  Effect.scoped(rping({
    client: true,
    server: false,
    address,
    source: undefined,
    port: 7174,
    persistent: false,
    size: 64,
    count,
    verbose: false,
    validate: false
  }))

const compareRoundTrips = (name: string, command: string, ...args: ReadonlyArray<string>) =>
  Effect.scoped(Effect.gen(function*() {
    yield* server(command, ...args, "-s", "-P")
    yield* isListening
    yield* Console.log(`µs of a round trip, the server is ${name}`)
    return yield* inTurn({ c: roundTrip(inC), ours: roundTrip(byUs) })
  }))

const ourServer = fileURLToPath(new URL("../examples/rping.ts", import.meta.url))

const compare = Effect.gen(function*() {
  yield* compareConnections
  const toC = yield* compareRoundTrips("rping", "rping")
  const toUs = yield* compareRoundTrips("ours", process.execPath, ourServer)
  const times = (micros: number) => `${(micros / toC.c).toFixed(2)} times (${micros.toFixed(0)} µs)`
  yield* Console.log(
    `rping with itself: ${toC.c.toFixed(0)} µs a round trip of 64 bytes, medians of ${rounds} runs of ${many - few}; ` +
      `our client with it ${times(toC.ours)}, it with our server ${times(toUs.c)}, ours with itself ${times(toUs.ours)}`
  )
})

await Effect.runPromise(Effect.provide(compare, Layer.merge(RdmaCm.RdmaCm.layer, Verbs.Verbs.layer)))
