/**
 * Conformance of the room of shared receive queues with messages in it, and of its limit.
 *
 * @since 0.1.0
 */
import * as QueuePair from "@effect-rdma/verbs/QueuePair"
import * as SharedReceiveQueue from "@effect-rdma/verbs/SharedReceiveQueue"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { assertReason } from "../../internal/conformance.ts"
import { put } from "../../internal/conformanceBytes.ts"
import { assertNoEvent, assertTaken, nextEvent, take } from "../../internal/conformanceCompletions.ts"
import { dataPathSuite } from "../../internal/conformanceDataPath.ts"
import type * as VerbsLane from "../VerbsLane.ts"

/**
 * Registers the suite on a lane.
 *
 * @category constructors
 * @since 0.1.0
 */
export const suite = <Others = never>(lane: VerbsLane.VerbsLane<Others>): void => {
  const { has, it, onOneQueue } = dataPathSuite(lane)

  it("a receive is not posted to a queue pair that has a shared queue: EINVAL", () =>
    Effect.gen(function*() {
      const { first: { b }, receive } = yield* onOneQueue(1)
      assertReason(yield* Effect.flip(b.postRecv(receive(1n))), "ibv_post_recv", "EINVAL")
    }))

  it("more receives than it has room for are ENOMEM, none is posted, and completions that are polled give room", () =>
    Effect.gen(function*() {
      const { first: { a, b }, receive, srq } = yield* onOneQueue(1, 4)
      const tooMany = Array.from({ length: srq.maxWr + 1 }, () => receive(1n))
      const atOnce = yield* Effect.flip(SharedReceiveQueue.postRecv(srq, tooMany))
      assertReason(atOnce, "ibv_post_srq_recv", "ENOMEM")
      assert.include(atOnce.message, `made for ${srq.maxWr}`)
      yield* SharedReceiveQueue.postRecv(srq, tooMany.slice(1))
      const full = yield* Effect.flip(SharedReceiveQueue.postRecv(srq, [receive(2n)]))
      assertReason(full, "ibv_post_srq_recv", "ENOMEM")
      assert.include(full.message, "poll the completions")
      yield* QueuePair.send(a.queuePair, { sgList: [put(a, "one")] })
      yield* assertTaken(b.receives, ["1 success"])
      yield* SharedReceiveQueue.postRecv(srq, [receive(2n)])
    }))

  it("more pieces than it was made for are EINVAL", () =>
    Effect.gen(function*() {
      const { first: { b }, srq } = yield* onOneQueue(1)
      const sgList = Array.from({ length: srq.maxSge + 1 }, () => b.part())
      const error = yield* Effect.flip(SharedReceiveQueue.postRecv(srq, [{ sgList }]))
      assertReason(error, "ibv_post_srq_recv", "EINVAL")
    }))

  it("the queue is filled and emptied again and again", () =>
    Effect.gen(function*() {
      const { first: { a, b }, receive, srq } = yield* onOneQueue(1, 4)
      for (let round = 0; round < 5; round++) {
        yield* SharedReceiveQueue.postRecv(srq, [receive(1n), receive(2n), receive(3n)])
        yield* Effect.forEach([1, 2, 3], () => QueuePair.send(a.queuePair, { sgList: [put(a, "again")] }))
        yield* assertTaken(b.receives, ["1 success", "2 success", "3 success"])
      }
    }))

  it("receives beyond the old room are posted after a resize, and those before it stay", () =>
    Effect.gen(function*() {
      const { first: { a, b }, receive, srq } = yield* onOneQueue(1, 4)
      yield* SharedReceiveQueue.postRecv(srq, [receive(1n), receive(2n)])
      const resized = yield* Effect.exit(SharedReceiveQueue.modify(srq, { maxWr: 60 }))
      assert.strictEqual(resized._tag === "Success", has("resizableSrq"))
      const more = resized._tag === "Success" ? 40 : 1
      yield* SharedReceiveQueue.postRecv(srq, Array.from({ length: more }, () => receive(3n)))
      yield* Effect.forEach([1, 2, 3], () => QueuePair.send(a.queuePair, { sgList: [put(a, "kept")] }))
      yield* assertTaken(b.receives, ["1 success", "2 success", "3 success"])
    }))

  it("fewer receives than the limit are told once, and the limit is 0 then", () =>
    Effect.gen(function*() {
      const { first: { a, b }, receive, srq } = yield* onOneQueue(1)
      const { context } = b.on
      yield* SharedReceiveQueue.postRecv(srq, [1n, 2n, 3n, 4n, 5n].map((wrId) => receive(wrId)))
      yield* SharedReceiveQueue.modify(srq, { srqLimit: 3 })
      yield* Effect.forEach([1, 2], () => QueuePair.send(a.queuePair, {}))
      yield* assertNoEvent(context, srq)
      yield* QueuePair.send(a.queuePair, {})
      assert.strictEqual(yield* nextEvent(context, srq), "srqLimitReached")
      assert.strictEqual((yield* SharedReceiveQueue.query(srq)).srqLimit, 0)
      yield* QueuePair.send(a.queuePair, {})
      yield* assertNoEvent(context, srq)
      yield* take(b.receives, 4)
      yield* SharedReceiveQueue.postRecv(srq, [receive(6n)])
      yield* SharedReceiveQueue.modify(srq, { srqLimit: 2 })
      yield* QueuePair.send(a.queuePair, {})
      assert.strictEqual(yield* nextEvent(context, srq), "srqLimitReached")
    }))
}
