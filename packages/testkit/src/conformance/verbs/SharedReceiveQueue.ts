/**
 * Conformance of shared receive queues.
 *
 * @since 0.1.0
 */
import * as CompletionQueue from "@effect-rdma/verbs/CompletionQueue"
import * as DeviceContext from "@effect-rdma/verbs/DeviceContext"
import * as SharedReceiveQueue from "@effect-rdma/verbs/SharedReceiveQueue"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import { assertReason } from "../../internal/conformance.ts"
import { verbsSuite } from "../../internal/conformanceVerbs.ts"
import type * as VerbsLane from "../VerbsLane.ts"

/**
 * Registers the suite on a lane.
 *
 * @category constructors
 * @since 0.1.0
 */
export const suite = <Others = never>(lane: VerbsLane.VerbsLane<Others>): void => {
  const { domain, has, it } = verbsSuite(lane)

  it("a shared receive queue has at least the room that was asked for", () =>
    Effect.gen(function*() {
      const srq = yield* SharedReceiveQueue.make(yield* domain, { maxWr: 100, maxSge: 2 })
      assert.isAtLeast(srq.maxWr, 100)
      assert.isAtLeast(srq.maxSge, 2)
      const found = yield* SharedReceiveQueue.query(srq)
      assert.isAtLeast(found.maxWr, 100)
      assert.isAtLeast(found.maxSge, 2)
      assert.strictEqual(found.srqLimit, 0)
    }))

  it("a limit is armed and disarmed, and one above the room is EINVAL", () =>
    Effect.gen(function*() {
      const srq = yield* SharedReceiveQueue.make(yield* domain, { maxWr: 100 })
      yield* SharedReceiveQueue.modify(srq, { srqLimit: 10 })
      assert.strictEqual((yield* SharedReceiveQueue.query(srq)).srqLimit, 10)
      yield* SharedReceiveQueue.modify(srq, { srqLimit: 0 })
      assert.strictEqual((yield* SharedReceiveQueue.query(srq)).srqLimit, 0)
      const error = yield* Effect.flip(SharedReceiveQueue.modify(srq, { srqLimit: 1000 }))
      assertReason(error, "ibv_modify_srq", "EINVAL")
    }))

  it("the room changes where the device can, else that is EINVAL", () =>
    Effect.gen(function*() {
      const srq = yield* SharedReceiveQueue.make(yield* domain, { maxWr: 100 })
      const changed = yield* Effect.result(SharedReceiveQueue.modify(srq, { maxWr: 500 }))
      if (Result.isFailure(changed)) {
        assert.isFalse(has("resizableSrq"))
        return assertReason(changed.failure, "ibv_modify_srq", "EINVAL")
      }
      assert.isTrue(has("resizableSrq"))
      assert.isAtLeast((yield* SharedReceiveQueue.query(srq)).maxWr, 500)
    }))

  it("no room and more than the device has are EINVAL", () =>
    Effect.gen(function*() {
      const on = yield* domain
      const { maxSrqSge, maxSrqWr } = yield* DeviceContext.query(on.context)
      for (const attributes of [{ maxWr: 0 }, { maxWr: maxSrqWr + 1 }, { maxWr: 4, maxSge: maxSrqSge + 1 }]) {
        const error = yield* Effect.flip(SharedReceiveQueue.make(on, attributes))
        assertReason(error, "ibv_create_srq", "EINVAL")
      }
    }))

  it("an extended basic queue is a plain one, and has no number", () =>
    Effect.gen(function*() {
      const srq = yield* SharedReceiveQueue.makeExtended(yield* domain, { srqType: "basic", maxWr: 10 })
      assert.isAtLeast((yield* SharedReceiveQueue.query(srq)).maxWr, 10)
      assertReason(yield* Effect.flip(SharedReceiveQueue.number(srq)), "ibv_get_srq_num", "EOPNOTSUPP")
    }))

  it("a queue that matches tags is there, or refused with EOPNOTSUPP", () =>
    Effect.gen(function*() {
      const on = yield* domain
      const completionQueue = yield* CompletionQueue.makeExtended(on.context, { cqe: 16 }).pipe(
        Effect.catchReason("VerbsError", "EOPNOTSUPP", () => CompletionQueue.make(on.context, { cqe: 16 }))
      )
      const made = yield* Effect.result(
        SharedReceiveQueue.makeExtended(on, {
          srqType: "tm",
          maxWr: 8,
          completionQueue,
          tmCap: { maxNumTags: 4 }
        })
      )
      if (Result.isFailure(made)) {
        assert.isFalse(has("tagMatching"))
        return assertReason(made.failure, "ibv_create_srq_ex", "EOPNOTSUPP")
      }
      assert.isTrue(has("tagMatching"))
      assert.isAbove(yield* SharedReceiveQueue.number(made.success), 0)
    }))
}
