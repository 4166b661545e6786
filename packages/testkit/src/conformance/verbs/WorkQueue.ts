/**
 * Conformance of work queues.
 *
 * @since 0.1.0
 */
import * as Resource from "@effect-rdma/core/Resource"
import * as DeviceContext from "@effect-rdma/verbs/DeviceContext"
import * as WorkQueue from "@effect-rdma/verbs/WorkQueue"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { assertPath, assertReason, recorded, timesCalled } from "../../internal/conformance.ts"
import { queueOn, verbsSuite, workQueueOn } from "../../internal/conformanceVerbs.ts"
import type * as VerbsLane from "../VerbsLane.ts"

/**
 * Registers the suite on a lane.
 *
 * @category constructors
 * @since 0.1.0
 */
export const suite = <Others = never>(lane: VerbsLane.VerbsLane<Others>): void => {
  const { domain, it, itRefusesSteering, itSteers } = verbsSuite(lane)

  const parts = Effect.gen(function*() {
    const on = yield* domain
    return { context: on.context, domain: on, queue: yield* queueOn(on) }
  })
  const workQueue = Effect.flatMap(domain, workQueueOn)

  itRefusesSteering("a work queue is EOPNOTSUPP of ibv_create_wq, and its domain can go", () =>
    Effect.gen(function*() {
      const { domain, queue } = yield* parts
      const error = yield* Effect.flip(WorkQueue.make(domain, queue, { maxWr: 4 }))
      assertReason(error, "ibv_create_wq", "EOPNOTSUPP")
    }))

  it("attributes of a work queue out of range are a SchemaError with the path, and the library is not called", () =>
    recorded(function*(calls) {
      const { domain, queue } = yield* parts
      const before = (yield* calls).length
      assertPath(yield* Effect.flip(WorkQueue.make(domain, queue, { maxWr: -1 })), ["maxWr"])
      assertPath(yield* Effect.flip(WorkQueue.make(domain, queue, { maxWr: 1, maxSge: 2 ** 32 })), ["maxSge"])
      assert.strictEqual((yield* calls).length, before)
    }))

  itSteers(
    "work queues have numbers of their own and at least the room that was asked for",
    () =>
      Effect.gen(function*() {
        const { domain, queue } = yield* parts
        const one = yield* WorkQueue.make(domain, queue, { maxWr: 5, maxSge: 3 })
        const other = yield* WorkQueue.make(domain, queue, { maxWr: 5 })
        assert.notStrictEqual(one.wqNum, other.wqNum)
        assert.isAtLeast(one.maxWr, 5)
        assert.isAtLeast(one.maxSge, 3)
        assert.strictEqual(one.completionQueue, queue)
      })
  )

  itSteers(
    "a work queue for nothing, or larger than the device's, is EINVAL of ibv_create_wq",
    () =>
      Effect.gen(function*() {
        const { context, domain, queue } = yield* parts
        const { maxSge } = yield* DeviceContext.query(context)
        for (const bad of [{ maxWr: 0 }, { maxWr: 0xffff_ffff }, { maxWr: 1, maxSge: maxSge * 1000 }]) {
          assertReason(yield* Effect.flip(WorkQueue.make(domain, queue, bad)), "ibv_create_wq", "EINVAL")
        }
      })
  )

  itSteers(
    "a work queue goes from reset to ready, to an error, and only by a reset back",
    () =>
      Effect.gen(function*() {
        const queue = yield* workQueue
        yield* WorkQueue.modify(queue, { wqState: "rdy", currWqState: "reset" })
        yield* WorkQueue.modify(queue, { wqState: "err" })
        assertReason(yield* Effect.flip(WorkQueue.modify(queue, { wqState: "rdy" })), "ibv_modify_wq", "EINVAL")
        yield* WorkQueue.modify(queue, { wqState: "reset" })
        yield* WorkQueue.modify(queue, { wqState: "rdy" })
      })
  )

  itSteers(
    "a work queue in another state than it is said to be is EINVAL of ibv_modify_wq",
    () =>
      Effect.gen(function*() {
        const queue = yield* workQueue
        const error = yield* Effect.flip(WorkQueue.modify(queue, { wqState: "rdy", currWqState: "err" }))
        assertReason(error, "ibv_modify_wq", "EINVAL")
      })
  )

  itSteers("a flag that the device cannot change is EOPNOTSUPP of ibv_modify_wq", () =>
    Effect.gen(function*() {
      const queue = yield* workQueue
      const error = yield* Effect.flip(WorkQueue.modify(queue, { flags: { pciWriteEndPadding: true } }))
      assertReason(error, "ibv_modify_wq", "EOPNOTSUPP")
    }))

  itSteers(
    "a completion queue of another device is EINVAL, and the library is not called",
    () =>
      recorded(function*(calls) {
        const one = yield* parts
        const other = yield* parts
        const error = yield* Effect.flip(WorkQueue.make(one.domain, other.queue, { maxWr: 1 }))
        assertReason(error, "ibv_create_wq", "EINVAL")
        assert.strictEqual(timesCalled(yield* calls, "ibv_create_wq"), 0)
      })
  )

  itSteers("a work queue holds its completion queue: EBUSY of ibv_destroy_cq", () =>
    Effect.gen(function*() {
      const queue = yield* workQueue
      const { verbs } = queue.context
      const error = yield* Effect.flip(verbs.destroyCq(Resource.raw(queue.completionQueue)))
      assertReason(error, "ibv_destroy_cq", "EBUSY")
      assertReason(yield* Effect.flip(verbs.deallocPd(Resource.raw(queue.domain))), "ibv_dealloc_pd", "EBUSY")
    }))
}
