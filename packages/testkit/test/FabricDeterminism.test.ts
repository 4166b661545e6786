/** A program of many fibers and hosts over links that are slow and lose something, in a hundred orders of its fibers. */
import { Fabric, Topology, Trace } from "@effect-rdma/testkit"
import {
  CompletionChannel,
  CompletionQueue,
  DeviceContext,
  MemoryRegion,
  ProtectionDomain,
  QueuePair
} from "@effect-rdma/verbs"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Exit } from "effect"
import * as Simulation from "../src/internal/simulation.ts"

const hosts = ["host-a", "host-b", "host-c", "host-d"] as const

const topology = Topology.build({
  hosts: Object.fromEntries(hosts.map((host) => [host, ["rxe0"]])),
  links: hosts.map((host, index) => ({
    node: `${host} rxe0`,
    latency: `${index + 1} micros`,
    bandwidth: 10,
    loss: 0.02,
    seed: index
  }))
})

const messages = Array.from({ length: 8 }, (_, index) => index)

const path = {
  timeout: 8,
  retryCnt: 6,
  rnrRetry: 7,
  qpAccessFlags: ["localWrite", "remoteWrite", "remoteAtomic"]
} as const

/** A host with a queue pair to the next host and one from the host before. */
const node = Effect.gen(function*() {
  const context = yield* DeviceContext.openByName("rxe0")
  const domain = yield* ProtectionDomain.alloc(context)
  // Who polls instead asks from time to time whether the device is there, by the clock of the machine.
  const channel = yield* CompletionChannel.make(context)
  const queue = yield* CompletionQueue.make(context, { cqe: 64, channel })
  const pair = QueuePair.make(domain, {
    qpType: "rc",
    sendCq: queue,
    recvCq: queue,
    cap: { maxSendWr: 8, maxRecvWr: 8 }
  })
  const region = yield* MemoryRegion.alloc(domain, {
    length: 4096,
    access: ["localWrite", "remoteWrite", "remoteAtomic"]
  })
  const make = Effect.flatMap(pair, (pair) => Effect.map(QueuePair.endpoint(pair), (local) => ({ pair, local })))
  return { region, to: yield* make, from: yield* make }
})

/** Each host sends messages to the next one, and adds to a number of the first; what all have received, and the sum. */
const ring = Effect.scoped(Effect.gen(function*() {
  const nodes = yield* Effect.forEach(hosts, (host) => Effect.provide(node, Fabric.host(host)))
  const pairs = nodes.map((from, index) => ({ from, to: nodes[(index + 1) % nodes.length]! }))
  for (const { from, to } of pairs) {
    yield* QueuePair.connect(from.to.pair, from.to.local, to.from.local, path)
    yield* QueuePair.connect(to.from.pair, to.from.local, from.to.local, path)
  }
  const received = yield* Effect.forEach(pairs, ({ from, to }, index) => {
    const send = (number: number) => {
      const { region } = from
      region.bytes.fill(16 * index + number, 64 * number, 64 * number + 64)
      return Effect.andThen(
        QueuePair.send(from.to.pair, { sgList: [{ region, offset: 64 * number, length: 64 }] }),
        QueuePair.atomicFetchAndAdd(from.to.pair, {
          sgList: [{ region, offset: 1024 + 8 * number, length: 8 }],
          remote: { rkey: to.region.rkey, remoteAddr: to.region.address + 2048n },
          add: BigInt(number)
        })
      )
    }
    const receive = (number: number) =>
      Effect.map(
        QueuePair.recv(to.from.pair, { sgList: [{ region: to.region, offset: 3072 + 64 * number, length: 64 }] }),
        () => to.region.bytes[3072 + 64 * number]
      )
    return Effect.all([
      Effect.forEach(messages, receive, { concurrency: "unbounded" }),
      Effect.forEach(messages, send, { concurrency: 4, discard: true })
    ], { concurrency: 2 })
  }, { concurrency: "unbounded" })
  const sums = nodes.map(({ region }) =>
    new DataView(region.bytes.buffer, region.bytes.byteOffset).getBigUint64(2048, true)
  )
  return { received: received.map(([bytes]) => bytes.toSorted()), sums }
}))

const simulate = <A, E>(program: Effect.Effect<A, E, Fabric.Fabric | Fabric.Seams>, seed: number) =>
  Effect.map(
    Simulation.run(Effect.provide(program, Fabric.layerFrom(topology)), Context.empty(), {
      seed,
      operations: 4,
      interruptAt: undefined,
      maxSteps: 1_000_000
    }),
    (outcome) => {
      assert(outcome._tag === "Ended", outcome._tag)
      assert(Exit.isSuccess(outcome.exit), String(outcome.exit))
      return { result: outcome.exit.value, steps: outcome.steps }
    }
  )

/** Addresses and numbers of a process, told apart by where they come first. */
const renamed = (trace: string): string => {
  const names = new Map<string, number>()
  return trace.replace(/(?<="text": ?"|"cqContext": ?)\d+/g, (text) => {
    if (!names.has(text)) names.set(text, names.size)
    return `#${names.get(text)}`
  })
}

const traceOf = (seed: number) =>
  Effect.map(simulate(Trace.record(ring), seed), ({ result }) => renamed(Trace.print(result.trace)))

describe("a fabric", () => {
  it.live("has the same result whatever the order of the fibers: 100 of them", () =>
    Effect.gen(function*() {
      const expected = {
        received: hosts.map((_, index) => messages.map((number) => 16 * index + number)),
        sums: hosts.map(() => 28n)
      }
      const steps = new Set<number>()
      for (let seed = 1; seed <= 100; seed++) {
        const run = yield* simulate(ring, seed)
        assert.deepStrictEqual(run.result, expected)
        steps.add(run.steps)
      }
      // They were not all the same.
      assert.isAbove(steps.size, 20)
    }), 120_000)

  it.live("has the same trace with the same seed, and another one with another seed", () =>
    Effect.gen(function*() {
      const once = yield* traceOf(5)
      assert.isAbove(once.length, 10_000)
      assert.isTrue((yield* traceOf(5)) === once)
      assert.isFalse((yield* traceOf(6)) === once)
    }), 120_000)
})
