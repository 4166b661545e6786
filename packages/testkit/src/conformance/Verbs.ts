/**
 * What libibverbs does, as tests of the scoped modules: the same on the in-memory fabric, on Soft-RoCE and on hardware.
 *
 * @since 0.1.0
 */
import * as Gid from "@effect-rdma/core/Gid"
import * as LinkLayer from "@effect-rdma/core/LinkLayer"
import * as Mtu from "@effect-rdma/core/Mtu"
import * as NodeType from "@effect-rdma/core/NodeType"
import * as PhysicalState from "@effect-rdma/core/PhysicalState"
import * as PKey from "@effect-rdma/core/PKey"
import * as PortState from "@effect-rdma/core/PortState"
import * as Resource from "@effect-rdma/core/Resource"
import * as TransportType from "@effect-rdma/core/TransportType"
import * as AddressHandle from "@effect-rdma/verbs/AddressHandle"
import * as AddressHandleAttributes from "@effect-rdma/verbs/AddressHandleAttributes"
import * as DeviceContext from "@effect-rdma/verbs/DeviceContext"
import * as DeviceList from "@effect-rdma/verbs/DeviceList"
import * as ParentDomain from "@effect-rdma/verbs/ParentDomain"
import * as Port from "@effect-rdma/verbs/Port"
import * as ProtectionDomain from "@effect-rdma/verbs/ProtectionDomain"
import type * as ReceivedDatagram from "@effect-rdma/verbs/ReceivedDatagram"
import * as ResourceDomain from "@effect-rdma/verbs/ResourceDomain"
import * as RoutingHeader from "@effect-rdma/verbs/RoutingHeader"
import * as ThreadDomain from "@effect-rdma/verbs/ThreadDomain"
import type * as Verbs from "@effect-rdma/verbs/Verbs"
import { assert } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import type * as Faults from "../Faults.ts"
import {
  assertPath,
  assertReason,
  assertUnsigned,
  namesOf,
  recorded,
  testWhere,
  timesCalled,
  usesDeadHandle
} from "../internal/conformance.ts"
import * as LeakCheck from "../LeakCheck.ts"
import * as Lane from "./Lane.ts"

/**
 * What the suite has to know of the device that it runs on.
 *
 * @category models
 * @since 0.1.0
 */
export interface VerbsLane<Others = never> extends Lane.Lane<Verbs.Verbs | Others> {
  readonly device: string
  /** An active port of the device. */
  readonly port: number
  /** The way to a peer that answers. */
  readonly peer: AddressHandleAttributes.Input
  /** Whether the kernel makes the address handles: then it checks them. */
  readonly checkedAddresses: boolean
  /** What is known of an Ethernet port with an IPv4 address; `undefined` for InfiniBand. */
  readonly roce: RoceFacts | undefined
  /** Whether the provider has `ibv_alloc_td` and `ibv_alloc_parent_domain`. */
  readonly threadDomains: boolean
  /** Whether the library has `ibv_exp_create_res_domain`. */
  readonly experimental: boolean
}

/**
 * The IPv4 side of an Ethernet port.
 *
 * @category models
 * @since 0.1.0
 */
export interface RoceFacts {
  /** The index of the GID of `ownAddress`. */
  readonly sgidIndex: number
  readonly ownAddress: string
  readonly peerAddress: string
  /** An address of the port's network that nobody answers for. */
  readonly silentAddress: string
  /** An index of the GID table with nothing at it. */
  readonly emptyGidIndex: number
}

/**
 * Registers the suite on a lane.
 *
 * @category constructors
 * @since 0.1.0
 */
export const suite = <Others = never>(lane: VerbsLane<Others>): void => {
  const it = Lane.test<Verbs.Verbs | Others>(lane)
  const itWhere = testWhere<Verbs.Verbs | Others>(lane)
  const open = DeviceContext.openByName(lane.device)
  const roce = lane.roce ?? { sgidIndex: 0, ownAddress: "", peerAddress: "", silentAddress: "", emptyGidIndex: 0 }
  const itOnRoce = itWhere(lane.roce !== undefined, "the port has no IPv4 address")
  const itChecked = itWhere(lane.roce !== undefined && lane.checkedAddresses, "no kernel checks its addresses")
  const toIpv4 = (address: string, sgidIndex = roce.sgidIndex): AddressHandleAttributes.Input => ({
    portNum: lane.port,
    grh: { dgid: `::ffff:${address}`, sgidIndex }
  })
  const domain = Effect.flatMap(open, ProtectionDomain.alloc)

  // ---------------------------------------------------------------------------
  // Devices
  // ---------------------------------------------------------------------------

  it("a device list names every device with its kind and its GUID", () =>
    Effect.gen(function*() {
      const { devices } = yield* DeviceList.get()
      const device = devices.find(({ name }) => name === lane.device)
      if (device === undefined) return assert.fail(`no ${lane.device} among ${devices.map(({ name }) => name)}`)
      assert.isTrue(Schema.is(NodeType.NodeType)(device.nodeType))
      assert.isTrue(Schema.is(TransportType.TransportType)(device.transportType))
      assert.notStrictEqual(device.nodeType, "unknown")
      assert.strictEqual(typeof device.guid, "bigint")
      assert.isTrue(device.guid > 0n)
      assert.isTrue(Number.isInteger(device.index) && device.index >= -1)
      assert.strictEqual(new Set(devices.map(({ name }) => name)).size, devices.length)
    }))

  it("two device lists at the same time are two arrays of the same devices", () =>
    Effect.gen(function*() {
      const first = yield* DeviceList.get()
      const second = yield* DeviceList.get()
      assert.notStrictEqual(Resource.raw(first).list, Resource.raw(second).list)
      assert.deepStrictEqual(factsOf(first), factsOf(second))
    }))

  it("a device of a list that was freed cannot be opened, and the library is not asked", () =>
    recorded(function*(calls) {
      const { devices } = yield* Effect.scoped(DeviceList.get())
      const device = devices.find(({ name }) => name === lane.device)
      if (device === undefined) return assert.fail("the device is not listed")
      const dead = yield* usesDeadHandle(DeviceContext.open(device))
      assert.include(dead.message, "DeviceList#")
      assert.strictEqual(timesCalled(yield* calls, "ibv_open_device"), 0)
    }))

  it("an unknown device name is ENODEV and the message tells the names that there are", () =>
    recorded(function*(calls) {
      const error = yield* Effect.flip(DeviceContext.openByName("no-such-device"))
      assertReason(error, "ibv_open_device", "ENODEV")
      assert.include(error.message, "no-such-device")
      assert.include(error.message, lane.device)
      assert.strictEqual(timesCalled(yield* calls, "ibv_open_device"), 0)
      assert.strictEqual(
        timesCalled(yield* calls, "ibv_free_device_list"),
        timesCalled(yield* calls, "ibv_get_device_list")
      )
    }))

  it("a device opened twice is two contexts, and each can be closed without the other", () =>
    Effect.gen(function*() {
      const scope = yield* Scope.make()
      const first = yield* open.pipe(Scope.provide(scope))
      const second = yield* open
      assert.notStrictEqual(Resource.raw(first), Resource.raw(second))
      yield* Scope.close(scope, Exit.void)
      assert.isFalse(Resource.isLive(first))
      assert.strictEqual((yield* Port.query(second, lane.port)).state, "active")
      yield* ProtectionDomain.alloc(second)
    }))

  it("a context outlives the list that it was opened from", () =>
    Effect.gen(function*() {
      const scope = yield* Effect.scope
      const context = yield* Effect.scoped(Effect.gen(function*() {
        const { devices } = yield* DeviceList.get()
        const device = devices.find(({ name }) => name === lane.device)
        return device === undefined
          ? assert.fail("not listed")
          : yield* Scope.provide(DeviceContext.open(device), scope)
      }))
      assert.strictEqual(context.name, lane.device)
      yield* DeviceContext.query(context)
      yield* ProtectionDomain.alloc(context)
    }))

  it("opening by name has freed its list before anything is made on the context", () =>
    recorded(function*(calls) {
      yield* domain
      const names = namesOf(yield* calls)
      assert.deepStrictEqual(names, ["ibv_get_device_list", "ibv_open_device", "ibv_free_device_list", "ibv_alloc_pd"])
    }))

  it("a closed context cannot be asked anything, and the library is not called", () =>
    recorded(function*(calls) {
      const context = yield* Effect.scoped(open)
      const before = (yield* calls).length
      yield* usesDeadHandle(DeviceContext.query(context))
      yield* usesDeadHandle(DeviceContext.gidTable(context))
      yield* usesDeadHandle(Port.query(context, lane.port))
      yield* usesDeadHandle(Port.gid(context, lane.port, 0))
      yield* usesDeadHandle(Port.pkey(context, lane.port, 0))
      yield* usesDeadHandle(ThreadDomain.alloc(context))
      const dead = yield* usesDeadHandle(Effect.scoped(ProtectionDomain.alloc(context)))
      assert.include(dead.message, "DeviceContext#")
      assert.strictEqual((yield* calls).length, before)
    }))

  it("a device can be opened and closed a hundred times", () =>
    recorded(function*(calls) {
      yield* Effect.repeat(Effect.scoped(open), { times: 99 })
      assert.strictEqual(timesCalled(yield* calls, "ibv_open_device"), 100)
      assert.strictEqual(timesCalled(yield* calls, "ibv_close_device"), 100)
      assert.strictEqual(timesCalled(yield* calls, "ibv_free_device_list"), 100)
      yield* LeakCheck.assertNothingAlive
    }))

  it("twenty fibers open the device at once and each has a context of its own", () =>
    Effect.gen(function*() {
      const contexts = yield* Effect.all(Array.from({ length: 20 }, () => Effect.andThen(Effect.yieldNow, open)), {
        concurrency: "unbounded"
      })
      assert.strictEqual(new Set(contexts.map(Resource.raw)).size, 20)
      assert.deepStrictEqual([...new Set(contexts.map(({ name }) => name))], [lane.device])
    }))

  it("query_device reports every field in the range of its C type", () =>
    Effect.gen(function*() {
      const { devices } = yield* DeviceList.get()
      const device = yield* Effect.flatMap(open, DeviceContext.query)
      const { atomicCap, fwVer, maxMrSize, nodeGuid, pageSizeCap, sysImageGuid, ...numbers } = device
      assert.strictEqual(typeof fwVer, "string")
      assert.isBelow(fwVer.length, 64)
      assert.strictEqual(nodeGuid, devices.find(({ name }) => name === lane.device)?.guid)
      assert.isTrue(sysImageGuid > 0n && sysImageGuid < 1n << 64n)
      assert.isTrue(maxMrSize > 0n && maxMrSize < 1n << 64n)
      assert.isTrue(pageSizeCap > 0n && pageSizeCap < 1n << 64n)
      assert.include(["none", "hca", "glob"], atomicCap)
      const { deviceCapFlags, localCaAckDelay, maxPkeys, physPortCnt, hwVer, vendorId, vendorPartId, ...counts } =
        numbers
      assertUnsigned(8, { localCaAckDelay, physPortCnt })
      assertUnsigned(16, { maxPkeys })
      assertUnsigned(32, { deviceCapFlags, hwVer, vendorId, vendorPartId })
      assertUnsigned(31, counts)
      const { maxAh, maxCq, maxCqe, maxMr, maxPd, maxQp, maxQpWr, maxSge } = device
      for (const count of [physPortCnt, maxAh, maxCq, maxCqe, maxMr, maxPd, maxPkeys, maxQp, maxQpWr, maxSge]) {
        assert.isAbove(count, 0)
      }
    }))

  it("query_device answers the same twice, on one context and on another", () =>
    Effect.gen(function*() {
      const first = yield* open
      const second = yield* open
      const attributes = yield* DeviceContext.query(first)
      assert.deepStrictEqual(yield* DeviceContext.query(first), attributes)
      assert.deepStrictEqual(yield* DeviceContext.query(second), attributes)
    }))

  // ---------------------------------------------------------------------------
  // Ports
  // ---------------------------------------------------------------------------

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

  // ---------------------------------------------------------------------------
  // GIDs and P_Keys
  // ---------------------------------------------------------------------------

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
      assert.isTrue(Gid.isZero(yield* Port.gid(context, lane.port, roce.emptyGidIndex)))
      const table = yield* DeviceContext.gidTable(context)
      assert.isFalse(table.some((row) => row.portNum === lane.port && row.gidIndex === roce.emptyGidIndex))
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

  // ---------------------------------------------------------------------------
  // Protection domains
  // ---------------------------------------------------------------------------

  it("a protection domain is deallocated when its scope closes, before the context", () =>
    recorded(function*(calls) {
      yield* Effect.scoped(domain)
      assert.deepStrictEqual(namesOf(yield* calls).slice(-3), ["ibv_alloc_pd", "ibv_dealloc_pd", "ibv_close_device"])
    }))

  it("a hundred protection domains live at once on one context, each its own", () =>
    Effect.gen(function*() {
      const context = yield* open
      const domains = yield* Effect.all(Array.from({ length: 100 }, () => ProtectionDomain.alloc(context)))
      assert.strictEqual(new Set(domains.map(Resource.raw)).size, 100)
    }))

  it("a protection domain in an outer scope goes with its context in an inner one, before it", () =>
    recorded(function*(calls) {
      const outer = yield* Effect.scope
      const made = yield* Effect.scoped(
        Effect.flatMap(open, (context) => Scope.provide(ProtectionDomain.alloc(context), outer))
      )
      assert.isFalse(Resource.isLive(made))
      assert.deepStrictEqual(namesOf(yield* calls).slice(-2), ["ibv_dealloc_pd", "ibv_close_device"])
      yield* LeakCheck.assertNothingAlive
    }))

  for (const where of ["the scope of their domain", "a longer scope"]) {
    it(`children in ${where} are released before their domain, last created first`, () =>
      recorded(function*(calls) {
        const context = yield* open
        const outer = yield* Effect.scope
        const pointers = yield* Effect.scoped(Effect.gen(function*() {
          const domain = yield* ProtectionDomain.alloc(context)
          const scope = where === "a longer scope" ? outer : yield* Effect.scope
          const makeOne = AddressHandle.make(domain, lane.peer).pipe(Scope.provide(scope))
          const handles = yield* Effect.all([makeOne, makeOne, makeOne])
          return [...handles.map(Resource.raw).toReversed(), Resource.raw(domain)]
        }))
        const released = (yield* calls).filter(({ call }) => call === "ibv_destroy_ah" || call === "ibv_dealloc_pd")
        assert.deepStrictEqual(released.map(({ args }) => args[0]), pointers)
        assert.strictEqual(released.at(-1)?.call, "ibv_dealloc_pd")
      }))
  }

  it("a deallocated domain cannot be used, and the library is not called", () =>
    recorded(function*(calls) {
      const context = yield* open
      const dead = yield* Effect.scoped(ProtectionDomain.alloc(context))
      const before = (yield* calls).length
      assert.include((yield* usesDeadHandle(AddressHandle.make(dead, lane.peer))).message, "ProtectionDomain#")
      yield* usesDeadHandle(ParentDomain.alloc(dead))
      assert.strictEqual((yield* calls).length, before)
    }))

  it("a domain that was released early is not released again by its scope", () =>
    recorded(function*(calls) {
      yield* Effect.scoped(Effect.gen(function*() {
        const context = yield* open
        const early = yield* Scope.fork(yield* Effect.scope)
        yield* ProtectionDomain.alloc(context).pipe(Scope.provide(early))
        yield* Scope.close(early, Exit.void)
        yield* Scope.close(early, Exit.void)
        assert.strictEqual(timesCalled(yield* calls, "ibv_dealloc_pd"), 1)
      }))
      assert.strictEqual(timesCalled(yield* calls, "ibv_dealloc_pd"), 1)
    }))

  it("two contexts of one device each have domains of their own", () =>
    Effect.gen(function*() {
      const [first, second] = yield* Effect.all([open, open])
      const [domain, other] = yield* Effect.all([ProtectionDomain.alloc(first), ProtectionDomain.alloc(second)])
      assert.strictEqual(domain.context, first)
      assert.strictEqual(other.context, second)
      yield* AddressHandle.make(domain, lane.peer)
      yield* AddressHandle.make(other, lane.peer)
    }))

  // ---------------------------------------------------------------------------
  // Address handles
  // ---------------------------------------------------------------------------

  it("an address handle leads to a peer and carries its attributes with their defaults", () =>
    Effect.gen(function*() {
      const made = yield* Effect.flatMap(domain, (domain) => AddressHandle.make(domain, lane.peer))
      const { grh, portNum, sl, srcPathBits, staticRate } = made.attributes
      assert.deepStrictEqual({ portNum, sl, srcPathBits, staticRate }, {
        portNum: lane.peer.portNum,
        sl: lane.peer.sl ?? 0,
        srcPathBits: lane.peer.srcPathBits ?? 0,
        staticRate: "max"
      })
      if (lane.peer.grh !== undefined) {
        assert.strictEqual(grh?.sgidIndex, lane.peer.grh.sgidIndex)
        assert.strictEqual(grh?.hopLimit, 64)
        assert.strictEqual(grh?.flowLabel, 0)
      }
      assert.isFalse(AddressHandleAttributes.isMulticast(made.attributes))
    }))

  itOnRoce("a GID is taken as text and as bytes", () =>
    Effect.gen(function*() {
      const text = `::ffff:${roce.peerAddress}`
      const bytes = yield* Schema.decodeEffect(Gid.GidFromString)(text)
      const pd = yield* domain
      for (const dgid of [text, bytes]) {
        const { attributes } = yield* AddressHandle.make(pd, {
          portNum: lane.port,
          grh: { dgid, sgidIndex: roce.sgidIndex }
        })
        assert.strictEqual(attributes.grh && Gid.ipv4(attributes.grh.dgid), roce.peerAddress)
      }
    }))

  it("the highest value of every field is accepted", () =>
    Effect.gen(function*() {
      const { grh, ...local } = lane.peer
      const handle = yield* Effect.flatMap(domain, (domain) =>
        AddressHandle.make(domain, {
          ...local,
          sl: 15,
          srcPathBits: 127,
          staticRate: "10Gbps",
          ...(grh === undefined ? {} : { grh: { ...grh, flowLabel: 0xfffff, hopLimit: 255, trafficClass: 255 } })
        }))
      assert.strictEqual(handle.attributes.sl, 15)
    }))

  itChecked("an address without a route by GID is EINVAL on Ethernet", () =>
    Effect.gen(function*() {
      const pd = yield* domain
      for (const dlid of [0, 5]) {
        const error = yield* Effect.flip(AddressHandle.make(pd, { portNum: lane.port, dlid }))
        assertReason(error, "ibv_create_ah", "EINVAL")
      }
    }))

  itChecked("a source GID index with nothing at it is ENODATA", () =>
    Effect.gen(function*() {
      const pd = yield* domain
      const error = yield* Effect.flip(AddressHandle.make(pd, toIpv4(roce.peerAddress, roce.emptyGidIndex)))
      assertReason(error, "ibv_create_ah", "ENODATA")
    }))

  itChecked("a port that the device does not have is EINVAL of ibv_create_ah", () =>
    Effect.gen(function*() {
      const pd = yield* domain
      for (const portNum of [(yield* DeviceContext.query(pd.context)).physPortCnt + 1, 200]) {
        const error = yield* Effect.flip(AddressHandle.make(pd, { ...lane.peer, portNum }))
        assertReason(error, "ibv_create_ah", "EINVAL")
        assert.include(error.message, `portNum ${portNum}`)
      }
    }))

  itChecked("a destination of another address family than the source is EINVAL", () =>
    Effect.gen(function*() {
      const pd = yield* domain
      const to = (dgid: string) =>
        Effect.flip(AddressHandle.make(pd, { portNum: lane.port, grh: { dgid, sgidIndex: roce.sgidIndex } }))
      for (const dgid of ["fe80::1", "2001:db8::1", "::"]) {
        assertReason(yield* to(dgid), "ibv_create_ah", "EINVAL")
      }
    }))

  itChecked("an address that nobody answers for is ETIMEDOUT", () =>
    Effect.gen(function*() {
      const pd = yield* domain
      assertReason(
        yield* Effect.flip(AddressHandle.make(pd, toIpv4(roce.silentAddress))),
        "ibv_create_ah",
        "ETIMEDOUT"
      )
    }))

  itOnRoce(
    "a port can address itself",
    () => Effect.flatMap(domain, (domain) => Effect.asVoid(AddressHandle.make(domain, toIpv4(roce.ownAddress))))
  )

  itOnRoce("a multicast group has an address handle like a peer", () =>
    Effect.gen(function*() {
      const pd = yield* domain
      for (const dgid of ["ff0e::1", "ff12:401b:ffff::1"]) {
        const { attributes } = yield* AddressHandle.make(pd, {
          portNum: lane.port,
          grh: { dgid, sgidIndex: roce.sgidIndex }
        })
        assert.isTrue(AddressHandleAttributes.isMulticast(attributes))
      }
      yield* AddressHandle.make(pd, toIpv4("239.1.1.1"))
    }))

  const outOfRange: ReadonlyArray<readonly [path: ReadonlyArray<string>, attributes: AddressHandleAttributes.Input]> = [
    ...[0, 256, 1.5].map((portNum) => [["portNum"], { ...lane.peer, portNum }] as const),
    ...[-1, 0x1_0000].map((dlid) => [["dlid"], { ...lane.peer, dlid }] as const),
    ...[-1, 16].map((sl) => [["sl"], { ...lane.peer, sl }] as const),
    ...[-1, 128].map((srcPathBits) => [["srcPathBits"], { ...lane.peer, srcPathBits }] as const),
    ...([
      ["dgid", { dgid: "10.0.0.2" }],
      ["dgid", { dgid: "not a gid" }],
      ["dgid", { dgid: new Uint8Array(15) }],
      ["flowLabel", { flowLabel: 0x10_0000 }],
      ["flowLabel", { flowLabel: -1 }],
      ["sgidIndex", { sgidIndex: 256 }],
      ["sgidIndex", { sgidIndex: -1 }],
      ["hopLimit", { hopLimit: 256 }],
      ["trafficClass", { trafficClass: 256 }]
    ] as const).map(([field, wrong]) =>
      [["grh", field], {
        ...lane.peer,
        grh: { dgid: "::ffff:10.0.0.2", sgidIndex: 0, ...wrong }
      }] as const
    )
  ]

  it("every field out of its range is a SchemaError with its path, and the library is not called", () =>
    recorded(function*(calls) {
      const pd = yield* domain
      const before = (yield* calls).length
      for (const [path, attributes] of outOfRange) {
        assertPath(yield* Effect.flip(AddressHandle.make(pd, attributes)), path)
      }
      assert.strictEqual((yield* calls).length, before)
    }))

  it("an address handle in an outer scope goes with its domain in an inner one, before it", () =>
    recorded(function*(calls) {
      const context = yield* open
      const outer = yield* Effect.scope
      const handle = yield* Effect.scoped(Effect.flatMap(
        ProtectionDomain.alloc(context),
        (domain) => Scope.provide(AddressHandle.make(domain, lane.peer), outer)
      ))
      assert.isFalse(Resource.isLive(handle))
      assert.deepStrictEqual(namesOf(yield* calls).slice(-2), ["ibv_destroy_ah", "ibv_dealloc_pd"])
    }))

  it("a hundred address handles to one peer live at once, each its own", () =>
    Effect.gen(function*() {
      const pd = yield* domain
      const handles = yield* Effect.all(Array.from({ length: 100 }, () => AddressHandle.make(pd, lane.peer)))
      assert.strictEqual(new Set(handles.map(Resource.raw)).size, 100)
    }))

  it("address handles are made and destroyed by fifty fibers at once", () =>
    recorded(function*(calls) {
      const pd = yield* domain
      yield* Effect.all(
        Array.from({ length: 50 }, () =>
          Effect.scoped(
            Effect.andThen(Effect.yieldNow, Effect.andThen(AddressHandle.make(pd, lane.peer), Effect.yieldNow))
          )),
        { concurrency: "unbounded", discard: true }
      )
      assert.strictEqual(timesCalled(yield* calls, "ibv_create_ah"), 50)
      assert.strictEqual(timesCalled(yield* calls, "ibv_destroy_ah"), 50)
    }))

  it("an address handle is refused by a domain whose release is under way", () =>
    Effect.gen(function*() {
      const context = yield* open
      const scope = yield* Scope.make()
      const pd = yield* ProtectionDomain.alloc(context).pipe(Scope.provide(scope))
      const waiting = yield* Deferred.make<void>()
      const lease = yield* Effect.forkChild(Resource.withLease(pd, Deferred.await(waiting)), { startImmediately: true })
      const closing = yield* Effect.forkChild(Scope.close(scope, Exit.void), { startImmediately: true })
      yield* usesDeadHandle(AddressHandle.make(pd, lane.peer))
      assert.isUndefined(closing.pollUnsafe(), "the release waits for what is under way")
      yield* Deferred.succeed(waiting, undefined)
      yield* Fiber.join(lease)
      yield* Fiber.join(closing)
      assert.isFalse(Resource.isLive(pd))
    }))

  // ---------------------------------------------------------------------------
  // Received datagrams
  // ---------------------------------------------------------------------------

  const fromPeer = received(lane.roce === undefined ? undefined : ipv4(roce.peerAddress, roce.ownAddress))

  itOnRoce("the sender of an IPv4 datagram is known from its routing header", () =>
    recorded(function*(calls) {
      const context = yield* open
      const { grh, ...local } = yield* AddressHandle.attributesOfSender(context, lane.port, fromPeer)
      assert.deepStrictEqual(
        { portNum: Number(local.portNum), dlid: Number(local.dlid), sl: Number(local.sl) },
        { portNum: lane.port, dlid: 0, sl: 3 }
      )
      assert.strictEqual(grh && Gid.ipv4(grh.dgid), roce.peerAddress)
      assert.strictEqual(grh?.sgidIndex, roce.sgidIndex)
      assert.strictEqual(grh?.hopLimit, 63)
      assert.strictEqual(grh?.trafficClass, 0x28)
      assert.strictEqual(timesCalled(yield* calls, "ibv_create_ah_from_wc"), 0)
    }))

  itOnRoce("an address handle made from a datagram leads to its sender", () =>
    Effect.gen(function*() {
      const pd = yield* domain
      const handle = yield* AddressHandle.fromReceived(pd, lane.port, fromPeer)
      assert.deepStrictEqual(
        handle.attributes,
        yield* AddressHandle.attributesOfSender(pd.context, lane.port, fromPeer)
      )
      assert.strictEqual(handle.domain, pd)
    }))

  itOnRoce("the sender of an IPv6 datagram is known from its routing header", () =>
    Effect.gen(function*() {
      const context = yield* open
      const row = (yield* DeviceContext.gidTable(context)).find(({ gid, gidType, portNum }) =>
        portNum === lane.port && gidType === "roceV2" && !Gid.isIpv4Mapped(gid)
      )
      if (row === undefined) return assert.fail("the port has no GID of an IPv6 address")
      const sgid = yield* Schema.decodeEffect(Gid.GidFromString)("fe80::9")
      const { grh } = yield* AddressHandle.attributesOfSender(
        context,
        lane.port,
        received(RoutingHeader.toBytes({
          _tag: "Global",
          trafficClass: 0x28,
          flowLabel: 0x12345,
          payloadLength: 60,
          nextHeader: RoutingHeader.nextHeaderUdp,
          hopLimit: 61,
          sgid,
          dgid: row.gid
        }))
      )
      assert.strictEqual(grh && Gid.formatCompressed(grh.dgid), "fe80::9")
      const { flowLabel, hopLimit, sgidIndex, trafficClass } = grh ?? {}
      assert.deepStrictEqual(
        [flowLabel, hopLimit, sgidIndex, trafficClass].map(Number),
        [0x12345, 61, row.gidIndex, 0x28]
      )
    }))

  itOnRoce("a datagram to another address than the port's is EINVAL", () =>
    Effect.gen(function*() {
      const pd = yield* domain
      const notForUs = received(ipv4(roce.peerAddress, roce.silentAddress))
      assertReason(
        yield* Effect.flip(AddressHandle.attributesOfSender(pd.context, lane.port, notForUs)),
        "ibv_init_ah_from_wc",
        "EINVAL"
      )
      assertReason(
        yield* Effect.flip(AddressHandle.fromReceived(pd, lane.port, notForUs)),
        "ibv_init_ah_from_wc",
        "EINVAL"
      )
    }))

  itOnRoce(
    "a datagram to a multicast group is EINVAL, since it does not tell the port's own GID",
    () =>
      Effect.gen(function*() {
        const context = yield* open
        const toGroup = received(ipv4(roce.peerAddress, "239.1.1.1"))
        assertReason(
          yield* Effect.flip(AddressHandle.attributesOfSender(context, lane.port, toGroup)),
          "ibv_init_ah_from_wc",
          "EINVAL"
        )
      })
  )

  itOnRoce("a routing header that is neither IPv4 nor IPv6 is EPROTONOSUPPORT", () =>
    Effect.gen(function*() {
      const context = yield* open
      const gid = yield* Port.gid(context, lane.port, 0)
      const tcp = RoutingHeader.toBytes({
        _tag: "Global",
        trafficClass: 0,
        flowLabel: 0,
        payloadLength: 60,
        nextHeader: 6,
        hopLimit: 64,
        sgid: gid,
        dgid: gid
      })
      for (const grh of [new Uint8Array(40), tcp]) {
        assertReason(
          yield* Effect.flip(AddressHandle.attributesOfSender(context, lane.port, received(grh))),
          "ibv_init_ah_from_wc",
          "EPROTONOSUPPORT"
        )
      }
    }))

  it("a datagram without a routing header is answered by the LID of its sender", () =>
    recorded(function*(calls) {
      const context = yield* open
      const datagram = { slid: 7, sl: 5, dlidPathBits: 2 }
      const attributes = yield* AddressHandle.attributesOfSender(context, lane.port, datagram)
      assert.deepStrictEqual<object>(attributes, {
        portNum: lane.port,
        dlid: 7,
        sl: 5,
        srcPathBits: 2,
        staticRate: "max"
      })
      assert.strictEqual(timesCalled(yield* calls, "ibv_create_ah"), 0)
    }))

  itChecked("a datagram without a routing header cannot be answered on Ethernet: EINVAL", () =>
    Effect.gen(function*() {
      const pd = yield* domain
      const error = yield* Effect.flip(AddressHandle.fromReceived(pd, lane.port, received(undefined)))
      assertReason(error, "ibv_create_ah_from_wc", "EINVAL")
    }))

  it("a datagram with fields out of range is a SchemaError with its path, and the library is not called", () =>
    recorded(function*(calls) {
      const pd = yield* domain
      const before = (yield* calls).length
      const wrong = [
        [["grh"], received(new Uint8Array(39))],
        [["grh"], received(new Uint8Array(41))],
        [["slid"], { ...received(undefined), slid: 0x1_0000 }],
        [["sl"], { ...received(undefined), sl: 16 }],
        [["dlidPathBits"], { ...received(undefined), dlidPathBits: 128 }]
      ] as const
      for (const [path, datagram] of wrong) {
        assertPath(yield* Effect.flip(AddressHandle.attributesOfSender(pd.context, lane.port, datagram)), path)
        assertPath(yield* Effect.flip(AddressHandle.fromReceived(pd, lane.port, datagram)), path)
      }
      assertPath(yield* Effect.flip(AddressHandle.fromReceived(pd, 0, received(undefined))), [])
      assert.strictEqual((yield* calls).length, before)
    }))

  // ---------------------------------------------------------------------------
  // Thread domains, parent domains and resource domains
  // ---------------------------------------------------------------------------

  // Each of these has its opposite below: what is not offered is refused.
  const hasThreadDomains = "the provider has thread domains"
  const hasNoThreadDomains = "the provider has no thread domains"
  const isExperimental = "the library has experimental verbs"
  const itWithThreadDomains = itWhere(lane.threadDomains, hasNoThreadDomains)
  const itWithoutThreadDomains = itWhere(!lane.threadDomains, hasThreadDomains)
  const itExperimental = itWhere(lane.experimental, "the library has no experimental verbs")
  const itUpstream = itWhere(!lane.experimental, isExperimental)
  const itThreadOrigin = itWhere(
    !lane.experimental && lane.threadDomains,
    lane.experimental ? isExperimental : hasNoThreadDomains
  )
  const itRefused = itWhere(
    !lane.experimental && !lane.threadDomains,
    lane.experimental ? isExperimental : hasThreadDomains
  )

  itWithThreadDomains("a thread domain is allocated and deallocated with its scope", () =>
    recorded(function*(calls) {
      yield* Effect.scoped(Effect.flatMap(open, ThreadDomain.alloc))
      assert.deepStrictEqual(namesOf(yield* calls).slice(-3), ["ibv_alloc_td", "ibv_dealloc_td", "ibv_close_device"])
    }))

  itWithThreadDomains(
    "a parent domain goes before both of its parts, whatever scope they are in",
    () =>
      recorded(function*(calls) {
        const outer = yield* Effect.scope
        const context = yield* open
        yield* Effect.scoped(Effect.gen(function*() {
          const td = yield* ThreadDomain.alloc(context)
          const pd = yield* ProtectionDomain.alloc(context).pipe(Scope.provide(outer))
          const parent = yield* ParentDomain.alloc(pd, td).pipe(Scope.provide(outer))
          yield* AddressHandle.make(parent, lane.peer).pipe(Scope.provide(outer))
        }))
        assert.deepStrictEqual(namesOf(yield* calls).slice(-3), ["ibv_destroy_ah", "ibv_dealloc_pd", "ibv_dealloc_td"])
      })
  )

  itWithThreadDomains("a parent domain can do without a thread domain", () =>
    Effect.gen(function*() {
      const pd = yield* domain
      const parent = yield* ParentDomain.alloc(pd)
      assert.strictEqual(parent.protectionDomain, pd)
      assert.isUndefined(parent.threadDomain)
      assert.notStrictEqual(Resource.raw(parent), Resource.raw(pd))
    }))

  itWithThreadDomains(
    "parts of two contexts do not make a parent domain: EINVAL before the call",
    () =>
      recorded(function*(calls) {
        const pd = yield* domain
        const td = yield* Effect.flatMap(open, ThreadDomain.alloc)
        const error = yield* Effect.flip(ParentDomain.alloc(pd, td))
        assertReason(error, "ibv_alloc_parent_domain", "EINVAL")
        assert.strictEqual(timesCalled(yield* calls, "ibv_alloc_parent_domain"), 0)
      })
  )

  itWithoutThreadDomains(
    "a provider without thread domains says EOPNOTSUPP to both kinds",
    () =>
      Effect.gen(function*() {
        const pd = yield* domain
        assertReason(yield* Effect.flip(ThreadDomain.alloc(pd.context)), "ibv_alloc_td", "EOPNOTSUPP")
        assertReason(yield* Effect.flip(ParentDomain.alloc(pd)), "ibv_alloc_parent_domain", "EOPNOTSUPP")
      })
  )

  itUpstream(
    "a safe resource domain shares what the device has: nothing is made for it",
    () =>
      recorded(function*(calls) {
        const context = yield* open
        const before = (yield* calls).length
        for (const attributes of [{}, { threadModel: "safe" }, { msgModel: "lowLatency" }] as const) {
          const { origin } = yield* ResourceDomain.make(context, attributes)
          assert.deepStrictEqual(origin, { _tag: "Shared", refusal: undefined })
        }
        const made = namesOf((yield* calls).slice(before))
        assert.deepStrictEqual([...new Set(made)], ["ibv_exp_create_res_domain"])
      })
  )

  itUpstream("a safe resource domain that demands low latency is EOPNOTSUPP", () =>
    Effect.gen(function*() {
      const context = yield* open
      for (const threadModel of [undefined, "safe"] as const) {
        const error = yield* Effect.flip(ResourceDomain.make(context, {
          msgModel: "forceLowLatency",
          ...(threadModel === undefined ? {} : { threadModel })
        }))
        assertReason(error, "ibv_exp_create_res_domain", "EOPNOTSUPP")
      }
    }))

  itRefused(
    "a hint that the provider cannot follow falls back to sharing and keeps the refusal",
    () =>
      Effect.gen(function*() {
        const context = yield* open
        for (const threadModel of ["single", "unsafe"] as const) {
          for (const msgModel of ["default", "lowLatency", "highBandwidth"] as const) {
            const { origin } = yield* ResourceDomain.make(context, { threadModel, msgModel })
            if (origin._tag !== "Shared" || origin.refusal === undefined) return assert.fail(origin._tag)
            assertReason(origin.refusal, "ibv_alloc_td", "EOPNOTSUPP")
          }
        }
      })
  )

  itRefused(
    "a demand for low latency that the provider cannot meet is EOPNOTSUPP, and nothing is left of the attempt",
    () =>
      Effect.gen(function*() {
        const context = yield* open
        for (const threadModel of ["single", "unsafe"] as const) {
          const error = yield* Effect.flip(ResourceDomain.make(context, { threadModel, msgModel: "forceLowLatency" }))
          assertReason(error, "ibv_alloc_td", "EOPNOTSUPP")
        }
      })
  )

  itThreadOrigin(
    "an unlocked resource domain is a thread domain with a parent domain",
    () =>
      recorded(function*(calls) {
        const context = yield* open
        yield* Effect.scoped(Effect.gen(function*() {
          const made = yield* ResourceDomain.make(context, { threadModel: "single", msgModel: "forceLowLatency" })
          assert.strictEqual(made.origin._tag, "ThreadDomain")
          const pd = yield* ProtectionDomain.alloc(context)
          const inside = yield* ResourceDomain.domainFor(made, pd)
          assert.strictEqual(inside.kind, "ParentDomain")
        }))
        assert.strictEqual(timesCalled(yield* calls, "ibv_dealloc_td"), 1)
        assert.strictEqual(timesCalled(yield* calls, "ibv_alloc_pd"), 2)
        assert.strictEqual(timesCalled(yield* calls, "ibv_dealloc_pd"), 4)
      })
  )

  itExperimental("a resource domain is the library's own where it has them", () =>
    recorded(function*(calls) {
      const context = yield* open
      yield* Effect.scoped(Effect.gen(function*() {
        const made = yield* ResourceDomain.make(context, { threadModel: "single" })
        assert.strictEqual(made.origin._tag, "Experimental")
        const pd = yield* ProtectionDomain.alloc(context)
        assert.strictEqual(yield* ResourceDomain.domainFor(made, pd), pd)
      }))
      assert.strictEqual(timesCalled(yield* calls, "ibv_exp_destroy_res_domain"), 1)
      assert.strictEqual(timesCalled(yield* calls, "ibv_alloc_td"), 0)
    }))

  itUpstream(
    "the queues of a shared resource domain are made in the protection domain itself",
    () =>
      Effect.gen(function*() {
        const pd = yield* domain
        const shared = yield* ResourceDomain.make(pd.context)
        assert.strictEqual(yield* ResourceDomain.domainFor(shared, pd), pd)
      })
  )

  // ---------------------------------------------------------------------------
  // Lifetimes
  // ---------------------------------------------------------------------------

  const stack = Effect.gen(function*() {
    const context = yield* open
    yield* Effect.yieldNow
    const pd = yield* ProtectionDomain.alloc(context)
    yield* Effect.yieldNow
    yield* AddressHandle.make(pd, lane.peer)
    yield* Effect.yieldNow
    yield* ResourceDomain.make(context, { threadModel: "single" })
    yield* Effect.yieldNow
    return pd
  })

  it("a program that is interrupted leaves nothing behind", () =>
    Effect.gen(function*() {
      const ready = yield* Deferred.make<void>()
      const fiber = yield* Effect.forkChild(
        Effect.scoped(Effect.andThen(stack, Effect.andThen(Deferred.succeed(ready, undefined), Effect.never)))
      )
      yield* Deferred.await(ready)
      yield* Fiber.interrupt(fiber)
      assert.isTrue(Exit.hasInterrupts(yield* Fiber.await(fiber)))
      yield* LeakCheck.assertNothingAlive
    }))

  it("a program that is interrupted after any of its steps leaves nothing behind", () =>
    recorded(function*(calls) {
      let interrupted = 0
      for (let steps = 0; steps < 12; steps++) {
        const fiber = yield* Effect.forkChild(Effect.scoped(stack), { startImmediately: true })
        for (let step = 0; step < steps; step++) yield* Effect.yieldNow
        yield* Fiber.interrupt(fiber)
        if (Exit.hasInterrupts(yield* Fiber.await(fiber))) interrupted++
        yield* LeakCheck.assertNothingAlive
      }
      assert.isAbove(interrupted, 3)
      assertBalanced(yield* calls)
    }))

  it("a failure in the middle releases what was made before it and stays the failure", () =>
    recorded(function*(calls) {
      const error = yield* Effect.flip(Effect.scoped(Effect.andThen(stack, Effect.fail("the reason"))))
      assert.strictEqual(error, "the reason")
      assertBalanced(yield* calls)
      yield* LeakCheck.assertNothingAlive
    }))

  it("a native failure in the middle releases what was made before it and stays the failure", () =>
    recorded(function*(calls) {
      const error = yield* Effect.flip(Effect.scoped(Effect.flatMap(stack, ({ context }) => Port.query(context, 200))))
      assertReason(error, "ibv_query_port", "EINVAL")
      assertBalanced(yield* calls)
    }))

  it("a defect in the middle releases what was made before it and stays the defect", () =>
    recorded(function*(calls) {
      const exit = yield* Effect.exit(Effect.scoped(Effect.andThen(stack, Effect.die("the bug"))))
      assert.strictEqual(Exit.isFailure(exit) && Cause.squash(exit.cause), "the bug")
      assertBalanced(yield* calls)
    }))

  it("thirty programs at once, a third of them failing, leave nothing behind", () =>
    recorded(function*(calls) {
      const exits = yield* Effect.all(
        Array.from({ length: 30 }, (_, index) =>
          Effect.exit(Effect.scoped(index % 3 === 0 ? Effect.andThen(stack, Effect.fail(index)) : stack))),
        { concurrency: "unbounded" }
      )
      assert.strictEqual(exits.filter(Exit.isSuccess).length, 20)
      assertBalanced(yield* calls)
    }))

  it("the first failure of programs that run together releases the handles of all", () =>
    recorded(function*(calls) {
      const waits = Effect.scoped(Effect.andThen(stack, Effect.never))
      const fails = Effect.scoped(Effect.andThen(stack, Effect.fail("first")))
      const error = yield* Effect.flip(Effect.all([waits, fails, waits], { concurrency: "unbounded" }))
      assert.strictEqual(error, "first")
      assertBalanced(yield* calls)
      yield* LeakCheck.assertNothingAlive
    }))

  it("the loser of a race has released its handles when the race is over", () =>
    recorded(function*(calls) {
      const winner = yield* Effect.race(
        Effect.scoped(Effect.as(stack, "fast")),
        Effect.scoped(Effect.andThen(stack, Effect.never))
      )
      assert.strictEqual(winner, "fast")
      assertBalanced(yield* calls)
      yield* LeakCheck.assertNothingAlive
    }))

  it("a timeout releases the handles of what it cut off", () =>
    recorded(function*(calls) {
      const error = yield* Effect.flip(
        Effect.scoped(Effect.andThen(stack, Effect.never)).pipe(Effect.timeout("20 millis"))
      )
      assert.strictEqual(error._tag, "TimeoutError")
      assertBalanced(yield* calls)
      yield* LeakCheck.assertNothingAlive
    }))

  it("closing one scope from two fibers releases once, and both wait for it", () =>
    recorded(function*(calls) {
      const context = yield* open
      const scope = yield* Scope.make()
      const pd = yield* ProtectionDomain.alloc(context).pipe(Scope.provide(scope))
      yield* AddressHandle.make(pd, lane.peer).pipe(Scope.provide(scope))
      yield* Effect.all([Scope.close(scope, Exit.void), Scope.close(scope, Exit.void)], { concurrency: "unbounded" })
      assert.isFalse(Resource.isLive(pd))
      assert.strictEqual(timesCalled(yield* calls, "ibv_dealloc_pd"), 1)
      assert.strictEqual(timesCalled(yield* calls, "ibv_destroy_ah"), 1)
    }))

  it("a failed creation leaves its domain as usable as it was", () =>
    Effect.gen(function*() {
      const pd = yield* domain
      yield* Effect.flip(AddressHandle.make(pd, { ...lane.peer, portNum: 200 }))
      yield* AddressHandle.make(pd, lane.peer)
    }))

  it("a reason that is caught by its name is handled, and another one passes", () =>
    Effect.gen(function*() {
      const context = yield* open
      const caught = yield* Port.query(context, 200).pipe(
        Effect.catchReason("VerbsError", "EINVAL", (reason, error) => {
          const errno: number = reason.errno
          return Effect.succeed(`${error.call} ${reason._tag} ${errno}`)
        })
      )
      assert.strictEqual(caught, "ibv_query_port EINVAL 22")
      const passed = yield* Effect.flip(
        Port.pkey(context, 200, 0).pipe(Effect.catchReason("VerbsError", "EINVAL", () => Effect.succeed("caught")))
      )
      assertReason(passed, "ibv_query_pkey", "ENOENT")
    }))
}

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

const factsOf = ({ devices }: DeviceList.DeviceList) =>
  devices.map(({ guid, index, name, nodeType, transportType }) => ({ guid, index, name, nodeType, transportType }))

const received = (grh: Uint8Array | undefined): typeof ReceivedDatagram.ReceivedDatagram.Encoded => ({
  slid: 0,
  sl: 3,
  dlidPathBits: 0,
  ...(grh === undefined ? {} : { grh })
})

const ipv4 = (source: string, destination: string): Uint8Array =>
  RoutingHeader.toBytes({
    _tag: "Ipv4",
    typeOfService: 0x28,
    flowLabel: 0,
    timeToLive: 63,
    sgid: gidOf(source),
    dgid: gidOf(destination)
  })

const gidOf = (ipv4Address: string): Gid.Gid => Schema.decodeSync(Gid.GidFromString)(`::ffff:${ipv4Address}`)

const pairs = [
  ["ibv_open_device", "ibv_close_device"],
  ["ibv_alloc_pd", "ibv_dealloc_pd"],
  ["ibv_create_ah", "ibv_destroy_ah"],
  ["ibv_get_device_list", "ibv_free_device_list"]
] as const

/** Of a program in which no creation failed: each was released. */
const assertBalanced = (calls: ReadonlyArray<Faults.ObservedCall>): void => {
  for (const [acquire, release] of pairs) {
    const parents = acquire === "ibv_alloc_pd" ? timesCalled(calls, "ibv_alloc_parent_domain") : 0
    assert.strictEqual(timesCalled(calls, release), timesCalled(calls, acquire) + parents, release)
  }
}
