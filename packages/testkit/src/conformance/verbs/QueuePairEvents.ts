/**
 * Conformance of the asynchronous events of queue pairs at work.
 *
 * @since 0.1.0
 */
import * as AsyncEvent from "@effect-rdma/verbs/AsyncEvent"
import * as AsyncEvents from "@effect-rdma/verbs/AsyncEvents"
import * as CompletionQueue from "@effect-rdma/verbs/CompletionQueue"
import * as ProtectionDomain from "@effect-rdma/verbs/ProtectionDomain"
import * as QueuePair from "@effect-rdma/verbs/QueuePair"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Stream from "effect/Stream"
import { assertNoEvent, assertTaken, nextEvent, within } from "../../internal/conformanceCompletions.ts"
import { dataPathSuite, end } from "../../internal/conformanceDataPath.ts"
import type * as VerbsLane from "../VerbsLane.ts"

/**
 * Registers the suite on a lane.
 *
 * @category constructors
 * @since 0.1.0
 */
export const suite = <Others = never>(lane: VerbsLane.VerbsLane<Others>): void => {
  const { connected, domain, has, it, open, path, portNum } = dataPathSuite(lane)

  it("a queue pair that has nothing to send is drained at once, and says so", () =>
    Effect.gen(function*() {
      const { a, b } = yield* connected.rc()
      yield* drain(a.queuePair)
      assert.strictEqual(yield* nextEvent(a.on.context, a.queuePair), "sqDrained")
      yield* assertNoEvent(a.on.context, b.queuePair)
    }))

  it("it says so each time", () =>
    Effect.gen(function*() {
      const { a } = yield* connected.rc()
      for (let round = 0; round < 3; round++) {
        yield* drain(a.queuePair)
        assert.strictEqual(yield* nextEvent(a.on.context, a.queuePair), "sqDrained")
        yield* QueuePair.modify(a.queuePair, { qpState: "rts" })
      }
    }))

  it("one that has sent is drained when all of it has completed", () =>
    Effect.gen(function*() {
      const { a, b } = yield* connected.rc()
      const write = { opcode: "rdmaWrite", sgList: [a.part()], remote: b.remote() } as const
      yield* a.postSend(write, write, { ...write, wrId: 3n, flags: ["signaled"] })
      yield* drain(a.queuePair)
      assert.strictEqual(yield* nextEvent(a.on.context, a.queuePair), "sqDrained")
      yield* assertTaken(a.sends, ["3 success"])
    }))

  it("a queue pair in RTR tells that its peer talks to it, where the device does", () =>
    Effect.gen(function*() {
      const on = yield* domain
      const [a, b] = [yield* end(on, "rc"), yield* end(on, "rc")]
      for (const [self, peer] of [[a, b], [b, a]] as const) {
        yield* QueuePair.toInit(self.queuePair, { portNum })
        yield* QueuePair.toRtr(self.queuePair, { ...path, destQpNum: peer.queuePair.qpNum })
      }
      yield* b.postRecv({ wrId: 1n, sgList: [] })
      yield* QueuePair.toRts(a.queuePair, { sqPsn: path.rqPsn })
      yield* QueuePair.send(a.queuePair, {})
      yield* assertTaken(b.receives, ["1 success"])
      if (has("queuePairEvents")) assert.strictEqual(yield* nextEvent(on.context, b.queuePair), "commEst")
      else yield* assertNoEvent(on.context, b.queuePair)
    }))

  for (const opcode of ["rdmaRead", "rdmaWrite"] as const) {
    it(`a ${opcode} by a wrong key is told to the owner of the memory, where the device does`, () =>
      Effect.gen(function*() {
        const { a, b } = yield* connected.rc()
        const { context } = b.on
        const remote = { ...b.remote(), rkey: b.remote().rkey ^ 0x5500 }
        yield* a.postSend({ opcode, wrId: 1n, sgList: [a.part()], remote })
        yield* assertTaken(a.sends, ["1 remAccessErr"])
        if (has("queuePairEvents")) assert.strictEqual(yield* nextEvent(context, b.queuePair), "qpAccessErr")
        else yield* assertNoEvent(context, b.queuePair)
      }))
  }

  it("an event of one context is not told on another", () =>
    Effect.gen(function*() {
      const other = yield* open
      const { a } = yield* connected.rc()
      yield* drain(a.queuePair)
      assert.strictEqual(yield* nextEvent(a.on.context, a.queuePair), "sqDrained")
      yield* assertNoEvent(other, a.queuePair)
    }))

  it("events of many queue pairs come one by one, each of its own", () =>
    Effect.gen(function*() {
      const on = yield* domain
      const pairs = yield* Effect.forEach([0, 1, 2, 3], () => connected.rc({ on }))
      const waiting = AsyncEvents.stream(on.context).pipe(
        Stream.filter(({ event }) => event === "sqDrained"),
        Stream.take(pairs.length),
        Stream.runCollect
      )
      const fiber = yield* Effect.forkChild(within("the events", waiting), { startImmediately: true })
      for (const { a } of pairs) yield* drain(a.queuePair)
      const events = yield* Fiber.join(fiber)
      for (const { a } of pairs) {
        assert.strictEqual(events.filter((event) => AsyncEvent.concerns(event, a.queuePair)).length, 1)
      }
    }))

  it("an event that nobody read goes with its queue pair", () =>
    Effect.gen(function*() {
      const context = yield* open
      const on = yield* ProtectionDomain.alloc(context)
      yield* Effect.scoped(Effect.gen(function*() {
        const { a } = yield* connected.rc({ on })
        yield* drain(a.queuePair)
        yield* Effect.sleep("30 millis")
      }))
      const queue = yield* CompletionQueue.make(context, { cqe: 1 })
      yield* assertNoEvent(context, queue)
      const left = AsyncEvents.stream(context).pipe(
        Stream.filter(({ _tag }) => _tag === "QueuePair"),
        Stream.runHead,
        Effect.timeoutOption("40 millis")
      )
      assert.strictEqual((yield* left)._tag, "None")
    }))
}

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

const drain = (self: QueuePair.QueuePair) => QueuePair.modify(self, { qpState: "sqd", enSqdAsyncNotify: true })
