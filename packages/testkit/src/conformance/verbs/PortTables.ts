/**
 * Conformance of the tables of a port: its GIDs and its P_Keys.
 *
 * @since 0.1.0
 */
import * as Gid from "@effect-rdma/core/Gid"
import * as PKey from "@effect-rdma/core/PKey"
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
  const { it, itOnRoce, open, roce } = verbsSuite(lane)

  it("the first GID of a port has 16 bytes, and they are the caller's own", () =>
    Effect.gen(function*() {
      const context = yield* open
      const gid = yield* Port.gid(context, lane.port, 0)
      assert.isTrue(Schema.is(Gid.Gid)(gid))
      assert.isFalse(Gid.isZero(gid))
      const text = Gid.format(gid)
      gid.fill(0xee)
      assert.strictEqual(Gid.format(yield* Port.gid(context, lane.port, 0)), text)
    }))

  it("the GID table agrees with the GIDs that are queried one by one", () =>
    Effect.gen(function*() {
      const context = yield* open
      const table = yield* DeviceContext.gidTable(context)
      assert.isAbove(table.length, 0)
      for (const { gid, gidIndex, portNum } of table) {
        assert.strictEqual(Gid.format(gid), Gid.format(yield* Port.gid(context, portNum, gidIndex)))
      }
    }))

  it("the GID table lists each place once, within the length of the port's table, and no zero GID", () =>
    Effect.gen(function*() {
      const context = yield* open
      const table = yield* DeviceContext.gidTable(context)
      assert.strictEqual(new Set(table.map((row) => `${row.portNum}/${row.gidIndex}`)).size, table.length)
      for (const { gid, gidIndex, ndevIfindex, portNum } of table) {
        assert.isBelow(gidIndex, (yield* Port.query(context, portNum)).gidTblLen)
        assert.isFalse(Gid.isZero(gid))
        assertUnsigned(32, { ndevIfindex })
      }
    }))

  it("the type of a GID is that of the port's link layer", () =>
    Effect.gen(function*() {
      const context = yield* open
      for (const { gidType, ndevIfindex, portNum } of yield* DeviceContext.gidTable(context)) {
        const { linkLayer } = yield* Port.query(context, portNum)
        assert.include(linkLayer === "ethernet" ? ["roceV1", "roceV2"] : ["ib"], gidType)
        if (linkLayer === "ethernet") assert.isAbove(ndevIfindex, 0)
      }
    }))

  itOnRoce("the GID of an IPv4 address is the mapped one, for RoCE v2", () =>
    Effect.gen(function*() {
      const context = yield* open
      const gid = yield* Port.gid(context, lane.port, roce.sgidIndex)
      assert.strictEqual(Gid.ipv4(gid), roce.ownAddress)
      const table = yield* DeviceContext.gidTable(context)
      assert.strictEqual(
        table.find((row) => row.portNum === lane.port && row.gidIndex === roce.sgidIndex)?.gidType,
        "roceV2"
      )
    }))

  itOnRoce("an empty place of the GID table is the zero GID, and no row of the table", () =>
    Effect.gen(function*() {
      const context = yield* open
      assert.isTrue(Gid.isZero(yield* Port.gid(context, lane.port, lane.emptyGidIndex)))
      const table = yield* DeviceContext.gidTable(context)
      assert.isFalse(table.some((row) => row.portNum === lane.port && row.gidIndex === lane.emptyGidIndex))
    }))

  it("a GID of a port that does not exist is EINVAL of ibv_query_gid", () =>
    Effect.gen(function*() {
      const context = yield* open
      const error = yield* Effect.flip(Port.gid(context, 200, 0))
      assertReason(error, "ibv_query_gid", "EINVAL")
      assert.include(error.message, "portNum 200, index 0")
    }))

  it("a GID index that no C field can hold is a SchemaError, and the library is not called", () =>
    recorded(function*(calls) {
      const context = yield* open
      const before = (yield* calls).length
      for (const index of [-1, 256, 0.5]) assertPath(yield* Effect.flip(Port.gid(context, lane.port, index)), [])
      assert.strictEqual((yield* calls).length, before)
    }))

  it("the P_Key at index 0 is the default one with full membership", () =>
    Effect.gen(function*() {
      const pkey = yield* Effect.flatMap(open, (context) => Port.pkey(context, lane.port, 0))
      assert.strictEqual(pkey, PKey.defaultFull)
      assert.isTrue(PKey.isFull(pkey))
    }))

  it("a P_Key behind the end of the table is ENOENT of ibv_query_pkey", () =>
    Effect.gen(function*() {
      const context = yield* open
      const { pkeyTblLen } = yield* Port.query(context, lane.port)
      for (const index of [pkeyTblLen, 0xffff]) {
        const error = yield* Effect.flip(Port.pkey(context, lane.port, index))
        assertReason(error, "ibv_query_pkey", "ENOENT")
        assert.include(error.message, `index ${index}`)
      }
    }))

  it("a P_Key of a port that does not exist is ENOENT of ibv_query_pkey", () =>
    Effect.gen(function*() {
      const context = yield* open
      assertReason(yield* Effect.flip(Port.pkey(context, 200, 0)), "ibv_query_pkey", "ENOENT")
    }))

  it("a P_Key index that no C field can hold is a SchemaError, and the library is not called", () =>
    recorded(function*(calls) {
      const context = yield* open
      const before = (yield* calls).length
      for (const index of [-1, 0x1_0000, 0.5]) assertPath(yield* Effect.flip(Port.pkey(context, lane.port, index)), [])
      assert.strictEqual((yield* calls).length, before)
    }))
}
