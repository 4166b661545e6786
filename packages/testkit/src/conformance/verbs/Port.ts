/**
 * Conformance of the state of a port.
 *
 * @since 0.1.0
 */
import * as LinkLayer from "@effect-rdma/core/LinkLayer"
import * as Mtu from "@effect-rdma/core/Mtu"
import * as PhysicalState from "@effect-rdma/core/PhysicalState"
import * as PortState from "@effect-rdma/core/PortState"
import * as DeviceContext from "@effect-rdma/verbs/DeviceContext"
import * as Port from "@effect-rdma/verbs/Port"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { assertPath, assertReason, assertUnsigned, recorded } from "../../internal/conformance.ts"
import { verbsSuite } from "../../internal/conformanceVerbs.ts"
import type * as VerbsLane from "../VerbsLane.ts"

/**
 * Registers the suite on a lane.
 *
 * @category constructors
 * @since 0.1.0
 */
export const suite = <Others = never>(lane: VerbsLane.VerbsLane<Others>): void => {
  const { it, open } = verbsSuite(lane)

  it("query_port reports every field in the range of its C type", () =>
    Effect.gen(function*() {
      const port = yield* Effect.flatMap(open, (context) => Port.query(context, lane.port))
      const { activeMtu, linkLayer, maxMtu, physState, state, ...numbers } = port
      assert.isTrue(Schema.is(PortState.PortState)(state))
      assert.isTrue(Schema.is(PhysicalState.PhysicalState)(physState))
      assert.isTrue(Schema.is(LinkLayer.LinkLayer)(linkLayer))
      assert.strictEqual(state, "active")
      assert.strictEqual(physState, "linkUp")
      assert.isTrue(Schema.is(Mtu.Mtu)(activeMtu) && Schema.is(Mtu.Mtu)(maxMtu))
      assert.isAtMost(Number(activeMtu), Number(maxMtu))
      const { activeSpeedEx, badPkeyCntr, gidTblLen, lid, maxMsgSz, pkeyTblLen, smLid, ...others } = numbers
      const { portCapFlags, portCapFlags2, qkeyViolCntr, ...bytes } = others
      assertUnsigned(8, bytes)
      assertUnsigned(16, { lid, pkeyTblLen, portCapFlags2, smLid })
      assertUnsigned(31, { gidTblLen })
      assertUnsigned(32, { activeSpeedEx, badPkeyCntr, maxMsgSz, portCapFlags, qkeyViolCntr })
      assert.isTrue(gidTblLen > 0 && pkeyTblLen > 0 && maxMsgSz > 0)
      assert.include([1, 2, 4, 8, 16], port.activeWidth)
    }))

  it("a RoCE port has no LID and an InfiniBand port has one", () =>
    Effect.gen(function*() {
      const port = yield* Effect.flatMap(open, (context) => Port.query(context, lane.port))
      assert.strictEqual(port.linkLayer, lane.roce === undefined ? "infiniband" : "ethernet")
      assert.strictEqual(port.lid > 0, port.linkLayer === "infiniband")
      assert.strictEqual(port.smLid > 0, port.linkLayer === "infiniband")
    }))

  it("query_port answers the same twice", () =>
    Effect.gen(function*() {
      const context = yield* open
      assert.deepStrictEqual(yield* Port.query(context, lane.port), yield* Port.query(context, lane.port))
    }))

  it("every port that the device counts can be queried and the one after them is EINVAL", () =>
    Effect.gen(function*() {
      const context = yield* open
      const { physPortCnt } = yield* DeviceContext.query(context)
      for (let port = 1; port <= physPortCnt; port++) yield* Port.query(context, port)
      const error = yield* Effect.flip(Port.query(context, physPortCnt + 1))
      assertReason(error, "ibv_query_port", "EINVAL")
      assert.include(error.message, `portNum ${physPortCnt + 1}`)
    }))

  it("port 200 is EINVAL of ibv_query_port", () =>
    Effect.gen(function*() {
      const context = yield* open
      assertReason(yield* Effect.flip(Port.query(context, 200)), "ibv_query_port", "EINVAL")
    }))

  it("a port number that no C field can hold is a SchemaError, and the library is not called", () =>
    recorded(function*(calls) {
      const context = yield* open
      const before = (yield* calls).length
      for (const port of [0, -1, 256, 1.5, Number.NaN]) {
        assertPath(yield* Effect.flip(Port.query(context, port)), [])
        assertPath(yield* Effect.flip(Port.gid(context, port, 0)), [])
        assertPath(yield* Effect.flip(Port.pkey(context, port, 0)), [])
      }
      assert.strictEqual((yield* calls).length, before)
    }))
}
