/**
 * What goes through the seam of libibverbs and back, field by field, as the C compiler reads and writes it.
 */
import * as Identifier from "@effect-rdma/core/Identifier"
import * as Library from "@effect-rdma/core/Library"
import type * as Pointer from "@effect-rdma/core/Pointer"
import * as StaticRate from "@effect-rdma/core/StaticRate"
import * as Lane from "@effect-rdma/testkit/conformance/Lane"
import * as AddressHandleAttributes from "@effect-rdma/verbs/AddressHandleAttributes"
import * as ReceivedDatagram from "@effect-rdma/verbs/ReceivedDatagram"
import type * as ResourceDomainAttributes from "@effect-rdma/verbs/ResourceDomainAttributes"
import * as Verbs from "@effect-rdma/verbs/Verbs"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Compiler from "./Compiler.ts"
import * as Echo from "./Echo.ts"

const port = (number: number) => Identifier.PortNumber.make(number)
const gidIndex = (index: number) => Identifier.GidIndex.make(index)
const attributesOf = Schema.decodeSync(AddressHandleAttributes.AddressHandleAttributes)
const receivedOf = Schema.decodeSync(ReceivedDatagram.ReceivedDatagram)

const counting = (first: number, length: number) => Uint8Array.from({ length }, (_, index) => first + index)
const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString("hex")

// What C reads of the smallest attributes.
const smallest = {
  dgid: "00".repeat(16),
  "grh.flow_label": "0",
  "grh.sgid_index": "0",
  "grh.hop_limit": "0",
  "grh.traffic_class": "0",
  dlid: "0",
  sl: "0",
  src_path_bits: "0",
  static_rate: "0",
  is_global: "1",
  port_num: "1"
}

const smallestRoute = { dgid: new Uint8Array(16), sgidIndex: 0, hopLimit: 0 }

const portAttributes = {
  state: "active",
  maxMtu: 4096,
  activeMtu: 1024,
  gidTblLen: 17,
  portCapFlags: 0x8123_4567,
  maxMsgSz: 2 ** 31,
  badPkeyCntr: 19,
  qkeyViolCntr: 20,
  pkeyTblLen: 128,
  lid: 0x1111,
  smLid: 0x2222,
  lmc: 7,
  maxVlNum: 10,
  smSl: 11,
  subnetTimeout: 18,
  initTypeReply: 6,
  activeWidth: 2,
  activeSpeed: 32,
  physState: "linkUp",
  linkLayer: "infiniband",
  flags: 9
}

const allocPd = (context: Pointer.Pointer<"ibv_context">) =>
  Effect.flatMap(
    Verbs.Verbs,
    (verbs) => Effect.acquireRelease(verbs.allocPd(context), (pd) => Effect.orDie(verbs.deallocPd(pd)))
  )

describe.skipIf(Compiler.missing !== undefined)("the seam of libibverbs", () => {
  const lane = Echo.lane()
  const test = Lane.test(lane)
  const { echo } = lane

  const open = (flavour: Echo.Flavour) =>
    Effect.acquireRelease(
      Effect.sync(() => echo().open(flavour)),
      (context) => Effect.sync(() => echo().close(context))
    )

  test("lists devices as C describes them, and frees the list that it was given", () =>
    Effect.gen(function*() {
      const verbs = yield* Verbs.Verbs
      const { devices, list } = yield* verbs.getDeviceList
      const rows: ReadonlyArray<object> = devices.map(({ guid, index, name, nodeType, transportType }) => ({
        guid,
        index,
        name,
        nodeType,
        transportType
      }))
      assert.deepStrictEqual(rows, [
        { name: "echo0", nodeType: "ca", transportType: "ib", guid: 0x0002_c903_0001_0203n, index: 10 },
        { name: "echo1", nodeType: "switch", transportType: "unspecified", guid: 0x0002_c903_0001_0204n, index: 11 },
        { name: "echo2", nodeType: "rnic", transportType: "iwarp", guid: 0x0002_c903_0001_0205n, index: 12 },
        { name: "echo3", nodeType: "usnicUdp", transportType: "usnicUdp", guid: 0x0002_c903_0001_0206n, index: 13 },
        { name: "echo4", nodeType: "unknown", transportType: "unknown", guid: 0x0002_c903_0001_0207n, index: -1 }
      ])
      assert.strictEqual(echo().live(), 1)
      yield* verbs.freeDeviceList(list)
      assert.deepStrictEqual(echo().calls(), [
        { op: "get_device_list" },
        { op: "free_device_list", list: String(list) }
      ])
    }))

  test("opens the device that it was given, tells its name, and closes its context", () =>
    Effect.gen(function*() {
      const verbs = yield* Verbs.Verbs
      const { devices, list } = yield* verbs.getDeviceList
      for (const device of devices) {
        const context = yield* verbs.openDevice(device.pointer)
        assert.deepStrictEqual(echo().last(), { op: "open_device", device: String(device.pointer) })
        assert.strictEqual(yield* verbs.getDeviceName(context), device.name)
        yield* verbs.closeDevice(context)
        assert.deepStrictEqual(echo().last(), { op: "close_device", context: String(context) })
      }
      yield* verbs.freeDeviceList(list)
    }))

  test("reads every attribute of a device", () =>
    Effect.gen(function*() {
      const verbs = yield* Verbs.Verbs
      const context = yield* open("rdmaCore")
      assert.deepStrictEqual<unknown>(yield* verbs.queryDevice(context), {
        fwVer: "20.31.1014",
        nodeGuid: 0x0002_c903_0001_0203n,
        sysImageGuid: 0x0002_c903_0001_0206n,
        maxMrSize: 2n ** 64n - 1n,
        pageSizeCap: 0xffff_ffff_ffff_f000n,
        vendorId: 0x2c9,
        vendorPartId: 4123,
        hwVer: 1000,
        maxQp: 1001,
        maxQpWr: 1002,
        deviceCapFlags: 0xed72_1c36,
        maxSge: 1003,
        maxSgeRd: 1004,
        maxCq: 1005,
        maxCqe: 1006,
        maxMr: 1007,
        maxPd: 1008,
        maxQpRdAtom: 1009,
        maxEeRdAtom: 1010,
        maxResRdAtom: 1011,
        maxQpInitRdAtom: 1012,
        maxEeInitRdAtom: 1013,
        atomicCap: "hca",
        maxEe: 1014,
        maxRdd: 1015,
        maxMw: 1016,
        maxRawIpv6Qp: 1017,
        maxRawEthyQp: 1018,
        maxMcastGrp: 1019,
        maxMcastQpAttach: 1020,
        maxTotalMcastQpAttach: 1021,
        maxAh: 1022,
        maxFmr: 1023,
        maxMapPerFmr: 1024,
        maxSrq: 1025,
        maxSrqWr: 1026,
        maxSrqSge: 1027,
        maxPkeys: 128,
        localCaAckDelay: 15,
        physPortCnt: 2
      })
      assert.deepStrictEqual(echo().calls(), [{ op: "query_device", context: String(context) }])
    }))

  test("reads every attribute of a port, also those that only the operation of a context fills", () =>
    Effect.gen(function*() {
      const verbs = yield* Verbs.Verbs
      const context = yield* open("rdmaCore")
      assert.deepStrictEqual<unknown>(yield* verbs.queryPort(context, port(255)), {
        ...portAttributes,
        portCapFlags2: 0x8002,
        activeSpeedEx: 0x89ab_cdef
      })
      assert.deepStrictEqual(echo().calls(), [
        { op: "query_port", context: String(context), port_num: "255", length: "56" }
      ])
    }))

  for (const flavour of ["mlnxOfed", "oldRdmaCore", "legacy", "emptyMlnx"] as const) {
    test(`reads a port by the exported function on a context of ${flavour}, the newer attributes as 0`, () =>
      Effect.gen(function*() {
        const verbs = yield* Verbs.Verbs
        const context = yield* open(flavour)
        assert.deepStrictEqual<unknown>(yield* verbs.queryPort(context, port(254)), {
          ...portAttributes,
          portCapFlags2: 0,
          activeSpeedEx: 0
        })
        assert.deepStrictEqual(echo().calls(), [
          { op: "exported_query_port", context: String(context), port_num: "254" }
        ])
      }))
  }

  test("reads a GID byte by byte", () =>
    Effect.gen(function*() {
      const verbs = yield* Verbs.Verbs
      const context = yield* open("rdmaCore")
      const gid = yield* verbs.queryGid(context, port(254), gidIndex(255))
      assert.strictEqual(hex(gid), "e0e1e2e3e4e5e6e7e8e9eaebecedfeff")
      assert.deepStrictEqual(echo().calls(), [
        { op: "query_gid", context: String(context), port_num: "254", index: "255" }
      ])
    }))

  test("reads the GID table with room for the tables of all ports", () =>
    Effect.gen(function*() {
      const verbs = yield* Verbs.Verbs
      const context = yield* open("rdmaCore")
      const table = yield* verbs.queryGidTable(context)
      assert.deepStrictEqual(
        table.map(({ gid, gidIndex, gidType, ndevIfindex, portNum }): object => ({
          gid: hex(gid),
          gidIndex,
          portNum,
          gidType,
          ndevIfindex
        })),
        ["ib", "roceV1", "roceV2", "unknown"].map((gidType, row) => ({
          gid: `e0e1e2e3e4e5e6e7e8e9eaebeced${hex(Uint8Array.of(11 + row, 40 + row))}`,
          gidIndex: 40 + row,
          portNum: 11 + row,
          gidType,
          ndevIfindex: 0x8000_0000 + 51 + 2 * row
        }))
      )
      assert.deepStrictEqual(echo().calls(), [
        { op: "query_device", context: String(context) },
        { op: "query_port", context: String(context), port_num: "1", length: "56" },
        { op: "query_port", context: String(context), port_num: "2", length: "56" },
        // Twice the 17 of a port.
        { op: "query_gid_table", context: String(context), max_entries: "34", flags: "0", entry_size: "32" }
      ])
    }))

  test("takes as many rows of the GID table as C says", () =>
    Effect.gen(function*() {
      const verbs = yield* Verbs.Verbs
      const context = yield* open("rdmaCore")
      for (const count of [0, 1, 3]) {
        echo().script("query_gid_table", { result: count })
        assert.strictEqual((yield* verbs.queryGidTable(context)).length, count)
      }
    }))

  test("reads a P_Key in network order", () =>
    Effect.gen(function*() {
      const verbs = yield* Verbs.Verbs
      const context = yield* open("rdmaCore")
      const pkey = yield* verbs.queryPkey(context, port(253), Identifier.PKeyIndex.make(65_535))
      assert.strictEqual(pkey, 0x8001)
      assert.deepStrictEqual(echo().calls(), [
        { op: "query_pkey", context: String(context), port_num: "253", index: "65535" }
      ])
    }))

  test("passes protection, thread and parent domains", () =>
    Effect.gen(function*() {
      const verbs = yield* Verbs.Verbs
      const context = yield* open("rdmaCore")
      const pd = yield* verbs.allocPd(context)
      const td = yield* verbs.allocTd(context)
      const both = yield* verbs.allocParentDomain(context, { pd, td })
      const alone = yield* verbs.allocParentDomain(context, { pd, td: undefined })
      assert.strictEqual(echo().live(), 4)
      for (const domain of [alone, both]) yield* verbs.deallocPd(domain)
      yield* verbs.deallocTd(td)
      yield* verbs.deallocPd(pd)
      const owner = String(context)
      assert.deepStrictEqual(echo().calls(), [
        { op: "alloc_pd", context: owner },
        { op: "alloc_td", context: owner, comp_mask: "0" },
        Echo.parentDomainReport({ context: owner, pd: String(pd), td: String(td) }),
        Echo.parentDomainReport({ context: owner, pd: String(pd), td: "0" }),
        { op: "dealloc_pd", pd: String(alone), context: owner },
        { op: "dealloc_pd", pd: String(both), context: owner },
        { op: "dealloc_td", td: String(td), context: owner },
        { op: "dealloc_pd", pd: String(pd), context: owner }
      ])
    }))

  test("passes every attribute of an address handle at its largest", () =>
    Effect.gen(function*() {
      const verbs = yield* Verbs.Verbs
      const pd = yield* allocPd(yield* open("rdmaCore"))
      const ah = yield* verbs.createAh(
        pd,
        attributesOf({
          portNum: 255,
          dlid: 0xffff,
          sl: 15,
          srcPathBits: 127,
          staticRate: "1200Gbps",
          grh: {
            dgid: counting(0xf0, 16),
            flowLabel: 0xfffff,
            sgidIndex: 255,
            hopLimit: 254,
            trafficClass: 253
          }
        })
      )
      assert.deepStrictEqual(echo().last(), {
        op: "create_ah",
        pd: String(pd),
        dgid: "f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff",
        "grh.flow_label": String(0xfffff),
        "grh.sgid_index": "255",
        "grh.hop_limit": "254",
        "grh.traffic_class": "253",
        dlid: "65535",
        sl: "15",
        src_path_bits: "127",
        static_rate: "24",
        is_global: "1",
        port_num: "255"
      })
      yield* verbs.destroyAh(ah)
      assert.deepStrictEqual(echo().last(), { op: "destroy_ah", ah: String(ah) })
    }))

  test("passes each attribute of an address handle to its own field", () =>
    Effect.gen(function*() {
      const verbs = yield* Verbs.Verbs
      const pd = yield* allocPd(yield* open("rdmaCore"))
      const base = { portNum: 1, grh: smallestRoute }
      const cases: ReadonlyArray<readonly [AddressHandleAttributes.Input, { readonly [field: string]: string }]> = [
        [base, {}],
        [{ ...base, portNum: 255 }, { port_num: "255" }],
        [{ ...base, dlid: 0xffff }, { dlid: "65535" }],
        [{ ...base, dlid: 0x1234 }, { dlid: String(0x1234) }],
        [{ ...base, sl: 15 }, { sl: "15" }],
        [{ ...base, srcPathBits: 127 }, { src_path_bits: "127" }],
        [{ ...base, grh: { ...smallestRoute, dgid: counting(1, 16) } }, { dgid: hex(counting(1, 16)) }],
        [{ ...base, grh: { ...smallestRoute, flowLabel: 0xfffff } }, { "grh.flow_label": "1048575" }],
        [{ ...base, grh: { ...smallestRoute, flowLabel: 0x12345 } }, { "grh.flow_label": String(0x12345) }],
        [{ ...base, grh: { ...smallestRoute, sgidIndex: 255 } }, { "grh.sgid_index": "255" }],
        [{ ...base, grh: { ...smallestRoute, hopLimit: 255 } }, { "grh.hop_limit": "255" }],
        [{ ...base, grh: { ...smallestRoute, trafficClass: 255 } }, { "grh.traffic_class": "255" }],
        // A local address has no route, whatever its defaults are.
        [{ portNum: 1, dlid: 7 }, { dlid: "7", is_global: "0" }]
      ]
      for (const [input, difference] of cases) {
        const ah = yield* verbs.createAh(pd, attributesOf(input))
        assert.deepStrictEqual(echo().last(), { op: "create_ah", pd: String(pd), ...smallest, ...difference })
        yield* verbs.destroyAh(ah)
      }
    }))

  test("passes every static rate by its number in C", () =>
    Effect.gen(function*() {
      const verbs = yield* Verbs.Verbs
      const pd = yield* allocPd(yield* open("rdmaCore"))
      const rates = StaticRate.StaticRate.literals
      assert.isAbove(rates.length, 20)
      for (const staticRate of rates) {
        const ah = yield* verbs.createAh(pd, attributesOf({ portNum: 1, grh: smallestRoute, staticRate }))
        assert.deepStrictEqual(echo().last(), {
          op: "create_ah",
          pd: String(pd),
          ...smallest,
          static_rate: String(StaticRate.toNative(staticRate))
        })
        yield* verbs.destroyAh(ah)
      }
    }))

  // The unused part of a completion is zero.
  const completion = {
    wr_id: "0",
    status: "0",
    opcode: "0",
    vendor_err: "0",
    byte_len: "0",
    imm_data: "00000000",
    qp_num: "0",
    src_qp: "0",
    pkey_index: "0"
  }

  // A header is a piece of a larger receive buffer.
  const header = counting(0x80, 60).subarray(7, 47)

  const withRoute = receivedOf({ slid: 0xfffe, sl: 14, dlidPathBits: 126, grh: header })
  const withoutRoute = receivedOf({ slid: 1, sl: 15, dlidPathBits: 127 })

  const reportWithRoute = {
    ...completion,
    slid: "65534",
    sl: "14",
    dlid_path_bits: "126",
    wc_flags: "1",
    grh: hex(header)
  }

  // libibverbs reads the header before it looks at the flag, so it must be there.
  const reportWithoutRoute = {
    ...completion,
    slid: "1",
    sl: "15",
    dlid_path_bits: "127",
    wc_flags: "0",
    grh: "00".repeat(40)
  }

  test("passes what was received, and reads the attributes that answer it", () =>
    Effect.gen(function*() {
      const verbs = yield* Verbs.Verbs
      const context = yield* open("rdmaCore")
      const local = { portNum: 2, dlid: 0x1234, sl: 6, srcPathBits: 7, staticRate: "100Gbps" }
      assert.deepStrictEqual<unknown>(yield* verbs.initAhFromWc(context, port(255), withRoute), {
        ...local,
        grh: {
          dgid: counting(0xd0, 16),
          flowLabel: 0xabcde,
          sgidIndex: 253,
          hopLimit: 64,
          trafficClass: 5
        }
      })
      assert.deepStrictEqual<unknown>(yield* verbs.initAhFromWc(context, port(254), withoutRoute), local)
      const call = { op: "init_ah_from_wc", context: String(context) }
      assert.deepStrictEqual(echo().calls(), [
        { ...call, port_num: "255", ...reportWithRoute },
        { ...call, port_num: "254", ...reportWithoutRoute }
      ])
    }))

  test("creates an address handle from what was received", () =>
    Effect.gen(function*() {
      const verbs = yield* Verbs.Verbs
      const pd = yield* allocPd(yield* open("rdmaCore"))
      echo().calls()
      yield* verbs.destroyAh(yield* verbs.createAhFromWc(pd, port(255), withRoute))
      yield* verbs.destroyAh(yield* verbs.createAhFromWc(pd, port(254), withoutRoute))
      const call = { op: "create_ah_from_wc", pd: String(pd) }
      assert.deepStrictEqual(echo().calls().filter(({ op }) => op === call.op), [
        { ...call, port_num: "255", ...reportWithRoute },
        { ...call, port_num: "254", ...reportWithoutRoute }
      ])
    }))

  test("passes the models of a resource domain by their numbers, and a mask bit for each that was given", () =>
    Effect.gen(function*() {
      const verbs = yield* Verbs.Verbs
      const context = yield* open("mlnxOfed")
      // comp_mask, thread_model, msg_model
      const cases: ReadonlyArray<
        readonly [ResourceDomainAttributes.ResourceDomainAttributes, readonly [string, string, string]]
      > = [
        [{}, ["0", "0", "0"]],
        [{ threadModel: "safe" }, ["1", "0", "0"]],
        [{ threadModel: "unsafe" }, ["1", "1", "0"]],
        [{ threadModel: "single" }, ["1", "2", "0"]],
        [{ msgModel: "default" }, ["2", "0", "0"]],
        [{ msgModel: "lowLatency" }, ["2", "0", "1"]],
        [{ msgModel: "highBandwidth" }, ["2", "0", "2"]],
        [{ msgModel: "forceLowLatency" }, ["2", "0", "3"]],
        [{ threadModel: "single", msgModel: "highBandwidth" }, ["3", "2", "2"]]
      ]
      for (const [attributes, [comp_mask, thread_model, msg_model]] of cases) {
        const domain = yield* verbs.expCreateResDomain(context, attributes)
        assert.deepStrictEqual(echo().last(), {
          op: "exp_create_res_domain",
          context: String(context),
          comp_mask,
          thread_model,
          msg_model
        })
        yield* verbs.expDestroyResDomain(context, domain)
        const { attr, ...destroy } = echo().last()
        assert.deepStrictEqual<object>(destroy, {
          op: "exp_destroy_res_domain",
          context: String(context),
          domain: String(domain),
          comp_mask: "0"
        })
        assert.notStrictEqual(attr, "0")
      }
    }))

  it.live("a library without the newest functions has no index, and no GID table", () =>
    Effect.gen(function*() {
      const old = yield* Echo.makeWith(["-DOLD_LIBRARY"])
      yield* Effect.gen(function*() {
        const verbs = yield* Verbs.Verbs
        const { devices, list } = yield* verbs.getDeviceList
        assert.deepStrictEqual(devices.map((device) => device.index), Array.from(devices, () => -1))
        yield* verbs.freeDeviceList(list)
        const context = old.open("rdmaCore")
        old.calls()
        const error = yield* Effect.flip(verbs.queryGidTable(context))
        assert.deepInclude(error, { call: "ibv_query_gid_table" })
        assert.deepInclude(error.reason, { _tag: "EOPNOTSUPP", errno: 95 })
        assert.deepStrictEqual(old.calls(), [])
        old.close(context)
      }).pipe(Effect.provide(Verbs.Verbs.layerFromPath(old.path)))
      assert.strictEqual(old.live(), 0)
    }))

  it.live("a library that is none of libibverbs is told by the function that it lacks", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(Effect.provide(Verbs.Verbs, Verbs.Verbs.layerFromPath("libc.so.6")))
      assert.instanceOf(error, Library.SymbolNotFound)
      assert.deepInclude(error, { library: "libibverbs", path: "libc.so.6", symbol: "ibv_get_device_list" })
    }))

  it.live("a library that is not there is a typed failure", () =>
    Effect.gen(function*() {
      const path = "/nowhere/libibverbs.so.1"
      const error = yield* Effect.flip(Effect.provide(Verbs.Verbs, Verbs.Verbs.layerFromPath(path)))
      assert.instanceOf(error, Library.LibraryNotFound)
      assert.deepStrictEqual(error.tried.map(({ name }) => name), [path])
    }))
})
