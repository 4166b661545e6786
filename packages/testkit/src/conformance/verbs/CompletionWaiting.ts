/**
 * Conformance of waiting for completions, in each of the ways to wait.
 *
 * @since 0.1.0
 */
import * as AddressHandle from "@effect-rdma/verbs/AddressHandle"
import * as CompletionChannel from "@effect-rdma/verbs/CompletionChannel"
import * as CompletionQueue from "@effect-rdma/verbs/CompletionQueue"
import * as QueuePair from "@effect-rdma/verbs/QueuePair"
import * as WaitStrategy from "@effect-rdma/verbs/WaitStrategy"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { assertInterruptible, usesDeadHandle } from "../../internal/conformance.ts"
import { put, textIn } from "../../internal/conformanceBytes.ts"
import { assertQuiet, assertTaken, outcomes, takeOne, within } from "../../internal/conformanceCompletions.ts"
import { addressed, dataPathSuite } from "../../internal/conformanceDataPath.ts"
import type * as VerbsLane from "../VerbsLane.ts"

/**
 * Registers the suite on a lane.
 *
 * @category constructors
 * @since 0.1.0
 */
export const suite = <Others = never>(lane: VerbsLane.VerbsLane<Others>): void => {
  const { connected, datagramsOn, domain, headerBytes, it, open } = dataPathSuite(lane)

  /** A connection whose receiver has a queue on a channel, and as many receives as there is room for. */
  const withChannel = Effect.gen(function*() {
    const on = yield* domain
    const channel = yield* CompletionChannel.make(on.context)
    const receives = yield* CompletionQueue.make(on.context, { cqe: 64, channel })
    const { a, b } = yield* connected.rc({ on, b: { receives, cap: { maxRecvWr: 32 } } })
    const post = (...wrIds: ReadonlyArray<bigint>) => b.postRecv(...wrIds.map((wrId) => ({ wrId, sgList: [b.part()] })))
    return { a, b, channel, post, queue: receives, send: QueuePair.send(a.queuePair, {}) }
  })

  const strategies: ReadonlyArray<WaitStrategy.WaitStrategy> = [
    { _tag: "spin", slice: "100 micros" },
    { _tag: "turn" },
    { _tag: "channel" }
  ]
  for (const strategy of strategies) {
    const waiting = Effect.provideService(WaitStrategy.WaitStrategy, strategy)

    it(`${strategy._tag}: what has completed is there at once, and what comes later is waited for`, () =>
      Effect.gen(function*() {
        const { post, queue, send } = yield* withChannel
        yield* post(1n, 2n)
        yield* send
        yield* waiting(assertTaken(queue, ["1 success"]))
        const fiber = yield* Effect.forkChild(waiting(assertTaken(queue, ["2 success"])), { startImmediately: true })
        yield* Effect.sleep("30 millis")
        assert.strictEqual(fiber.pollUnsafe(), undefined)
        yield* send
        yield* Fiber.join(fiber)
      }))

    it(`${strategy._tag}: a stream gives every completion once, in order`, () =>
      Effect.gen(function*() {
        const { post, queue, send } = yield* withChannel
        const streaming = CompletionQueue.stream(queue, 4).pipe(Stream.take(24), Stream.runCollect, waiting)
        const fiber = yield* Effect.forkChild(within("24 completions", streaming), { startImmediately: true })
        for (let wrId = 0n; wrId < 24n; wrId++) {
          yield* post(wrId)
          yield* send
        }
        const expected = Array.from({ length: 24 }, (_, wrId) => `${wrId} success`)
        assert.deepStrictEqual(outcomes(yield* Fiber.join(fiber)), expected)
      }))

    it(`${strategy._tag}: an interrupted wait loses nothing`, () =>
      Effect.gen(function*() {
        const { post, queue, send } = yield* withChannel
        yield* assertInterruptible(waiting(CompletionQueue.next(queue)))
        let came = 0
        for (let wrId = 0n; wrId < 10n; wrId++) {
          const next = Effect.map(waiting(CompletionQueue.next(queue)), ({ length }) => came += length)
          const fiber = yield* Effect.forkChild(next, { startImmediately: true })
          yield* post(wrId)
          yield* send
          yield* Fiber.interrupt(fiber)
        }
        yield* Effect.sleep("50 millis")
        came += (yield* CompletionQueue.poll(queue, 64)).length
        assert.strictEqual(came, 10)
      }))

    it(`${strategy._tag}: two fibers share a queue, and no completion goes to both`, () =>
      Effect.gen(function*() {
        const { post, queue, send } = yield* withChannel
        const seen: Array<bigint> = []
        const consumer = waiting(Effect.forever(Effect.map(CompletionQueue.next(queue, 2), (completions) => {
          seen.push(...completions.map(({ wrId }) => wrId))
        })))
        const fibers = [yield* Effect.forkChild(consumer), yield* Effect.forkChild(consumer)]
        const wrIds = Array.from({ length: 20 }, (_, wrId) => BigInt(wrId))
        for (const wrId of wrIds) {
          yield* post(wrId)
          yield* send
        }
        const all = Effect.repeat(Effect.sleep("5 millis"), { until: () => seen.length >= wrIds.length })
        yield* within(`20 completions`, all)
        yield* Fiber.interruptAll(fibers)
        assert.deepStrictEqual(seen.toSorted((x, y) => Number(x - y)), wrIds)
      }))

    it(`${strategy._tag}: messages go to and fro many times, and no wait sleeps through one`, () =>
      Effect.gen(function*() {
        const on = yield* domain
        const channel = yield* CompletionChannel.make(on.context)
        const queue = () => CompletionQueue.make(on.context, { cqe: 16, channel })
        const { a, b } = yield* connected.rc({
          on,
          a: { sends: yield* queue(), receives: yield* queue() },
          b: { sends: yield* queue(), receives: yield* queue() }
        })
        for (const { queuePair } of [a, b]) yield* QueuePair.postRecv(queuePair, [{ sgList: [] }])
        const rounds = 60
        const ping = Effect.gen(function*() {
          for (let round = 0; round < rounds; round++) {
            yield* QueuePair.send(a.queuePair, {})
            yield* takeOne(a.receives)
            yield* a.postRecv({ sgList: [] })
          }
        })
        const pong = Effect.gen(function*() {
          for (let round = 0; round < rounds; round++) {
            yield* takeOne(b.receives)
            yield* b.postRecv({ sgList: [] })
            yield* QueuePair.send(b.queuePair, {})
          }
        })
        yield* waiting(Effect.all([ping, pong], { concurrency: "unbounded", discard: true }))
      }))

    it(`${strategy._tag}: awaited requests and those that are polled get along in one queue`, () =>
      Effect.gen(function*() {
        const on = yield* domain
        const channel = yield* CompletionChannel.make(on.context)
        const queue = yield* CompletionQueue.make(on.context, { cqe: 64, channel })
        const both = { sends: queue, receives: queue }
        const { a, b } = yield* connected.rc({ on, a: both, b: both })
        yield* b.postRecv(...Array.from({ length: 10 }, () => ({ wrId: 7n, sgList: [b.part()] })))
        const sending = Effect.forEach(
          Array.from({ length: 10 }, (_, index) => BigInt(index)),
          (wrId) => QueuePair.send(a.queuePair, { wrId }),
          { concurrency: 4 }
        )
        const receiving = assertTaken(queue, Array.from({ length: 10 }, () => "7 success"))
        const [sent] = yield* waiting(within(
          "all of both kinds",
          Effect.all([sending, receiving], { concurrency: "unbounded" })
        ))
        assert.deepStrictEqual(sent.map(({ wrId }) => Number(wrId)), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
        yield* assertQuiet(queue)
      }))

    it(`${strategy._tag}: a wait ends when its queue is released`, () =>
      Effect.gen(function*() {
        const context = yield* open
        const channel = yield* CompletionChannel.make(context)
        const scope = yield* Scope.fork(yield* Effect.scope)
        const queue = yield* CompletionQueue.make(context, { cqe: 4, channel }).pipe(Scope.provide(scope))
        const fiber = yield* Effect.forkChild(usesDeadHandle(waiting(CompletionQueue.next(queue))), {
          startImmediately: true
        })
        yield* Effect.sleep("10 millis")
        yield* Scope.close(scope, Exit.void)
        assert.include((yield* within("the end of the wait", Fiber.join(fiber))).resource, "CompletionQueue")
      }))
  }

  it("waiting for events works on a queue without a channel too", () =>
    Effect.gen(function*() {
      const on = yield* domain
      const { a, b } = yield* connected.rc({ on })
      yield* b.postRecv({ wrId: 1n, sgList: [] })
      const fiber = yield* Effect.forkChild(assertTaken(b.receives, ["1 success"]), { startImmediately: true })
      yield* QueuePair.send(a.queuePair, {})
      yield* Fiber.join(fiber)
    }))

  it("a stream reads no more than it is asked for", () =>
    Effect.gen(function*() {
      const { post, queue, send } = yield* withChannel
      yield* post(1n, 2n, 3n, 4n, 5n)
      yield* Effect.repeat(send, { times: 4 })
      yield* Effect.sleep("50 millis")
      const first = yield* CompletionQueue.stream(queue, 2).pipe(Stream.take(1), Stream.runCollect)
      assert.deepStrictEqual(outcomes(first), ["1 success"])
      yield* assertTaken(queue, ["3 success", "4 success", "5 success"])
    }))

  it("who waits on one queue of a channel is not woken for nothing, nor kept from its own, by another queue", () =>
    Effect.gen(function*() {
      const on = yield* domain
      const channel = yield* CompletionChannel.make(on.context)
      const queue = () => CompletionQueue.make(on.context, { cqe: 16, channel })
      const pairs = [
        yield* connected.rc({ on, b: { receives: yield* queue() } }),
        yield* connected.rc({ on, b: { receives: yield* queue() } })
      ] as const
      for (const { b } of pairs) yield* b.postRecv(...[1n, 2n].map((wrId) => ({ wrId, sgList: [] })))
      const fibers = yield* Effect.forEach(
        pairs,
        ({ b }) => Effect.forkChild(assertTaken(b.receives, ["1 success", "2 success"]), { startImmediately: true })
      )
      for (const { a } of [pairs[1], pairs[0], pairs[0], pairs[1]]) {
        yield* QueuePair.send(a.queuePair, {})
        yield* Effect.sleep("5 millis")
      }
      yield* Effect.forEach(fibers, (fiber) => Fiber.join(fiber))
    }))

  it("waiting on one queue leaves the event of another one on the channel", () =>
    Effect.gen(function*() {
      const { a, b, channel, post, queue, send } = yield* withChannel
      const other = yield* CompletionQueue.make(a.on.context, { cqe: 4, channel })
      const second = yield* connected.rc({ on: b.on, b: { receives: other } })
      yield* second.b.postRecv({ wrId: 1n, sgList: [] })
      yield* CompletionQueue.requestNotification(other)
      yield* QueuePair.send(second.a.queuePair, {})
      const fiber = yield* Effect.forkChild(assertTaken(queue, ["5 success"]), { startImmediately: true })
      yield* Effect.sleep("30 millis")
      yield* post(5n)
      yield* send
      yield* Fiber.join(fiber)
      assert.strictEqual(yield* within("an event", CompletionChannel.next(channel)), other)
      yield* assertTaken(other, ["1 success"])
    }))

  it("who waited for completions before does not take the event from who asks the channel now", () =>
    Effect.gen(function*() {
      const { channel, post, queue, send } = yield* withChannel
      for (let wrId = 0n; wrId < 3n; wrId++) {
        const fiber = yield* Effect.forkChild(assertTaken(queue, [`${wrId} success`]), { startImmediately: true })
        yield* Effect.sleep("10 millis")
        yield* post(wrId)
        yield* send
        yield* Fiber.join(fiber)
      }
      yield* CompletionQueue.requestNotification(queue)
      yield* post(3n)
      yield* send
      assert.strictEqual(yield* within("an event", CompletionChannel.next(channel)), queue)
      yield* assertTaken(queue, ["3 success"])
    }))

  it("datagrams are waited for by events", () =>
    Effect.gen(function*() {
      const on = yield* domain
      const channel = yield* CompletionChannel.make(on.context)
      const receives = yield* CompletionQueue.make(on.context, { cqe: 16, channel })
      const [a, b] = [yield* datagramsOn(on), yield* datagramsOn(on, { receives })]
      const to = addressed(yield* AddressHandle.make(on, lane.loop), b)
      for (let round = 0; round < 10; round++) {
        yield* b.postRecv({ wrId: BigInt(round), sgList: [b.part(0, 64)] })
        const fiber = yield* Effect.forkChild(assertTaken(receives, [`${round} success`]), { startImmediately: true })
        yield* QueuePair.send(a.queuePair, { to, sgList: [put(a, `no. ${round}`)] })
        yield* Fiber.join(fiber)
        assert.strictEqual(textIn(b, 5, headerBytes), `no. ${round}`)
      }
    }))
}
