/**
 * Conformance of what a device tells beyond its plain attributes.
 *
 * @since 0.1.0
 */
import * as DeviceContext from "@effect-rdma/verbs/DeviceContext"
import * as ForkSupport from "@effect-rdma/verbs/ForkSupport"
import * as Port from "@effect-rdma/verbs/Port"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { assertPath, assertReason, assertUnsigned, recorded, usesDeadHandle } from "../../internal/conformance.ts"
import { verbsSuite } from "../../internal/conformanceVerbs.ts"
import type * as VerbsLane from "../VerbsLane.ts"

/**
 * Registers the suite on a lane.
 *
 * @category constructors
 * @since 0.1.0
 */
export const suite = <Others = never>(lane: VerbsLane.VerbsLane<Others>): void => {
  const { has, it, itWhere, open } = verbsSuite(lane)

  it("query_device_ex begins with what query_device says", () =>
    Effect.gen(function*() {
      const context = yield* open
      const extended = yield* DeviceContext.queryExtended(context)
      assert.deepStrictEqual(extended.origAttr, yield* DeviceContext.query(context))
      assert.deepStrictEqual(yield* DeviceContext.queryExtended(context), extended)
    }))

  it("query_device_ex reports every field in the range of its C type", () =>
    Effect.gen(function*() {
      const extended = yield* Effect.flatMap(open, DeviceContext.queryExtended)
      const { cqModCaps, odpCaps, packetPacingCaps, pciAtomicCaps, rssCaps, tmCaps, tsoCaps } = extended
      const { generalCaps, ...transports } = odpCaps
      const { rxHashFieldsMask, rxHashFunction, ...spreading } = rssCaps
      assertUnsigned(8, { rxHashFunction })
      assertUnsigned(16, { ...cqModCaps, ...pciAtomicCaps })
      const { maxWqTypeRq, physPortCntEx, rawPacketCaps, xrcOdpCaps } = extended
      assertUnsigned(32, { maxWqTypeRq, physPortCntEx, rawPacketCaps, xrcOdpCaps })
      assertUnsigned(32, transports)
      assertUnsigned(32, spreading)
      assertUnsigned(32, { ...packetPacingCaps })
      assertUnsigned(32, { ...tmCaps })
      assertUnsigned(32, { ...tsoCaps })
      const { completionTimestampMask, deviceCapFlagsEx, hcaCoreClock, maxDmSize } = extended
      for (
        const value of [
          generalCaps,
          rxHashFieldsMask,
          completionTimestampMask,
          deviceCapFlagsEx,
          hcaCoreClock,
          maxDmSize
        ]
      ) {
        assert.isTrue(typeof value === "bigint" && value >= 0n && value < 1n << 64n)
      }
    }))

  const { extended: known } = lane
  itWhere(known !== undefined, "nobody said what the device can do")(
    "query_device_ex reports what is known of the device",
    () =>
      Effect.gen(function*() {
        const { origAttr: _, ...extended } = yield* Effect.flatMap(open, DeviceContext.queryExtended)
        assert.deepStrictEqual(extended, known)
      })
  )

  it("query_device_ex counts as many ports as query_device", () =>
    Effect.gen(function*() {
      const { origAttr, physPortCntEx } = yield* Effect.flatMap(open, DeviceContext.queryExtended)
      assert.strictEqual(physPortCntEx, origAttr.physPortCnt)
    }))

  it("a device that spreads packets says over how many work queues", () =>
    Effect.gen(function*() {
      const { maxWqTypeRq, rssCaps } = yield* Effect.flatMap(open, DeviceContext.queryExtended)
      assert.strictEqual(rssCaps.maxRwqIndirectionTableSize > 0, has("steering"))
      assert.strictEqual(maxWqTypeRq > 0, has("steering"))
    }))

  it("query_rt_values_ex reads a clock that does not go back, or is EOPNOTSUPP", () =>
    Effect.gen(function*() {
      const context = yield* open
      if (!has("clock")) {
        return assertReason(
          yield* Effect.flip(DeviceContext.queryRtValues(context)),
          "ibv_query_rt_values_ex",
          "EOPNOTSUPP"
        )
      }
      const first = yield* DeviceContext.queryRtValues(context)
      const second = yield* DeviceContext.queryRtValues(context)
      if (first.rawClock === undefined || second.rawClock === undefined) return assert.fail("no clock")
      assert.isTrue(second.rawClock.tvSec >= first.rawClock.tvSec)
      assert.isTrue(second.rawClock.tvSec > first.rawClock.tvSec || second.rawClock.tvNsec >= first.rawClock.tvNsec)
    }))

  it("query_gid_ex answers with the row of the table", () =>
    Effect.gen(function*() {
      const context = yield* open
      const rows = (yield* DeviceContext.gidTable(context)).filter(({ portNum }) => portNum === lane.port)
      assert.isAbove(rows.length, 0)
      for (const row of rows) assert.deepStrictEqual(yield* Port.gidEntry(context, lane.port, row.gidIndex), row)
    }))

  it("query_gid_ex of an empty place is ENODATA and of a place behind the table EINVAL", () =>
    Effect.gen(function*() {
      const context = yield* open
      const empty = yield* Effect.flip(Port.gidEntry(context, lane.port, lane.emptyGidIndex))
      assertReason(empty, "ibv_query_gid_ex", "ENODATA")
      const { gidTblLen } = yield* Port.query(context, lane.port)
      if (gidTblLen > 0xff) return
      assertReason(yield* Effect.flip(Port.gidEntry(context, lane.port, gidTblLen)), "ibv_query_gid_ex", "EINVAL")
    }))

  it("query_gid_ex of a port that is not there is EINVAL", () =>
    Effect.gen(function*() {
      const context = yield* open
      assertReason(yield* Effect.flip(Port.gidEntry(context, 200, 0)), "ibv_query_gid_ex", "EINVAL")
    }))

  it("get_pkey_index finds the P_Key of every place, and ENOENT for one that is not there", () =>
    Effect.gen(function*() {
      const context = yield* open
      const pkey = yield* Port.pkey(context, lane.port, 0)
      assert.strictEqual(yield* Port.indexOfPkey(context, lane.port, pkey), 0)
      assertReason(yield* Effect.flip(Port.indexOfPkey(context, lane.port, 0x1234)), "ibv_get_pkey_index", "ENOENT")
      assertReason(yield* Effect.flip(Port.indexOfPkey(context, 200, pkey)), "ibv_get_pkey_index", "ENOENT")
      assertPath(yield* Effect.flip(Port.indexOfPkey(context, lane.port, 0x1_0000)), [])
    }))

  it("children are safe after fork_init, or the kernel makes it unneeded", () =>
    Effect.gen(function*() {
      yield* ForkSupport.init
      assert.include(["enabled", "unneeded"], yield* ForkSupport.status)
      yield* ForkSupport.init
    }))

  it("a closed context is not asked for anything of this", () =>
    recorded(function*(calls) {
      const context = yield* Effect.scoped(open)
      const before = (yield* calls).length
      yield* usesDeadHandle(DeviceContext.queryExtended(context))
      yield* usesDeadHandle(DeviceContext.queryRtValues(context))
      yield* usesDeadHandle(Port.gidEntry(context, lane.port, 0))
      yield* usesDeadHandle(Port.indexOfPkey(context, lane.port, 0xffff))
      assert.strictEqual((yield* calls).length, before)
    }))
}
