/**
 * Conformance of XRC domains, and of the queue pairs and queues in them.
 *
 * @since 0.1.0
 */
import * as QueuePair from "@effect-rdma/verbs/QueuePair"
import * as SharedReceiveQueue from "@effect-rdma/verbs/SharedReceiveQueue"
import * as XrcDomain from "@effect-rdma/verbs/XrcDomain"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Result from "effect/Result"
import * as Scope from "effect/Scope"
import { assertReason, namesOf, recorded } from "../../internal/conformance.ts"
import { cap, queueOn, stateOf, toRts, verbsSuite } from "../../internal/conformanceVerbs.ts"
import type * as VerbsLane from "../VerbsLane.ts"

/**
 * Registers the suite on a lane.
 *
 * @category constructors
 * @since 0.1.0
 */
export const suite = <Others = never>(lane: VerbsLane.VerbsLane<Others>): void => {
  const { domain, has, it, itWhere, path, portNum } = verbsSuite(lane)

  it("an XRC domain opens, or is refused with EOPNOTSUPP", () =>
    Effect.gen(function*() {
      const { context } = yield* domain
      const opened = yield* Effect.result(XrcDomain.open(context))
      if (Result.isSuccess(opened)) return assert.isTrue(has("xrc"))
      assert.isFalse(has("xrc"))
      assertReason(opened.failure, "ibv_open_xrcd", "EOPNOTSUPP")
    }))

  it("the sending side of XRC is made, or refused with EOPNOTSUPP", () =>
    Effect.gen(function*() {
      const on = yield* domain
      const sendCq = yield* queueOn(on)
      const made = yield* Effect.result(QueuePair.makeExtended(on, { qpType: "xrcSend", sendCq, cap }))
      if (Result.isFailure(made)) {
        assert.isFalse(has("xrc"))
        return assertReason(made.failure, "ibv_create_qp_ex", "EOPNOTSUPP")
      }
      assert.isTrue(has("xrc"))
      const self = made.success
      yield* toRts(self, { portNum }, { ...path, destQpNum: self.qpNum }, { sqPsn: 1 })
      assert.strictEqual(yield* stateOf(self), "rts")
    }))

  const itXrc = itWhere(has("xrc"), "the provider has no XRC")

  itXrc(
    "a receiving queue pair and its queue work in an XRC domain, and go before it",
    () =>
      recorded(function*(calls) {
        const on = yield* domain
        const completionQueue = yield* queueOn(on)
        const scope = yield* Scope.make()
        const xrcDomain = yield* XrcDomain.open(on.context).pipe(Scope.provide(scope))
        const srq = yield* SharedReceiveQueue.makeExtended(on, { srqType: "xrc", maxWr: 8, xrcDomain, completionQueue })
        assert.isAbove(yield* SharedReceiveQueue.number(srq), 0)
        const self = yield* QueuePair.makeExtended(xrcDomain, { qpType: "xrcRecv" })
        yield* toRts(self, { portNum }, { ...path, destQpNum: self.qpNum }, { sqPsn: 1 })
        const other = yield* QueuePair.open(xrcDomain, self.qpNum)
        assert.strictEqual(other.qpNum, self.qpNum)
        assert.strictEqual(yield* stateOf(other), "rts")
        const before = (yield* calls).length
        yield* Scope.close(scope, Exit.void)
        assert.deepStrictEqual(namesOf(yield* calls).slice(before), [
          "ibv_destroy_qp",
          "ibv_destroy_qp",
          "ibv_destroy_srq",
          "ibv_close_xrcd"
        ])
      })
  )

  itXrc("a number that is none cannot be opened: EINVAL", () =>
    Effect.gen(function*() {
      const { context } = yield* domain
      const error = yield* Effect.flip(QueuePair.open(yield* XrcDomain.open(context), 0xabcdef))
      assertReason(error, "ibv_open_qp", "EINVAL")
    }))
}
