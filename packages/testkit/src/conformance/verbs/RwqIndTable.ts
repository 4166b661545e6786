/**
 * Conformance of indirection tables.
 *
 * @since 0.1.0
 */
import * as Pointer from "@effect-rdma/core/Pointer"
import * as Resource from "@effect-rdma/core/Resource"
import * as DeviceContext from "@effect-rdma/verbs/DeviceContext"
import * as RwqIndTable from "@effect-rdma/verbs/RwqIndTable"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import { assertPath, assertReason, namesOf, recorded, timesCalled } from "../../internal/conformance.ts"
import { verbsSuite, workQueueOn } from "../../internal/conformanceVerbs.ts"
import type * as VerbsLane from "../VerbsLane.ts"

/**
 * Registers the suite on a lane.
 *
 * @category constructors
 * @since 0.1.0
 */
export const suite = <Others = never>(lane: VerbsLane.VerbsLane<Others>): void => {
  const { domain, itRefusesSteering, itSteers, open } = verbsSuite(lane)

  const workQueue = Effect.flatMap(domain, workQueueOn)

  itRefusesSteering("an indirection table is EOPNOTSUPP of ibv_create_rwq_ind_table", () =>
    Effect.gen(function*() {
      const context = yield* open
      // No work queue can be made either; the provider has no such operation and looks at none.
      const queue = Pointer.make<"ibv_wq">(0x1000n)
      const error = yield* Effect.flip(context.verbs.createRwqIndTable(Resource.raw(context), [queue]))
      assertReason(error, "ibv_create_rwq_ind_table", "EOPNOTSUPP")
    }))

  itSteers("a table holds its work queues: EBUSY of ibv_destroy_wq until it is gone", () =>
    Effect.gen(function*() {
      const queue = yield* workQueue
      const scope = yield* Scope.fork(yield* Effect.scope)
      yield* RwqIndTable.make([queue, queue]).pipe(Scope.provide(scope))
      const error = yield* Effect.flip(queue.context.verbs.destroyWq(Resource.raw(queue)))
      assertReason(error, "ibv_destroy_wq", "EBUSY")
      yield* Scope.close(scope, Exit.void)
      assert.isTrue(Resource.isLive(queue))
    }))

  itSteers("a number of work queues that is no power of two is a SchemaError", () =>
    recorded(function*(calls) {
      const queue = yield* workQueue
      assertPath(yield* Effect.flip(RwqIndTable.make([queue, queue, queue])), [])
      assert.strictEqual(timesCalled(yield* calls, "ibv_create_rwq_ind_table"), 0)
    }))

  itSteers("a table larger than the device's is EINVAL of ibv_create_rwq_ind_table", () =>
    Effect.gen(function*() {
      const queue = yield* workQueue
      const { rssCaps } = yield* DeviceContext.queryExtended(queue.context)
      const many = Array.from({ length: 2 * rssCaps.maxRwqIndirectionTableSize - 1 }, () => queue)
      const error = yield* Effect.flip(RwqIndTable.make([queue, ...many]))
      assertReason(error, "ibv_create_rwq_ind_table", "EINVAL")
    }))

  itSteers("a table goes before its work queues, in whichever scope they are", () =>
    recorded(function*(calls) {
      const scope = yield* Scope.fork(yield* Effect.scope)
      const queue = yield* workQueue.pipe(Scope.provide(scope))
      const table = yield* RwqIndTable.make([queue])
      yield* Scope.close(scope, Exit.void)
      assert.isFalse(Resource.isLive(table))
      const releases = namesOf(yield* calls).filter((name) => /destroy_(wq|rwq)/.test(name))
      assert.deepStrictEqual(releases, ["ibv_destroy_rwq_ind_table", "ibv_destroy_wq"])
    }))
}
