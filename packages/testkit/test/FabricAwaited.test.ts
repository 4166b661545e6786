/** Requests that are awaited, where many or hostile ones meet. */
import { Resource } from "@effect-rdma/core"
import { Faults } from "@effect-rdma/testkit"
import { CompletionQueue, QueuePair, WaitStrategy } from "@effect-rdma/verbs"
import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Exit, Fiber, Scope } from "effect"
import { connected, devices, run, side, toRtr, toRts } from "./dataPath.ts"

for (const device of devices) {
  describe(`awaited requests on ${device}`, () => {
    it.live("a thousand of them wait for four places, and get them in their order", () =>
      run(Effect.gen(function*() {
        const { a, b } = yield* connected(device, { b: { cap: { maxRecvWr: 4 } }, pathA: { rnrRetry: 7 } })
        const numbers = Array.from({ length: 1000 }, (_, index) => index)
        const order: Array<number> = []
        const receive = (index: number) =>
          Effect.tap(QueuePair.recv(b.pair, { sgList: [] }), () => Effect.sync(() => order.push(index)))
        const receiving = yield* Effect.forkChild(
          Effect.forEach(numbers, receive, { concurrency: "unbounded", discard: true }),
          { startImmediately: true }
        )
        for (const _ of numbers) yield* QueuePair.send(a.pair, {})
        yield* Fiber.join(receiving)
        assert.deepStrictEqual(order, numbers)
      })))

    it.live("who posts again and again does not keep the place from who waits for it", () =>
      run(Effect.gen(function*() {
        const { a, b } = yield* connected(device, { b: { cap: { maxRecvWr: 1 } }, pathA: { rnrRetry: 7 } })
        const receive = QueuePair.recv(b.pair, { sgList: [] })
        let greedy = 0
        const again = yield* Effect.forkChild(
          Effect.gen(function*() {
            for (; greedy < 9; greedy++) yield* receive
          }),
          { startImmediately: true }
        )
        const meek = yield* Effect.forkChild(Effect.map(receive, () => greedy), { startImmediately: true })
        for (let count = 0; count < 10; count++) yield* QueuePair.send(a.pair, {})
        yield* Fiber.join(again)
        assert.strictEqual(yield* Fiber.join(meek), 1)
      })))

    it.live("a place that nobody takes goes to the next: the one who was told of it is interrupted", () =>
      run(Effect.gen(function*() {
        const { a, b } = yield* connected(device, { b: { cap: { maxRecvWr: 1 } }, pathA: { rnrRetry: 7 } })
        const receive = QueuePair.recv(b.pair, { sgList: [] })
        const [first, second, third] = yield* Effect.forEach(
          [0, 1, 2],
          () => Effect.forkChild(receive, { startImmediately: true })
        )
        // Told while `first` ends, and interrupted before it goes on.
        const interrupting = yield* Effect.forkChild(
          Effect.andThen(Fiber.await(first!), Fiber.interrupt(second!)),
          { startImmediately: true }
        )
        for (let count = 0; count < 2; count++) yield* QueuePair.send(a.pair, {})
        yield* Fiber.join(interrupting)
        assert.strictEqual((yield* Fiber.join(third!)).opcode, "recv")
      })))

    it.effect("a queue pair on a shared receive queue has no receives of its own to await", () =>
      run(Effect.gen(function*() {
        const { pair } = yield* side(device, { sharedReceives: 4 })
        const error = yield* Effect.flip(QueuePair.recv(pair, { sgList: [] }))
        assert.include(error.message, "ibv_post_recv (qpType rc): EINVAL")
        assert.include(error.message, "It receives from its shared queue")
      })))

    for (const grace of [Duration.infinity, "30 days"] as const) {
      it.live(`an interrupted send has as long as it was given: ${String(grace)}`, () =>
        run(Effect.gen(function*() {
          const { a, b } = yield* connected(device, { pathA: { rnrRetry: 7 } })
          const sending = yield* Effect.forkChild(
            Effect.provideService(QueuePair.send(a.pair, {}), WaitStrategy.InterruptionGrace, grace),
            { startImmediately: true }
          )
          const interrupting = yield* Effect.forkChild(Fiber.interrupt(sending), { startImmediately: true })
          yield* Effect.sleep("20 millis")
          b.postRecv({ wrId: 1n, sgList: [] })
          yield* Fiber.join(interrupting)
          assert.strictEqual(yield* a.state, "rts")
        })))
    }

    it.live("a grace that is no duration is none: the memory is the device's until the flush", () =>
      run(Effect.gen(function*() {
        const { a } = yield* connected(device, { pathA: { rnrRetry: 7 } })
        const grace = "a while" as Duration.Input
        yield* Effect.timeoutOption(QueuePair.send(a.pair, {}), "10 millis").pipe(
          Effect.provideService(WaitStrategy.InterruptionGrace, grace)
        )
        assert.strictEqual(yield* a.state, "err")
      })))

    it.live("nothing is posted while the completion queue is being released", () =>
      run(Effect.gen(function*() {
        const { a, b } = yield* connected(device)
        const scope = yield* Scope.make()
        const queue = yield* CompletionQueue.make(a.context, { cqe: 4 }).pipe(Scope.provide(scope))
        const pair = yield* QueuePair.make(a.domain, { qpType: "rc", sendCq: queue, recvCq: queue })
        const self = { ...a, pair }
        yield* toRtr(self, { host: "host-b", qpNum: b.pair.qpNum })
        yield* toRts(self)
        yield* QueuePair.toReset(b.pair)
        yield* toRtr(b, { host: "host-a", qpNum: pair.qpNum })
        yield* toRts(b)
        a.region.bytes.fill(1)
        const lease = yield* Effect.forkChild(Resource.withLease(queue, Effect.sleep("20 millis")), {
          startImmediately: true
        })
        const closing = yield* Effect.forkChild(Scope.close(scope, Exit.void), { startImmediately: true })
        const write = QueuePair.rdmaWrite(pair, { sgList: [{ region: a.region, length: 8 }], remote: b.remote() })
        assert.isTrue(Exit.hasDies(yield* Effect.exit(write)))
        assert.deepStrictEqual(b.region.bytes.subarray(0, 8), new Uint8Array(8))
        yield* Fiber.join(lease)
        yield* Fiber.join(closing)
      })))

    it.effect("what an awaited request took from an extended queue is there for its polls", () =>
      run(Effect.gen(function*() {
        const { a, b } = yield* connected(device)
        const queue = yield* CompletionQueue.makeExtended(b.context, { cqe: 16, wcFlags: ["byteLen"] })
        const pair = yield* QueuePair.make(b.domain, { qpType: "rc", sendCq: queue, recvCq: queue })
        const self = { ...b, pair }
        yield* toRtr(self, { host: "host-a", qpNum: a.pair.qpNum })
        yield* toRts(self)
        yield* QueuePair.toReset(a.pair)
        yield* toRtr(a, { host: "host-b", qpNum: pair.qpNum })
        yield* toRts(a)
        yield* QueuePair.postRecv(pair, [{ wrId: 1n, sgList: [] }, { wrId: 2n, sgList: [] }])
        yield* QueuePair.send(a.pair, { immData: 9 })
        yield* QueuePair.send(a.pair, {})
        yield* QueuePair.rdmaWrite(pair, { remote: a.remote() })
        const seen: Array<unknown> = []
        const poll = CompletionQueue.pollExtended(queue, ({ immData, wcFlags = 0, wrId }) => {
          seen.push([wrId, immData, wcFlags & 2])
          return false
        })
        assert.deepStrictEqual([yield* poll, yield* poll, yield* poll], [1, 1, 0])
        assert.deepStrictEqual(seen, [[1n, 9, 2], [2n, undefined, 0]])
      })))

    it.live("a message that goes through many queue pairs of one queue, each awaited, is not on one stack", () =>
      run(Effect.gen(function*() {
        const last = yield* side(device, { cqe: 1024 })
        const hop = Effect.gen(function*() {
          const make = QueuePair.make(last.domain, { qpType: "rc", sendCq: last.queue, recvCq: last.queue })
          const [from, to] = [{ ...last, pair: yield* make }, { ...last, pair: yield* make }]
          yield* toRtr(from, { host: "host-a", qpNum: to.pair.qpNum })
          yield* toRtr(to, { host: "host-a", qpNum: from.pair.qpNum })
          yield* toRts(from)
          return { from: from.pair, to: to.pair }
        })
        const hops = yield* Effect.replicateEffect(hop, 100)
        const depths: Array<number> = []
        const depth = Effect.sync(() => {
          const { stackTraceLimit } = Error
          Error.stackTraceLimit = Infinity
          depths.push((new Error("depth").stack ?? "").split("\n").length)
          Error.stackTraceLimit = stackTraceLimit
        })
        const arriving = yield* Effect.forkChild(
          Effect.forEach(hops, ({ to }, index) => {
            const next = hops[index + 1]
            const received = QueuePair.recv(to, { sgList: [] })
            return Effect.andThen(received, next === undefined ? depth : QueuePair.send(next.from, {}))
          }, { concurrency: "unbounded", discard: true }),
          { startImmediately: true }
        )
        yield* QueuePair.send(hops[0]!.from, {})
        yield* Fiber.join(arriving)
        assert.isBelow(depths[0]!, 500)
      })))

    it.live("when nobody can poll any more, all who wait are told why", () =>
      run(Effect.gen(function*() {
        const injection = yield* Faults.start([{ call: "ibv_poll_cq", nth: 4, errno: "EIO" }])
        yield* Faults.injectInto(injection)(Effect.gen(function*() {
          const { a } = yield* connected(device, { pathA: { rnrRetry: 7 } })
          const send = Effect.flip(QueuePair.send(a.pair, {}))
          const errors = yield* Effect.all([send, send, send], { concurrency: "unbounded" })
          for (const { message } of errors) assert.include(message, "ibv_poll_cq: EIO")
          assert.strictEqual(yield* a.state, "reset")
        }))
      })))
  })
}
