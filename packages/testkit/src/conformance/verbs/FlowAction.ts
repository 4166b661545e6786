/**
 * Conformance of flow actions.
 *
 * @since 0.1.0
 */
import * as Resource from "@effect-rdma/core/Resource"
import * as Counters from "@effect-rdma/verbs/Counters"
import * as Flow from "@effect-rdma/verbs/Flow"
import * as FlowAction from "@effect-rdma/verbs/FlowAction"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import { assertPath, assertReason, recorded, usesDeadHandle } from "../../internal/conformance.ts"
import { verbsSuite } from "../../internal/conformanceVerbs.ts"
import type * as VerbsLane from "../VerbsLane.ts"

const aesKey = Uint8Array.from({ length: 16 }, (_, index) => index)

/**
 * Registers the suite on a lane.
 *
 * @category constructors
 * @since 0.1.0
 */
export const suite = <Others = never>(lane: VerbsLane.VerbsLane<Others>): void => {
  const { has, it, itWhere, open, pair } = verbsSuite(lane)

  const itActs = itWhere(has("flowActions"), "the provider has no flow actions")

  itWhere(!has("flowActions"), "the provider has flow actions")(
    "a flow action is EOPNOTSUPP of ibv_create_flow_action_esp",
    () =>
      Effect.gen(function*() {
        const context = yield* open
        const error = yield* Effect.flip(FlowAction.makeEsp(context, { keymat: { aesKey } }))
        assertReason(error, "ibv_create_flow_action_esp", "EOPNOTSUPP")
      })
  )

  it("on a closed context nothing is made, and the library is not called", () =>
    recorded(function*(calls) {
      const context = yield* Effect.scoped(open)
      const before = (yield* calls).length
      yield* usesDeadHandle(Effect.scoped(Counters.make(context)))
      yield* usesDeadHandle(Effect.scoped(FlowAction.makeEsp(context, { keymat: { aesKey } })))
      assert.strictEqual((yield* calls).length, before)
    }))

  it("a key that AES does not have is a SchemaError, and the library is not called", () =>
    recorded(function*(calls) {
      const context = yield* open
      const before = (yield* calls).length
      const error = yield* Effect.flip(FlowAction.makeEsp(context, { keymat: { aesKey: new Uint8Array(17) } }))
      assertPath(error, ["keymat", "aesKey"])
      assert.strictEqual((yield* calls).length, before)
    }))

  itActs("a flow holds its action: EBUSY of ibv_destroy_flow_action until it is gone", () =>
    Effect.gen(function*() {
      const queuePair = yield* pair("ud")
      const { verbs } = queuePair.context
      const action = yield* FlowAction.makeEsp(queuePair.context, { keymat: { aesKey } })
      const scope = yield* Scope.fork(yield* Effect.scope)
      yield* Flow.make(queuePair, { port: lane.port, specs: [{ _tag: "ActionHandle", action }] }).pipe(
        Scope.provide(scope)
      )
      const error = yield* Effect.flip(verbs.destroyFlowAction(Resource.raw(action)))
      assertReason(error, "ibv_destroy_flow_action", "EBUSY")
      yield* Scope.close(scope, Exit.void)
      assert.isTrue(Resource.isLive(action))
    }))

  itActs(
    "an action outside of what the provider offloads is EOPNOTSUPP, a length that AES-GCM lacks EINVAL",
    () =>
      Effect.gen(function*() {
        const context = yield* open
        const make = FlowAction.makeEsp
        const unsupported = [
          make(context, { keymat: { aesKey, icvLen: 12 } }),
          make(context, { keymat: { aesKey }, replay: { size: 32 } }),
          make(context, { keymat: { aesKey }, espAttr: { offload: "fullOffload" } }),
          make(context, { keymat: { aesKey }, espAttr: { spi: 1 } })
        ]
        for (const action of unsupported) {
          assertReason(yield* Effect.flip(action), "ibv_create_flow_action_esp", "EOPNOTSUPP")
        }
        const short = yield* Effect.flip(make(context, { keymat: { aesKey, icvLen: 5 } }))
        assertReason(short, "ibv_create_flow_action_esp", "EINVAL")
      })
  )

  itActs(
    "only the extended sequence number of an action can change, and only when it has one",
    () =>
      Effect.gen(function*() {
        const context = yield* open
        const extended = yield* FlowAction.makeEsp(context, { keymat: { aesKey }, esn: 1 })
        yield* FlowAction.modifyEsp(extended, { esn: 2, espAttr: { esnNewWindow: true } })
        const key = yield* Effect.flip(FlowAction.modifyEsp(extended, { keymat: { aesKey } }))
        assertReason(key, "ibv_modify_flow_action_esp", "EOPNOTSUPP")
        const plain = yield* FlowAction.makeEsp(context, { keymat: { aesKey } })
        const without = yield* Effect.flip(FlowAction.modifyEsp(plain, { esn: 1 }))
        assertReason(without, "ibv_modify_flow_action_esp", "EINVAL")
      })
  )
}
