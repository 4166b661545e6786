/**
 * Conformance of polling the completions of messages.
 *
 * @since 0.1.0
 */
import * as AddressHandle from "@effect-rdma/verbs/AddressHandle"
import * as CompletionQueue from "@effect-rdma/verbs/CompletionQueue"
import * as QueuePair from "@effect-rdma/verbs/QueuePair"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import { assertReason } from "../../internal/conformance.ts"
import { put } from "../../internal/conformanceBytes.ts"
import { assertQuiet, assertTaken, nextEvent, outcomes, take } from "../../internal/conformanceCompletions.ts"
import { addressed, dataPathSuite, end } from "../../internal/conformanceDataPath.ts"
import { stateOf } from "../../internal/conformanceVerbs.ts"
import type * as VerbsLane from "../VerbsLane.ts"

/**
 * Registers the suite on a lane.
 *
 * @category constructors
 * @since 0.1.0
 */
export const suite = <Others = never>(lane: VerbsLane.VerbsLane<Others>): void => {
  const { connect, connected, datagramsOn, domain, it } = dataPathSuite(lane)

  /** Time enough for what is under way. */
  const settle = Effect.sleep("100 millis")

  it("a poll takes at most what it is asked for, the oldest first", () =>
    Effect.gen(function*() {
      const { a, b } = yield* connected.rc()
      yield* b.postRecv(...receives(10))
      yield* a.postSend(...writes(10))
      yield* settle
      for (const queue of [a.sends, b.receives]) {
        assert.deepStrictEqual(outcomes(yield* CompletionQueue.poll(queue, 4)), succeeding(4))
        assert.deepStrictEqual(outcomes(yield* CompletionQueue.poll(queue, 1)), ["4 success"])
        assert.deepStrictEqual(outcomes(yield* CompletionQueue.poll(queue, 64)), succeeding(10).slice(5))
        assert.deepStrictEqual(yield* CompletionQueue.poll(queue, 64), [])
      }
    }))

  it("sends and receives complete in one queue", () =>
    Effect.gen(function*() {
      const on = yield* domain
      const queue = yield* CompletionQueue.make(on.context, { cqe: 64 })
      const both = { sends: queue, receives: queue }
      const { a, b } = yield* connected.rc({ on, a: both, b: both })
      yield* a.postRecv({ wrId: 1n, sgList: [] })
      yield* b.postRecv({ wrId: 2n, sgList: [] })
      yield* a.postSend({ opcode: "send", wrId: 3n, flags: ["signaled"] })
      yield* b.postSend({ opcode: "send", wrId: 4n, flags: ["signaled"] })
      const taken = yield* take(queue, 4)
      const found = taken.map(({ qpNum, wrId }) => ({ qpNum, wrId })).toSorted((x, y) => Number(x.wrId - y.wrId))
      const [ofA, ofB] = [a.queuePair.qpNum, b.queuePair.qpNum]
      assert.deepStrictEqual(found, [
        { qpNum: ofA, wrId: 1n },
        { qpNum: ofB, wrId: 2n },
        { qpNum: ofA, wrId: 3n },
        { qpNum: ofB, wrId: 4n }
      ])
    }))

  it("one queue serves many queue pairs, each in its own order", () =>
    Effect.gen(function*() {
      const on = yield* domain
      const queues = {
        sends: yield* CompletionQueue.make(on.context, { cqe: 128 }),
        receives: yield* CompletionQueue.make(on.context, { cqe: 128 })
      }
      const pairs = yield* Effect.forEach(Array.from({ length: 6 }), () =>
        connected.rc({ on, a: { sends: queues.sends }, b: { receives: queues.receives } }))
      for (const { b } of pairs) {
        yield* b.postRecv(...receives(8))
      }
      for (const { a } of pairs) {
        yield* a.postSend(...writes(8))
      }
      for (const [queue, side] of [[queues.sends, "a"], [queues.receives, "b"]] as const) {
        const taken = yield* take(queue, 48)
        for (const pair of pairs) {
          const own = taken.filter(({ qpNum }) =>
            qpNum === pair[side].queuePair.qpNum
          )
          assert.deepStrictEqual(outcomes(own), succeeding(8))
        }
        yield* assertQuiet(queue)
      }
    }))

  it("one queue serves connections and datagrams", () =>
    Effect.gen(function*() {
      const on = yield* domain
      const queue = yield* CompletionQueue.make(on.context, { cqe: 64 })
      const { a, b } = yield* connected.rc({ on, b: { receives: queue } })
      const sender = yield* datagramsOn(on)
      const receiver = yield* datagramsOn(on, { receives: queue })
      const ah = yield* AddressHandle.make(on, lane.loop)
      yield* b.postRecv({ wrId: 1n, sgList: [b.part(0, 64)] })
      yield* receiver.postRecv({ wrId: 2n, sgList: [receiver.part(0, 64)] })
      yield* QueuePair.send(a.queuePair, { sgList: [put(a, "one")] })
      yield* QueuePair.send(sender.queuePair, { to: addressed(ah, receiver), sgList: [put(sender, "two")] })
      const taken = yield* take(queue, 2)
      assert.deepStrictEqual(
        taken.map((completion) => completion.status === "success" ? [completion.wrId, completion.byteLen] : []),
        [[1n, 3], [2n, 43]]
      )
    }))

  it("those that are not signaled have no completion, and with sqSigAll every send has one", () =>
    Effect.gen(function*() {
      const on = yield* domain
      const { a, b } = yield* connected.rc({ on, b: { sqSigAll: true } })
      const write = { opcode: "rdmaWrite", sgList: [put(a, "x")], remote: b.remote() } as const
      yield* a.postSend({ ...write, wrId: 1n }, { ...write, wrId: 2n, flags: ["signaled"] })
      yield* assertTaken(a.sends, ["2 success"])
      const back = { opcode: "rdmaWrite", sgList: [put(b, "x")], remote: a.remote() } as const
      yield* b.postSend({ ...back, wrId: 3n }, { ...back, wrId: 4n })
      yield* assertTaken(b.sends, ["3 success", "4 success"])
      yield* assertQuiet(a.sends, b.sends)
    }))

  it("a queue that grows and shrinks keeps the completions in it", () =>
    Effect.gen(function*() {
      const { a, b } = yield* connected.rc()
      yield* b.postRecv(...receives(10))
      yield* a.postSend(...writes(10))
      yield* settle
      assert.deepStrictEqual(outcomes(yield* CompletionQueue.poll(a.sends, 2)), succeeding(2))
      assert.isAtLeast(yield* CompletionQueue.resize(a.sends, 300), 300)
      assert.deepStrictEqual(outcomes(yield* CompletionQueue.poll(a.sends, 2)), succeeding(4).slice(2))
      assert.isAtLeast(yield* CompletionQueue.resize(a.sends, 8), 8)
      assert.deepStrictEqual(outcomes(yield* CompletionQueue.poll(a.sends)), succeeding(10).slice(4))
    }))

  it("a queue does not become smaller than what is in it: EINVAL, and nothing is lost", () =>
    Effect.gen(function*() {
      const { a, b } = yield* connected.rc()
      yield* b.postRecv(...receives(10))
      yield* a.postSend(...writes(10))
      yield* settle
      assertReason(yield* Effect.flip(CompletionQueue.resize(a.sends, 2)), "ibv_resize_cq", "EINVAL")
      assert.deepStrictEqual(outcomes(yield* CompletionQueue.poll(a.sends)), succeeding(10))
    }))

  it("a queue for sends that overflows tells of it, and holds no more than it has room for", () =>
    Effect.gen(function*() {
      const on = yield* domain
      const sends = yield* CompletionQueue.make(on.context, { cqe: 3 })
      const { a, b } = yield* connected.rc({ on, a: { sends } })
      yield* b.postRecv(...receives(8))
      yield* a.postSend(...writes(8))
      assert.strictEqual(yield* nextEvent(on.context, sends), "cqErr")
      yield* settle
      assert.isAtMost((yield* CompletionQueue.poll(sends)).length, sends.cqe)
    }))

  it("two queue pairs overflow the queue that they share", () =>
    Effect.gen(function*() {
      const on = yield* domain
      const sends = yield* CompletionQueue.make(on.context, { cqe: 3 })
      const pairs = [
        yield* connected.rc({ on, a: { sends } }),
        yield* connected.rc({ on, a: { sends } })
      ]
      for (const { a, b } of pairs) {
        yield* b.postRecv(...receives(2))
        yield* a.postSend(...writes(2))
      }
      assert.strictEqual(yield* nextEvent(on.context, sends), "cqErr")
      assert.isAtMost((yield* CompletionQueue.poll(sends)).length, sends.cqe)
    }))

  it("a queue for receives that overflows tells of it", () =>
    Effect.gen(function*() {
      const on = yield* domain
      const queue = yield* CompletionQueue.make(on.context, { cqe: 3 })
      const { a, b } = yield* connected.rc({ on, b: { receives: queue } })
      yield* b.postRecv(...receives(8))
      yield* a.postSend(...writes(4))
      assert.strictEqual(yield* nextEvent(on.context, queue), "cqErr")
      assert.isAtMost((yield* CompletionQueue.poll(queue)).length, queue.cqe)
    }))

  it("what a queue pair left in the queue when it was destroyed is nobody's", () =>
    Effect.gen(function*() {
      const on = yield* domain
      const sends = yield* CompletionQueue.make(on.context, { cqe: 16 })
      const stays = yield* connected.rc({ on, a: { sends } })
      const scope = yield* Scope.fork(yield* Effect.scope)
      const goes = yield* connected.rc({ on, a: { sends } }).pipe(Scope.provide(scope))
      for (const { a, b } of [goes, stays]) {
        yield* b.postRecv(...receives(2))
        yield* a.postSend(...writes(2))
        yield* settle
      }
      yield* Scope.close(scope, Exit.void)
      const rest = yield* assertTaken(sends, succeeding(2))
      assert.isTrue(rest.every(({ qpNum }) => qpNum === stays.a.queuePair.qpNum))
      yield* assertQuiet(sends)
    }))

  it("what a queue pair left in the queue when it was reset is nobody's, and what follows is its own", () =>
    Effect.gen(function*() {
      const { a, b } = yield* connected.rc()
      yield* b.postRecv(...receives(3))
      yield* a.postSend(...writes(3))
      yield* settle
      yield* QueuePair.toReset(a.queuePair)
      yield* QueuePair.toReset(b.queuePair)
      yield* assertQuiet(a.sends, b.receives)
      yield* connect(a, b)
      yield* b.postRecv({ wrId: 8n, sgList: [] })
      yield* a.postSend({ opcode: "send", wrId: 9n, flags: ["signaled"] })
      yield* assertTaken(a.sends, ["9 success"])
      yield* assertTaken(b.receives, ["8 success"])
    }))

  it("every number of 64 bits comes back", () =>
    Effect.gen(function*() {
      const { a, b } = yield* connected.rc()
      const wrIds = [0n, 1n, 2n ** 63n, 2n ** 64n - 1n]
      yield* b.postRecv(...wrIds.map((wrId) => ({ wrId, sgList: [] })))
      yield* a.postSend(...wrIds.map((wrId) => ({ opcode: "send", wrId, flags: ["signaled"] } as const)))
      for (const queue of [a.sends, b.receives]) {
        assert.deepStrictEqual((yield* take(queue, 4)).map(({ wrId }) => wrId), wrIds)
      }
    }))

  it("the completion of a failure tells which queue pair, and nothing that it does not know", () =>
    Effect.gen(function*() {
      const on = yield* domain
      const self = yield* end(on, "rc")
      yield* QueuePair.toInit(self.queuePair, { portNum: lane.port })
      yield* self.postRecv({ wrId: 5n, sgList: [] })
      yield* QueuePair.toErr(self.queuePair)
      const [flushed] = yield* assertTaken(self.receives, ["5 wrFlushErr"])
      assert.deepStrictEqual(flushed, {
        wrId: 5n,
        status: "wrFlushErr",
        vendorErr: flushed?.vendorErr ?? 0,
        qpNum: self.queuePair.qpNum
      })
      assert.strictEqual(yield* stateOf(self.queuePair), "err")
    }))
}

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

const numbers = (count: number) => Array.from({ length: count }, (_, index) => BigInt(index))

const writes = (count: number) => numbers(count).map((wrId) => ({ opcode: "send", wrId, flags: ["signaled"] } as const))

const receives = (count: number) => numbers(count).map((wrId) => ({ wrId, sgList: [] }))

const succeeding = (count: number) => numbers(count).map((wrId) => `${wrId} success`)
