/**
 * Conformance of multicast attachments.
 *
 * @since 0.1.0
 */
import * as Resource from "@effect-rdma/core/Resource"
import * as MulticastAttachment from "@effect-rdma/verbs/MulticastAttachment"
import * as QueuePair from "@effect-rdma/verbs/QueuePair"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Result from "effect/Result"
import * as Scope from "effect/Scope"
import { assertReason, namesOf, recorded, timesCalled } from "../../internal/conformance.ts"
import { verbsSuite } from "../../internal/conformanceVerbs.ts"
import type * as VerbsLane from "../VerbsLane.ts"

/**
 * Registers the suite on a lane.
 *
 * @category constructors
 * @since 0.1.0
 */
export const suite = <Others = never>(lane: VerbsLane.VerbsLane<Others>): void => {
  const { it, pair, portNum } = verbsSuite(lane)

  it("a datagram queue pair is attached for as long as the scope, and detached before it goes", () =>
    recorded(function*(calls) {
      const scope = yield* Scope.make()
      const self = yield* pair("ud").pipe(Scope.provide(scope))
      yield* QueuePair.toInit(self, { portNum, qkey: 1 })
      yield* Effect.scoped(MulticastAttachment.attach(self, lane.group))
      assert.strictEqual(timesCalled(yield* calls, "ibv_detach_mcast"), 1)
      const attachment = yield* MulticastAttachment.attach(self, lane.group)
      const before = (yield* calls).length
      yield* Scope.close(scope, Exit.void)
      assert.isFalse(Resource.isLive(attachment))
      assert.deepStrictEqual(namesOf(yield* calls).slice(before, before + 2), ["ibv_detach_mcast", "ibv_destroy_qp"])
    }))

  it("attached twice is one membership: the last scope ends it", () =>
    recorded(function*(calls) {
      const self = yield* pair("ud")
      yield* QueuePair.toInit(self, { portNum, qkey: 1 })
      yield* Effect.scoped(Effect.gen(function*() {
        yield* MulticastAttachment.attach(self, lane.group)
        yield* Effect.scoped(MulticastAttachment.attach(self, lane.group))
        assert.strictEqual(timesCalled(yield* calls, "ibv_detach_mcast"), 0)
      }))
      assert.strictEqual(timesCalled(yield* calls, "ibv_detach_mcast"), 1)
    }))

  it("an address that is no group is EINVAL", () =>
    Effect.gen(function*() {
      const self = yield* pair("ud")
      yield* QueuePair.toInit(self, { portNum, qkey: 1 })
      const error = yield* Effect.flip(
        MulticastAttachment.attach(self, { gid: "fe80::1", mlid: lane.group.mlid })
      )
      assertReason(error, "ibv_attach_mcast", "EINVAL")
      const unicast = yield* Effect.result(MulticastAttachment.attach(self, { gid: lane.group.gid, mlid: 1 }))
      assert.strictEqual(Result.isFailure(unicast), lane.roce === undefined)
    }))
}
