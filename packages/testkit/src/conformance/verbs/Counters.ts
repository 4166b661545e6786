/**
 * Conformance of counters of flows.
 *
 * @since 0.1.0
 */
import * as Resource from "@effect-rdma/core/Resource"
import * as Counters from "@effect-rdma/verbs/Counters"
import * as Flow from "@effect-rdma/verbs/Flow"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
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
  const { itRefusesSteering, itSteers, open, pair } = verbsSuite(lane)

  itRefusesSteering("counters are EOPNOTSUPP of ibv_create_counters", () =>
    Effect.gen(function*() {
      const context = yield* open
      assertReason(yield* Effect.flip(Counters.make(context)), "ibv_create_counters", "EOPNOTSUPP")
    }))

  itSteers("counters cannot be read before a flow names them, and start at zero then", () =>
    Effect.gen(function*() {
      const queuePair = yield* pair("ud")
      const counters = yield* Counters.make(queuePair.context)
      yield* Counters.attachPointFlow(counters, { counterDesc: "packets", index: 0 })
      yield* Counters.attachPointFlow(counters, { counterDesc: "bytes", index: 1 })
      assertReason(yield* Effect.flip(Counters.read(counters, 2)), "ibv_read_counters", "EINVAL")
      yield* Flow.make(queuePair, { port: lane.port, specs: [{ _tag: "ActionCount", counters }] })
      assert.deepStrictEqual(yield* Counters.read(counters, 2), [0n, 0n])
      assert.deepStrictEqual(yield* Counters.read(counters, 2, { preferCached: true }), [0n, 0n])
    }))

  itSteers("fewer values than indexes are EINVAL of ibv_read_counters", () =>
    Effect.gen(function*() {
      const queuePair = yield* pair("ud")
      const counters = yield* Counters.make(queuePair.context)
      yield* Counters.attachPointFlow(counters, { counterDesc: "packets", index: 3 })
      yield* Flow.make(queuePair, { port: lane.port, specs: [{ _tag: "ActionCount", counters }] })
      assertReason(yield* Effect.flip(Counters.read(counters, 3)), "ibv_read_counters", "EINVAL")
      assert.strictEqual((yield* Counters.read(counters, 4)).length, 4)
    }))

  itSteers(
    "a flow holds its counters: EBUSY of ibv_destroy_counters and of a further attach",
    () =>
      Effect.gen(function*() {
        const queuePair = yield* pair("ud")
        const { verbs } = queuePair.context
        const counters = yield* Counters.make(queuePair.context)
        yield* Effect.scoped(Effect.gen(function*() {
          yield* Flow.make(queuePair, { port: lane.port, specs: [{ _tag: "ActionCount", counters }] })
          assertReason(
            yield* Effect.flip(verbs.destroyCounters(Resource.raw(counters))),
            "ibv_destroy_counters",
            "EBUSY"
          )
          const attach = yield* Effect.flip(Counters.attachPointFlow(counters, { counterDesc: "bytes", index: 0 }))
          assertReason(attach, "ibv_attach_counters_point_flow", "EBUSY")
        }))
        yield* Counters.attachPointFlow(counters, { counterDesc: "bytes", index: 0 })
      })
  )

  itSteers("counters cannot be attached to a flow that is there already: EOPNOTSUPP", () =>
    Effect.gen(function*() {
      const queuePair = yield* pair("ud")
      const counters = yield* Counters.make(queuePair.context)
      const flow = yield* Flow.make(queuePair, { port: lane.port })
      const error = yield* Effect.flip(Counters.attachPointFlow(counters, { counterDesc: "packets", index: 0 }, flow))
      assertReason(error, "ibv_attach_counters_point_flow", "EOPNOTSUPP")
    }))

  itSteers("two sets of counters in one rule are EINVAL of ibv_create_flow", () =>
    Effect.gen(function*() {
      const queuePair = yield* pair("ud")
      const counters = yield* Counters.make(queuePair.context)
      const spec = { _tag: "ActionCount", counters } as const
      const error = yield* Effect.flip(Flow.make(queuePair, { port: lane.port, specs: [spec, spec] }))
      assertReason(error, "ibv_create_flow", "EINVAL")
    }))
}
