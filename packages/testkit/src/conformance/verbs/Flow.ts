/**
 * Conformance of flows.
 *
 * @since 0.1.0
 */
import * as Resource from "@effect-rdma/core/Resource"
import * as Flow from "@effect-rdma/verbs/Flow"
import type * as FlowSpecification from "@effect-rdma/verbs/FlowSpecification"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import { assertPath, assertReason, namesOf, recorded } from "../../internal/conformance.ts"
import { verbsSuite } from "../../internal/conformanceVerbs.ts"
import type * as VerbsLane from "../VerbsLane.ts"

const badSpecs: ReadonlyArray<readonly [FlowSpecification.Input, string]> = [
  [{ _tag: "Eth", val: { dstMac: "02:00:00:00:00" } }, "dstMac"],
  [{ _tag: "Eth", val: { etherType: 0x1_0000 } }, "etherType"],
  [{ _tag: "Ipv4", val: { srcIp: "10.0.0.256" } }, "srcIp"],
  [{ _tag: "Ipv4Ext", val: { ttl: 256 } }, "ttl"],
  [{ _tag: "Ipv6", val: { dstIp: "fe80::1::2" } }, "dstIp"],
  [{ _tag: "Ipv6", val: { flowLabel: 0x10_0000 } }, "flowLabel"],
  [{ _tag: "Tcp", val: { dstPort: -1 } }, "dstPort"],
  [{ _tag: "VxlanTunnel", val: { tunnelId: 0x100_0000 } }, "tunnelId"],
  [{ _tag: "Mpls", val: { label: 1.5 } }, "label"]
]

/**
 * Registers the suite on a lane.
 *
 * @category constructors
 * @since 0.1.0
 */
export const suite = <Others = never>(lane: VerbsLane.VerbsLane<Others>): void => {
  const { it, itRefusesSteering, itSteers, pair } = verbsSuite(lane)

  itRefusesSteering("a flow is EOPNOTSUPP of ibv_create_flow, and its queue pair can go", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(Flow.make(yield* pair("ud"), { port: lane.port }))
      assertReason(error, "ibv_create_flow", "EOPNOTSUPP")
    }))

  it("what no packet can have is a SchemaError with the path, and the library is not called", () =>
    recorded(function*(calls) {
      const queuePair = yield* pair("ud")
      const before = (yield* calls).length
      for (const [spec, field] of badSpecs) {
        const error = yield* Effect.flip(Flow.make(queuePair, { port: lane.port, specs: [spec] }))
        assertPath(error, [])
        assert.include(error.message, `["${field}"]`)
      }
      assertPath(yield* Effect.flip(Flow.make(queuePair, { port: 0 })), ["port"])
      assertPath(yield* Effect.flip(Flow.make(queuePair, { port: 1, priority: 0x1_0000 })), ["priority"])
      assert.strictEqual((yield* calls).length, before)
    }))

  itSteers("a flow of every kind of match is made and goes with the scope", () =>
    Effect.gen(function*() {
      const queuePair = yield* pair("ud")
      const matches: ReadonlyArray<FlowSpecification.Input> = [
        { _tag: "Eth", val: { dstMac: "02:00:00:00:00:01" } },
        { _tag: "Ipv4", val: { dstIp: "10.0.0.1" } },
        { _tag: "Ipv6", val: { dstIp: "fe80::1" } },
        { _tag: "Udp", val: { dstPort: 4791 } },
        { _tag: "Tcp", inner: true, val: { dstPort: 443 } },
        { _tag: "VxlanTunnel", val: { tunnelId: 1 } },
        { _tag: "ActionTag", tagId: 7 }
      ]
      for (const spec of matches) {
        const flow = yield* Effect.scoped(Flow.make(queuePair, { port: lane.port, specs: [spec] }))
        assert.isFalse(Resource.isLive(flow))
      }
      yield* Flow.make(queuePair, { type: "sniffer", port: lane.port })
      yield* Flow.make(queuePair, { type: "allDefault", port: lane.port })
      yield* Flow.make(queuePair, { type: "mcDefault", port: lane.port })
    }))

  itSteers(
    "a connected queue pair, a port or a rule that the device does not have are EINVAL of ibv_create_flow",
    () =>
      Effect.gen(function*() {
        const queuePair = yield* pair("ud")
        const drop: FlowSpecification.Input = { _tag: "ActionDrop" }
        const tag: FlowSpecification.Input = { _tag: "ActionTag", tagId: 1 }
        const refused = [
          Flow.make(yield* pair("rc"), { port: lane.port }),
          Flow.make(queuePair, { port: 200 }),
          Flow.make(queuePair, { port: lane.port, specs: Array.from({ length: 11 }, () => drop) }),
          Flow.make(queuePair, { type: "allDefault", port: lane.port, specs: [tag] }),
          Flow.make(queuePair, { type: "mcDefault", port: lane.port, flags: ["dontTrap"] })
        ]
        for (const flow of refused) assertReason(yield* Effect.flip(flow), "ibv_create_flow", "EINVAL")
      })
  )

  itSteers("a flow holds its queue pair: EBUSY of ibv_destroy_qp", () =>
    Effect.gen(function*() {
      const queuePair = yield* pair("ud")
      yield* Flow.make(queuePair, { port: lane.port })
      const error = yield* Effect.flip(queuePair.context.verbs.destroyQp(Resource.raw(queuePair)))
      assertReason(error, "ibv_destroy_qp", "EBUSY")
    }))

  itSteers("a flow goes before its queue pair, in whichever scope it is", () =>
    recorded(function*(calls) {
      const scope = yield* Scope.fork(yield* Effect.scope)
      const queuePair = yield* pair("ud").pipe(Scope.provide(scope))
      const flow = yield* Flow.make(queuePair, { port: lane.port })
      yield* Scope.close(scope, Exit.void)
      assert.isFalse(Resource.isLive(flow))
      const releases = namesOf(yield* calls).filter((name) => /destroy_(qp|flow)/.test(name))
      assert.deepStrictEqual(releases, ["ibv_destroy_flow", "ibv_destroy_qp"])
    }))
}
