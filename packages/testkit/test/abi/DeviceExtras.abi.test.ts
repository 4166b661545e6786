/**
 * The extended queries of a device and fork support on the echo provider.
 */
import * as Errno from "@effect-rdma/core/Errno"
import * as Resource from "@effect-rdma/core/Resource"
import * as Lane from "@effect-rdma/testkit/conformance/Lane"
import * as DeviceContext from "@effect-rdma/verbs/DeviceContext"
import * as ForkSupport from "@effect-rdma/verbs/ForkSupport"
import * as Port from "@effect-rdma/verbs/Port"
import * as Verbs from "@effect-rdma/verbs/Verbs"
import { assert, describe } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { rxeExtended } from "../../src/internal/rxeExtended.ts"
import * as Compiler from "./Compiler.ts"
import * as Echo from "./Echo.ts"

const address = (handle: Resource.Resource<string, bigint>) => String(Resource.raw(handle))

// A provider without extended attributes says no more than that of Soft-RoCE, but for its flags and ports.
const none = { ...rxeExtended, deviceCapFlagsEx: 0n, physPortCntEx: 0 }

describe.skipIf(Compiler.missing !== undefined)("extended queries", () => {
  const lane = Echo.lane()
  const test = Lane.test(lane)
  const { echo } = lane
  const open = DeviceContext.openByName("echo0")

  test("every field of the extended attributes is read where C writes it", () =>
    Effect.gen(function*() {
      const context = yield* open
      const { origAttr, ...extended } = yield* DeviceContext.queryExtended(context)
      assert.deepStrictEqual(echo().last(), {
        op: "query_device_ex",
        context: address(context),
        input: "0",
        length: "400"
      })
      assert.deepStrictEqual(origAttr, yield* DeviceContext.query(context))
      assert.deepStrictEqual(extended, {
        odpCaps: { generalCaps: 0x8000_0000_0000_0003n, rcOdpCaps: 2001, ucOdpCaps: 2002, udOdpCaps: 2003 },
        completionTimestampMask: 0x7fff_ffff_ffff_ffffn,
        hcaCoreClock: 156250n,
        deviceCapFlagsEx: 0xffff_0000_0000_2004n,
        tsoCaps: { maxTso: 2005, supportedQpts: 2006 },
        rssCaps: {
          supportedQpts: 2007,
          maxRwqIndirectionTables: 2008,
          maxRwqIndirectionTableSize: 2009,
          rxHashFieldsMask: 0x8000_0000_0000_01ffn,
          rxHashFunction: 201
        },
        maxWqTypeRq: 2010,
        packetPacingCaps: { qpRateLimitMin: 2011, qpRateLimitMax: 2012, supportedQpts: 2013 },
        rawPacketCaps: 2014,
        tmCaps: { maxRndvHdrSize: 2015, maxNumTags: 2016, flags: 2017, maxOps: 2018, maxSge: 2019 },
        cqModCaps: { maxCqCount: 2020, maxCqPeriod: 2021 },
        maxDmSize: 0x8000_0000_0000_2022n,
        pciAtomicCaps: { fetchAdd: 2023, swap: 2024, compareSwap: 2025 },
        xrcOdpCaps: 2026,
        physPortCntEx: 2027
      })
    }))

  test("a provider without extended attributes answers as the plain query, with zeroes", () =>
    Effect.gen(function*() {
      const context = yield* open
      const plain = yield* DeviceContext.query(context)
      for (const errno of ["EOPNOTSUPP", "ENOSYS"] as const) {
        echo().script("query_device_ex", { result: Errno.numberOf(errno) })
        assert.deepStrictEqual(yield* DeviceContext.queryExtended(context), { origAttr: plain, ...none })
        assert.strictEqual(echo().last().op, "query_device")
      }
    }))

  test("so does a library without the operation", () =>
    Effect.gen(function*() {
      const context = yield* DeviceContext.openByName("echo3")
      const plain = yield* DeviceContext.query(context)
      assert.deepStrictEqual(yield* DeviceContext.queryExtended(context), { origAttr: plain, ...none })
    }))

  test("what the extended query returns otherwise is its failure, and that of the plain one too", () =>
    Effect.gen(function*() {
      const context = yield* open
      echo().script("query_device_ex", { result: Errno.numberOf("EIO"), errno: 1 })
      assert.deepInclude(yield* Effect.flip(DeviceContext.queryExtended(context)), { call: "ibv_query_device_ex" })
      echo().script("query_device_ex", { result: Errno.numberOf("EOPNOTSUPP") })
      echo().script("query_device", { result: Errno.numberOf("EIO") })
      const error = yield* Effect.flip(DeviceContext.queryExtended(context))
      assert.deepInclude(error.reason, { _tag: "EIO" })
    }))

  test("the clock is a signed time, or nothing when the provider does not answer for it", () =>
    Effect.gen(function*() {
      const context = yield* open
      assert.deepStrictEqual(yield* DeviceContext.queryRtValues(context), {
        rawClock: { tvSec: -2n, tvNsec: 0x7edc_ba98_7654_3210n }
      })
      assert.deepStrictEqual(echo().last(), { op: "query_rt_values", context: address(context), comp_mask: "1" })
      echo().script("query_rt_values", { result: -7 })
      assert.deepStrictEqual(yield* DeviceContext.queryRtValues(context), { rawClock: undefined })
      echo().script("query_rt_values", { result: Errno.numberOf("EOPNOTSUPP"), errno: 1 })
      const error = yield* Effect.flip(DeviceContext.queryRtValues(context))
      assert.deepInclude(error.reason, { _tag: "EOPNOTSUPP" })
    }))

  test("one row of the GID table and the index of a P_Key are asked for as C wants them", () =>
    Effect.gen(function*() {
      const context = yield* open
      const entry = yield* Port.gidEntry(context, 7, 200)
      assert.deepStrictEqual(echo().last(), {
        op: "query_gid_ex",
        context: address(context),
        port_num: "7",
        gid_index: "200",
        flags: "0",
        entry_size: "32"
      })
      assert.deepInclude<object>(entry, {
        gidIndex: 200,
        portNum: 7,
        gidType: "roceV2",
        ndevIfindex: 0x8000_0000 + 207
      })
      assert.strictEqual(yield* Port.indexOfPkey(context, 7, 0x8001), 9)
      assert.deepStrictEqual(echo().last(), {
        op: "get_pkey_index",
        context: address(context),
        port_num: "7",
        pkey: "8001"
      })
      echo().script("query_gid_ex", { result: Errno.numberOf("ENODATA"), errno: 1 })
      const empty = yield* Effect.flip(Port.gidEntry(context, 1, 2))
      assert.strictEqual("reason" in empty ? empty.reason.errno : 0, Errno.numberOf("ENODATA"))
      echo().script("get_pkey_index", { result: -1, errno: Errno.numberOf("ENOENT") })
      const absent = yield* Effect.flip(Port.indexOfPkey(context, 1, 0xffff))
      assert.strictEqual("reason" in absent ? absent.reason.errno : 0, Errno.numberOf("ENOENT"))
    }))

  test("the order of data is asked for by the number of the opcode, without flags", () =>
    Effect.gen(function*() {
      const { queryQpDataInOrder } = yield* Verbs.Verbs
      const context = yield* open
      const qp = echo().qp(Resource.raw(context))
      assert.isTrue(yield* queryQpDataInOrder(qp, "atomicWrite"))
      assert.deepStrictEqual(echo().last(), {
        op: "query_qp_data_in_order",
        qp: String(qp),
        opcode: "15",
        flags: "0"
      })
      echo().script("query_qp_data_in_order", { result: 0, errno: 1 })
      assert.isFalse(yield* queryQpDataInOrder(qp, "send"))
      echo().free(qp)
    }))

  test("fork support is asked for once, says when it comes too late, and has a status", () =>
    Effect.gen(function*() {
      yield* ForkSupport.init
      assert.strictEqual(echo().last().op, "fork_init")
      assert.strictEqual(yield* ForkSupport.status, "enabled")
      for (const [native, status] of [[0, "disabled"], [2, "unneeded"], [9, "unknown"]] as const) {
        echo().script("is_fork_initialized", { result: native })
        assert.strictEqual(yield* ForkSupport.status, status)
      }
      echo().script("fork_init", { result: Errno.numberOf("EINVAL"), errno: 1 })
      const late = yield* Effect.flip(ForkSupport.init)
      assert.deepInclude(late, { call: "ibv_fork_init" })
      assert.deepInclude(late.reason, { _tag: "EINVAL" })
      assert.include(late.message, "before the first memory")
      echo().calls()
      yield* Effect.scoped(Layer.build(ForkSupport.layer(Layer.fresh(lane.layer))))
      assert.deepStrictEqual(echo().calls().map(({ op }) => op), ["fork_init"])
      echo().script("fork_init", { result: Errno.numberOf("ENOMEM") })
      const failed = yield* Effect.flip(Effect.scoped(Layer.build(ForkSupport.layer(Layer.fresh(lane.layer)))))
      assert.deepInclude(failed, { _tag: "VerbsError", call: "ibv_fork_init" })
      yield* Verbs.Verbs
    }))
})
