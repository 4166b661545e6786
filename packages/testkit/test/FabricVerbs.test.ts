import * as Errno from "@effect-rdma/core/Errno"
import * as Gid from "@effect-rdma/core/Gid"
import * as Guid from "@effect-rdma/core/Guid"
import * as Identifier from "@effect-rdma/core/Identifier"
import * as Lid from "@effect-rdma/core/Lid"
import * as Pointer from "@effect-rdma/core/Pointer"
import * as Fabric from "@effect-rdma/testkit/Fabric"
import * as Topology from "@effect-rdma/testkit/Topology"
import * as AddressHandleAttributes from "@effect-rdma/verbs/AddressHandleAttributes"
import * as ReceivedDatagram from "@effect-rdma/verbs/ReceivedDatagram"
import * as RoutingHeader from "@effect-rdma/verbs/RoutingHeader"
import { Verbs } from "@effect-rdma/verbs/Verbs"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { assertMisuse, assertRefused } from "./observe.ts"

const portNum = Schema.decodeSync(Identifier.PortNumber)
const gidIndex = Schema.decodeSync(Identifier.GidIndex)
const pkeyIndex = Schema.decodeSync(Identifier.PKeyIndex)
const gid = Schema.decodeSync(Gid.GidFromString)
const ah = Schema.decodeSync(AddressHandleAttributes.AddressHandleAttributes)
const received = (grh?: Uint8Array) =>
  Schema.decodeSync(ReceivedDatagram.ReceivedDatagram)({
    slid: 3,
    sl: 1,
    dlidPathBits: 0,
    ...(grh === undefined ? {} : { grh })
  })

const toSelf = ah({ portNum: 1, grh: { dgid: "::ffff:10.0.0.1", sgidIndex: 1 } })

const open = Effect.fnUntraced(function*(name: string) {
  const verbs = yield* Verbs
  const { devices, list } = yield* verbs.getDeviceList
  const device = devices.find((device) => device.name === name)
  assert(device !== undefined)
  const context = yield* verbs.openDevice(device.pointer)
  yield* verbs.freeDeviceList(list)
  return { verbs, context }
})

const init = (device: string, port: number, grh?: Uint8Array) =>
  Effect.flatMap(open(device), ({ context, verbs }) => verbs.initAhFromWc(context, portNum(port), received(grh)))

const rxe = (attributes: (typeof Topology.Attributes)["Encoded"]): Topology.Input => ({
  hosts: [{ name: "only", devices: [{ ...Topology.softRoce("rxe0", 1), attributes }] }]
})

describe("Fabric: libibverbs", () => {
  describe("device lists and contexts", () => {
    it.effect("lists the devices with name, kind and GUID", () =>
      Effect.gen(function*() {
        const verbs = yield* Verbs
        const { devices } = yield* verbs.getDeviceList
        assert.deepStrictEqual(
          devices.map(({ guid, index, name, nodeType, transportType }) => [
            name,
            nodeType,
            transportType,
            Guid.format(guid),
            index
          ]),
          [
            ["rxe0", "ca", "ib", "0x505400fffe0a0001", 0],
            ["mlx5_0", "ca", "ib", "0x0002c90300a00100", 1]
          ]
        )
      }).pipe(Effect.provide(Fabric.layer)))

    it.effect("without RDMA in the kernel: ENOSYS, RdmaUnavailable", () =>
      Effect.gen(function*() {
        const error = yield* Effect.flip((yield* Verbs).getDeviceList)
        assert.strictEqual(error.reason._tag, "RdmaUnavailable")
        assert.strictEqual(error.reason.errno, Errno.numberOf("ENOSYS"))
      }).pipe(Effect.provide(Fabric.layerFrom({ hosts: [{ name: "bare", rdma: false }] }))))

    it.effect("without devices: an empty list, which must be freed", () =>
      Effect.gen(function*() {
        const verbs = yield* Verbs
        const fabric = yield* Fabric.Fabric
        const { devices, list } = yield* verbs.getDeviceList
        assert.deepStrictEqual(devices, [])
        assert.deepStrictEqual((yield* fabric.objects).map(({ kind }) => kind), ["DeviceList"])
        yield* verbs.freeDeviceList(list)
        assert.deepStrictEqual(yield* fabric.objects, [])
      }).pipe(Effect.provide(Fabric.layerFrom({ hosts: [{ name: "empty" }] }))))

    it.effect("a context outlives the list; a device of a freed list cannot be opened", () =>
      Effect.gen(function*() {
        const verbs = yield* Verbs
        const { devices, list } = yield* verbs.getDeviceList
        const device = devices[0]?.pointer
        assert(device !== undefined)
        const context = yield* verbs.openDevice(device)
        yield* verbs.freeDeviceList(list)
        assert.strictEqual(yield* verbs.getDeviceName(context), "rxe0")
        yield* assertMisuse(verbs.openDevice(device), "ibv_open_device", /was a ibv_device until ibv_free_device_list/)
        yield* assertMisuse(verbs.freeDeviceList(list), "ibv_free_device_list", /was a DeviceList until/)
      }).pipe(Effect.provide(Fabric.layer)))

    it.effect("closing succeeds with live children, whose later use is a misuse", () =>
      Effect.gen(function*() {
        const { context, verbs } = yield* open("mlx5_0")
        const pd = yield* verbs.allocPd(context)
        const td = yield* verbs.allocTd(context)
        const handle = yield* verbs.createAh(pd, ah({ portNum: 1, dlid: 2 }))
        yield* verbs.closeDevice(context)
        assert.deepStrictEqual(yield* (yield* Fabric.Fabric).objects, [])
        yield* assertMisuse(verbs.destroyAh(handle), "ibv_destroy_ah", /was a AddressHandle until ibv_close_device/)
        yield* assertMisuse(verbs.deallocPd(pd), "ibv_dealloc_pd", /until ibv_close_device/)
        yield* assertMisuse(verbs.deallocTd(td), "ibv_dealloc_td", /until ibv_close_device/)
        yield* assertMisuse(verbs.closeDevice(context), "ibv_close_device", /until ibv_close_device/)
      }).pipe(Effect.provide(Fabric.layer)))

    it.effect("pointers of another kind, of another host and of nobody are misuses", () =>
      Effect.gen(function*() {
        const { context, verbs } = yield* open("rxe0")
        const pd = yield* verbs.allocPd(context)
        yield* assertMisuse(
          verbs.deallocTd(Pointer.make<"ibv_td">(pd)),
          "ibv_dealloc_td",
          /is a ibv_pd, not a ibv_td/
        )
        yield* assertMisuse(verbs.deallocPd(Pointer.make(0xdead0n)), "ibv_dealloc_pd", /was never given out on host-a/)
        yield* Effect.flatMap(Verbs, (other) =>
          assertMisuse(other.deallocPd(pd), "ibv_dealloc_pd", /was never given out on host-b/)).pipe(
            Effect.provide(Fabric.host("host-b"))
          )
      }).pipe(Effect.provide(Fabric.layer)))
  })

  describe("queries", () => {
    it.effect("devices report the limits of rxe on Linux 6.1 and of a ConnectX", () =>
      Effect.gen(function*() {
        const { context, verbs } = yield* open("rxe0")
        const attributes = yield* verbs.queryDevice(context)
        assert.deepInclude(attributes, {
          maxPd: 1048576,
          maxAh: 32767,
          maxCqe: 32767,
          vendorId: 0xffffff,
          physPortCnt: 1
        })
        const other = yield* open("mlx5_0")
        assert.strictEqual((yield* verbs.queryDevice(other.context)).physPortCnt, 2)
      }).pipe(Effect.provide(Fabric.layer)))

    it.effect("ibv_query_port: what the topology says; EINVAL for a port that is not there", () =>
      Effect.gen(function*() {
        const { context, verbs } = yield* open("mlx5_0")
        assert.deepInclude(yield* verbs.queryPort(context, portNum(1)), {
          state: "active",
          linkLayer: "infiniband",
          lid: Lid.Lid.make(1),
          smLid: Lid.Lid.make(1),
          gidTblLen: 8,
          pkeyTblLen: 2
        })
        assert.deepInclude(yield* verbs.queryPort(context, portNum(2)), { state: "down", physState: "polling" })
        yield* assertRefused(verbs.queryPort(context, portNum(3)), "ibv_query_port", "EINVAL")
      }).pipe(Effect.provide(Fabric.layer)))

    it.effect("ibv_query_gid: zero for an empty place, EINVAL beyond the table and for a port that is not there", () =>
      Effect.gen(function*() {
        const { context, verbs } = yield* open("mlx5_0")
        const first = yield* verbs.queryGid(context, portNum(1), gidIndex(0))
        assert.strictEqual(Gid.formatCompressed(first), "fe80::2:c903:a0:101")
        assert.isTrue(Gid.isZero(yield* verbs.queryGid(context, portNum(1), gidIndex(7))))
        yield* assertRefused(verbs.queryGid(context, portNum(1), gidIndex(8)), "ibv_query_gid", "EINVAL")
        yield* assertRefused(verbs.queryGid(context, portNum(3), gidIndex(0)), "ibv_query_gid", "EINVAL")
      }).pipe(Effect.provide(Fabric.layer)))

    it.effect("ibv_query_gid_table: the GIDs that are there, with place and type", () =>
      Effect.gen(function*() {
        const { context, verbs } = yield* open("rxe0")
        const table = yield* verbs.queryGidTable(context)
        assert.deepStrictEqual(
          table.map((row) => [row.portNum, row.gidIndex, Gid.formatCompressed(row.gid), row.gidType]),
          [[1, 0, "fe80::5054:ff:fe0a:1", "roceV2"], [1, 1, "::ffff:10.0.0.1", "roceV2"]]
        )
      }).pipe(Effect.provide(Fabric.layer)))

    it.effect("ibv_query_pkey: ENOENT for an index or a port that is not there", () =>
      Effect.gen(function*() {
        const { context, verbs } = yield* open("rxe0")
        assert.strictEqual(yield* verbs.queryPkey(context, portNum(1), pkeyIndex(0)), 0xffff)
        yield* assertRefused(verbs.queryPkey(context, portNum(1), pkeyIndex(1)), "ibv_query_pkey", "ENOENT")
        yield* assertRefused(verbs.queryPkey(context, portNum(2), pkeyIndex(0)), "ibv_query_pkey", "ENOENT")
      }).pipe(Effect.provide(Fabric.layer)))
  })

  describe("domains", () => {
    it.effect("ibv_dealloc_pd: EBUSY while an address handle lives, and the domain stays", () =>
      Effect.gen(function*() {
        const { context, verbs } = yield* open("rxe0")
        const pd = yield* verbs.allocPd(context)
        const handle = yield* verbs.createAh(pd, toSelf)
        yield* assertRefused(verbs.deallocPd(pd), "ibv_dealloc_pd", "EBUSY")
        yield* verbs.destroyAh(handle)
        yield* verbs.deallocPd(pd)
        yield* assertMisuse(verbs.deallocPd(pd), "ibv_dealloc_pd", /was a ProtectionDomain until ibv_dealloc_pd/)
      }).pipe(Effect.provide(Fabric.layer)))

    it.effect("a parent domain keeps both of its parts busy: EBUSY", () =>
      Effect.gen(function*() {
        const { context, verbs } = yield* open("mlx5_0")
        const pd = yield* verbs.allocPd(context)
        const td = yield* verbs.allocTd(context)
        const parent = yield* verbs.allocParentDomain(context, { pd, td })
        const handle = yield* verbs.createAh(parent, ah({ portNum: 1, dlid: 2 }))
        yield* assertRefused(verbs.deallocPd(pd), "ibv_dealloc_pd", "EBUSY")
        yield* assertRefused(verbs.deallocTd(td), "ibv_dealloc_td", "EBUSY")
        yield* assertRefused(verbs.deallocPd(parent), "ibv_dealloc_pd", "EBUSY")
        yield* verbs.destroyAh(handle)
        yield* verbs.deallocPd(parent)
        yield* verbs.deallocTd(td)
        yield* verbs.deallocPd(pd)
      }).pipe(Effect.provide(Fabric.layer)))

    it.effect("rxe has no thread and no parent domains: EOPNOTSUPP", () =>
      Effect.gen(function*() {
        const { context, verbs } = yield* open("rxe0")
        const pd = yield* verbs.allocPd(context)
        yield* assertRefused(verbs.allocTd(context), "ibv_alloc_td", "EOPNOTSUPP")
        yield* assertRefused(
          verbs.allocParentDomain(context, { pd, td: undefined }),
          "ibv_alloc_parent_domain",
          "EOPNOTSUPP"
        )
      }).pipe(Effect.provide(Fabric.layer)))

    it.effect("the parts of a parent domain must be of its context", () =>
      Effect.gen(function*() {
        const { context, verbs } = yield* open("mlx5_0")
        const other = yield* open("mlx5_0")
        const pd = yield* verbs.allocPd(other.context)
        yield* assertMisuse(
          verbs.allocParentDomain(context, { pd, td: undefined }),
          "ibv_alloc_parent_domain",
          /different contexts/
        )
      }).pipe(Effect.provide(Fabric.layer)))

    it.effect("the experimental resource domain: ENOSYS but on a device that has it", () =>
      Effect.gen(function*() {
        const { context, verbs } = yield* open("mlx5_0")
        const error = yield* Effect.flip(verbs.expCreateResDomain(context, {}))
        assert.strictEqual(error.reason._tag, "EOPNOTSUPP")
        assert.strictEqual(error.reason.errno, Errno.numberOf("ENOSYS"))
      }).pipe(Effect.provide(Fabric.layer)))

    it.effect("an experimental device gives resource domains", () =>
      Effect.gen(function*() {
        const { context, verbs } = yield* open("mlx5_0")
        const fabric = yield* Fabric.Fabric
        const domain = yield* verbs.expCreateResDomain(context, { threadModel: "single" })
        assert.deepInclude((yield* fabric.objects).at(-1), { kind: "ResourceDomain", pointer: domain })
        yield* verbs.expDestroyResDomain(context, domain)
        yield* assertMisuse(
          verbs.expDestroyResDomain(context, domain),
          "ibv_exp_destroy_res_domain",
          /was a ResourceDomain until/
        )
        const { context: other } = yield* open("mlx5_0")
        const left = yield* verbs.expCreateResDomain(other, {})
        yield* assertMisuse(verbs.expDestroyResDomain(context, left), "ibv_exp_destroy_res_domain", /another context/)
        yield* verbs.closeDevice(other)
        yield* assertMisuse(
          verbs.expDestroyResDomain(context, left),
          "ibv_exp_destroy_res_domain",
          /until ibv_close_device/
        )
      }).pipe(Effect.provide(
        Fabric.layerFrom({
          hosts: [{ name: "ofed", devices: [{ ...Topology.connectX("mlx5_0", 1), experimental: true }] }]
        })
      )))

    it.effect("limits: ENOMEM for one domain and one handle too many", () =>
      Effect.gen(function*() {
        const { context, verbs } = yield* open("rxe0")
        const pd = yield* verbs.allocPd(context)
        yield* assertRefused(verbs.allocPd(context), "ibv_alloc_pd", "ENOMEM")
        const handle = yield* verbs.createAh(pd, toSelf)
        yield* assertRefused(verbs.createAh(pd, toSelf), "ibv_create_ah", "ENOMEM")
        yield* verbs.destroyAh(handle)
        yield* verbs.createAh(pd, toSelf)
        yield* verbs.closeDevice(context)
        const again = yield* open("rxe0")
        yield* verbs.createAh(yield* verbs.allocPd(again.context), toSelf)
      }).pipe(Effect.provide(Fabric.layerFrom(rxe({ maxPd: 1, maxAh: 1 })))))
  })

  describe("address handles", () => {
    const refusals: ReadonlyArray<readonly [string, AddressHandleAttributes.Input, Errno.ErrnoName]> = [
      ["a port that is not there", { portNum: 2, grh: { dgid: "::ffff:10.0.0.1", sgidIndex: 1 } }, "EINVAL"],
      ["RoCE without a GRH", { portNum: 1 }, "EINVAL"],
      ["an empty source GID", { portNum: 1, grh: { dgid: "::ffff:10.0.0.1", sgidIndex: 5 } }, "ENODATA"],
      ["an IPv6 peer from an IPv4 GID", { portNum: 1, grh: { dgid: "fe80::1", sgidIndex: 1 } }, "EINVAL"],
      ["an IPv4 peer from a link-local GID", { portNum: 1, grh: { dgid: "::ffff:10.0.0.1", sgidIndex: 0 } }, "EINVAL"],
      ["no peer from an IPv4 GID", { portNum: 1, grh: { dgid: "::", sgidIndex: 1 } }, "EINVAL"],
      ["no peer from a link-local GID", { portNum: 1, grh: { dgid: "::", sgidIndex: 0 } }, "ENETUNREACH"],
      ["a peer that nobody is", { portNum: 1, grh: { dgid: "::ffff:10.0.0.99", sgidIndex: 1 } }, "ETIMEDOUT"]
    ]
    it.effect.each(refusals)("rxe refuses %s", ([, attributes, errno]) =>
      Effect.gen(function*() {
        const { context, verbs } = yield* open("rxe0")
        const pd = yield* verbs.allocPd(context)
        yield* assertRefused(verbs.createAh(pd, ah(attributes)), "ibv_create_ah", errno)
        yield* verbs.deallocPd(pd)
      }).pipe(Effect.provide(Fabric.layer)))

    it.effect("rxe takes a peer on another host, itself, and a multicast group", () =>
      Effect.gen(function*() {
        const { context, verbs } = yield* open("rxe0")
        const pd = yield* verbs.allocPd(context)
        yield* verbs.createAh(pd, toSelf)
        yield* verbs.createAh(pd, ah({ portNum: 1, grh: { dgid: "::ffff:10.0.0.2", sgidIndex: 1 } }))
        yield* verbs.createAh(pd, ah({ portNum: 1, grh: { dgid: "ff0e::ffff:224.1.1.1", sgidIndex: 1 } }))
      }).pipe(Effect.provide(Fabric.layer)))

    it.effect("RoCE v1 asks nobody for a link-local peer, and for others it does; the table has an end", () =>
      Effect.gen(function*() {
        const { context, verbs } = yield* open("old0")
        const pd = yield* verbs.allocPd(context)
        const call = "ibv_create_ah"
        yield* verbs.createAh(pd, ah({ portNum: 1, grh: { dgid: "fe80::77", sgidIndex: 0 } }))
        yield* assertRefused(
          verbs.createAh(pd, ah({ portNum: 1, grh: { dgid: "fd00::77", sgidIndex: 0 } })),
          call,
          "ETIMEDOUT"
        )
        yield* assertRefused(
          verbs.createAh(pd, ah({ portNum: 1, grh: { dgid: "fe80::77", sgidIndex: 2 } })),
          call,
          "EINVAL"
        )
      }).pipe(Effect.provide(Fabric.layerFrom({
        hosts: [{
          name: "only",
          devices: [{
            name: "old0",
            guid: 1n,
            ports: [{
              number: 1,
              linkLayer: "ethernet",
              gidTblLen: 2,
              gids: [{ gid: "fe80::1", type: "roceV1" }]
            }]
          }]
        }]
      }))))

    it.effect("mlx5 on InfiniBand checks the port only, and refuses it with NULL and no errno", () =>
      Effect.gen(function*() {
        const { context, verbs } = yield* open("mlx5_0")
        const pd = yield* verbs.allocPd(context)
        const error = yield* Effect.flip(verbs.createAh(pd, ah({ portNum: 3, dlid: 2 })))
        assert.strictEqual(error.reason._tag, "UnknownErrno")
        assert.strictEqual(error.reason.errno, 0)
        yield* verbs.createAh(pd, ah({ portNum: 1, dlid: 2 }))
        yield* verbs.createAh(pd, ah({ portNum: 1, grh: { dgid: "fe80::1", sgidIndex: 200 } }))
      }).pipe(Effect.provide(Fabric.layer)))
  })

  describe("the way back to a sender", () => {
    const fromB = { sgid: gid("::ffff:10.0.0.2"), dgid: gid("::ffff:10.0.0.1") }
    const ipv4 = { _tag: "Ipv4", typeOfService: 8, flowLabel: 0, timeToLive: 63, ...fromB } as const
    const global = {
      _tag: "Global",
      trafficClass: 4,
      flowLabel: 0x12345,
      payloadLength: 0,
      nextHeader: RoutingHeader.nextHeaderUdp,
      hopLimit: 9,
      sgid: gid("fe80::5054:ff:fe0a:2"),
      dgid: gid("fe80::5054:ff:fe0a:1")
    } as const

    it.effect("without a header: the LID", () =>
      Effect.gen(function*() {
        assert.deepStrictEqual<unknown>(yield* init("mlx5_0", 1), {
          portNum: 1,
          dlid: 3,
          sl: 1,
          srcPathBits: 0,
          staticRate: "max"
        })
      }).pipe(Effect.provide(Fabric.layer)))

    it.effect("IPv4: source becomes destination, time to live and type of service are kept", () =>
      Effect.gen(function*() {
        const { grh } = yield* init("rxe0", 1, RoutingHeader.toBytes(ipv4))
        assert.deepStrictEqual<unknown>(grh, {
          dgid: fromB.sgid,
          flowLabel: 0,
          sgidIndex: 1,
          hopLimit: 63,
          trafficClass: 8
        })
      }).pipe(Effect.provide(Fabric.layer)))

    it.effect("IPv6: flow label, class and hop limit are those of the packet", () =>
      Effect.gen(function*() {
        const { grh } = yield* init("rxe0", 1, RoutingHeader.toBytes(global))
        assert.deepStrictEqual<unknown>(grh, {
          dgid: global.sgid,
          flowLabel: 0x12345,
          sgidIndex: 0,
          hopLimit: 9,
          trafficClass: 4
        })
      }).pipe(Effect.provide(Fabric.layer)))

    it.effect("InfiniBand: the GID is looked up among those of its type", () =>
      Effect.gen(function*() {
        const ours = gid("fe80::2:c903:a0:101")
        const header = { ...global, dgid: ours, nextHeader: RoutingHeader.nextHeaderIb }
        const { grh } = yield* init("mlx5_0", 1, RoutingHeader.toBytes(header))
        assert.strictEqual<number | undefined>(grh?.sgidIndex, 0)
        yield* assertRefused(
          init("mlx5_0", 1, RoutingHeader.toBytes({ ...header, nextHeader: RoutingHeader.nextHeaderUdp })),
          "ibv_init_ah_from_wc",
          "EINVAL"
        )
      }).pipe(Effect.provide(Fabric.layer)))

    const refusals: ReadonlyArray<readonly [string, number, Uint8Array, Errno.ErrnoName]> = [
      ["bytes that are no header", 1, new Uint8Array(40), "EPROTONOSUPPORT"],
      ["a next header that is neither", 1, RoutingHeader.toBytes({ ...global, nextHeader: 99 }), "EPROTONOSUPPORT"],
      [
        "an IPv4 address that is not ours",
        1,
        RoutingHeader.toBytes({ ...ipv4, dgid: gid("::ffff:10.0.0.7") }),
        "EINVAL"
      ],
      ["a GID that is not ours", 1, RoutingHeader.toBytes({ ...global, dgid: gid("fe80::77") }), "EINVAL"],
      ["a port that is not there", 2, RoutingHeader.toBytes(ipv4), "EINVAL"],
      ["an IPv4 group", 1, RoutingHeader.toBytes({ ...ipv4, dgid: gid("::ffff:224.0.0.1") }), "EINVAL"],
      ["a multicast GID", 1, RoutingHeader.toBytes({ ...global, dgid: gid("ff0e::1") }), "EINVAL"]
    ]
    it.effect.each(refusals)(
      "refuses %s",
      ([, port, bytes, errno]) =>
        assertRefused(init("rxe0", port, bytes), "ibv_init_ah_from_wc", errno).pipe(Effect.provide(Fabric.layer))
    )

    it.effect("ibv_create_ah_from_wc makes the handle, and tells both kinds of failure", () =>
      Effect.gen(function*() {
        const { context, verbs } = yield* open("rxe0")
        const pd = yield* verbs.allocPd(context)
        const handle = yield* verbs.createAhFromWc(pd, portNum(1), received(RoutingHeader.toBytes(ipv4)))
        yield* assertRefused(verbs.deallocPd(pd), "ibv_dealloc_pd", "EBUSY")
        yield* verbs.destroyAh(handle)
        const call = "ibv_create_ah_from_wc"
        yield* assertRefused(
          verbs.createAhFromWc(pd, portNum(1), received(new Uint8Array(40))),
          call,
          "EPROTONOSUPPORT"
        )
        yield* assertRefused(verbs.createAhFromWc(pd, portNum(1), received()), call, "EINVAL")
      }).pipe(Effect.provide(Fabric.layer)))
  })
})
