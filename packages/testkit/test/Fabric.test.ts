import * as Ledger from "@effect-rdma/core/Ledger"
import * as CmId from "@effect-rdma/rdmacm/CmId"
import * as EventChannel from "@effect-rdma/rdmacm/EventChannel"
import { RdmaCm } from "@effect-rdma/rdmacm/RdmaCm"
import * as Fabric from "@effect-rdma/testkit/Fabric"
import * as Topology from "@effect-rdma/testkit/Topology"
import * as UmadLibrary from "@effect-rdma/umad/UmadLibrary"
import * as UmadPort from "@effect-rdma/umad/UmadPort"
import * as AddressHandle from "@effect-rdma/verbs/AddressHandle"
import * as DeviceContext from "@effect-rdma/verbs/DeviceContext"
import * as DeviceList from "@effect-rdma/verbs/DeviceList"
import * as ParentDomain from "@effect-rdma/verbs/ParentDomain"
import * as ProtectionDomain from "@effect-rdma/verbs/ProtectionDomain"
import * as ResourceDomain from "@effect-rdma/verbs/ResourceDomain"
import * as ThreadDomain from "@effect-rdma/verbs/ThreadDomain"
import { Verbs } from "@effect-rdma/verbs/Verbs"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as NetAddress from "effect/net/NetAddress"
import { TestClock } from "effect/testing"
import { assertMisuse, assertRefused } from "./observe.ts"

const sorted = (names: ReadonlyArray<string>) => names.toSorted()

const nativeKinds = Effect.flatMap(
  Fabric.Fabric,
  (fabric) => Effect.map(fabric.objects, (objects) => sorted(objects.map(({ kind }) => kind)))
)

const ledgerKinds = Effect.map(
  Ledger.live,
  (entries) => sorted(entries.filter(({ ownership }) => ownership === "owned").map(({ kind }) => kind))
)

/** One of everything that the scoped modules make. */
const everything = Effect.gen(function*() {
  yield* DeviceList.get()
  const context = yield* DeviceContext.openByName("mlx5_0")
  const pd = yield* ProtectionDomain.alloc(context)
  const td = yield* ThreadDomain.alloc(context)
  const parent = yield* ParentDomain.alloc(pd, td)
  yield* AddressHandle.make(parent, { portNum: 1, dlid: 2 })
  yield* ResourceDomain.make(context, { threadModel: "single" })
  const channel = yield* EventChannel.make()
  yield* CmId.make(channel, "tcp")
  const umad = yield* UmadLibrary.init()
  yield* UmadPort.get(umad)
})

describe("Fabric", () => {
  describe("objects", () => {
    it.effect("are what the ledger has, while they live and after", () =>
      Effect.gen(function*() {
        yield* Effect.scoped(Effect.gen(function*() {
          yield* everything
          const kinds = yield* nativeKinds
          assert.include(kinds, "ParentDomain")
          assert.include(kinds, "UmadPort")
          assert.deepStrictEqual(kinds, yield* ledgerKinds)
        }))
        assert.deepStrictEqual(yield* nativeKinds, [])
        assert.deepStrictEqual(yield* ledgerKinds, [])
      }).pipe(Effect.provide([Fabric.layer, Ledger.layer])))

    it.effect("name host, device and pointer, oldest first", () =>
      Effect.gen(function*() {
        const { objects } = yield* Fabric.Fabric
        const context = yield* DeviceContext.openByName("rxe0").pipe(Effect.provide(Fabric.host("host-b")))
        yield* ProtectionDomain.alloc(context)
        yield* EventChannel.make()
        assert.deepStrictEqual(
          (yield* objects).map(({ device, host, kind }) => [host, kind, device]),
          [
            ["host-b", "DeviceContext", "rxe0"],
            ["host-b", "ProtectionDomain", "rxe0"],
            ["host-a", "EventChannel", undefined]
          ]
        )
        const pointers = (yield* objects).map(({ pointer }) => pointer)
        assert.strictEqual(new Set(pointers).size, 3)
        assert.isTrue(pointers.every((pointer) => pointer % 16n === 0n))
      }).pipe(Effect.provide(Fabric.layer)))

    it.effect("each build of the layer is a fabric of its own", () =>
      Effect.gen(function*() {
        yield* EventChannel.make()
        yield* Effect.map(nativeKinds, (kinds) => assert.deepStrictEqual(kinds, [])).pipe(Effect.provide(Fabric.layer))
        assert.deepStrictEqual(yield* nativeKinds, ["EventChannel"])
      }).pipe(Effect.provide(Fabric.layer)))
  })

  describe("hosts", () => {
    it.effect("the libraries of a host are the same each time", () =>
      Effect.gen(function*() {
        const first = yield* Effect.provide(Verbs, Fabric.host("host-b"))
        const second = yield* Effect.provide(Verbs, Fabric.host("host-b"))
        assert.strictEqual(first, second)
        assert.notStrictEqual(first, yield* Verbs)
        assert.strictEqual(yield* Effect.provide(Verbs, Fabric.host("host-a")), yield* Verbs)
      }).pipe(Effect.provide(Fabric.layer)))

    it.effect("a host that is not there is a misuse", () =>
      assertMisuse(Effect.provide(Verbs, Fabric.host("host-z")), "Fabric.seams", /no host host-z/).pipe(
        Effect.provide(Fabric.layer)
      ))

    it.effect("handles of two hosts do not mix", () =>
      Effect.gen(function*() {
        const here = yield* DeviceContext.openByName("mlx5_0")
        const there = yield* DeviceContext.openByName("mlx5_0").pipe(Effect.provide(Fabric.host("host-b")))
        const pd = yield* ProtectionDomain.alloc(here)
        const td = yield* ThreadDomain.alloc(there)
        yield* assertRefused(
          Effect.scoped(ParentDomain.alloc(pd, td)),
          "ibv_alloc_parent_domain",
          "EINVAL"
        )
      }).pipe(Effect.provide(Fabric.layer)))
  })

  describe("calls", () => {
    it.effect("are in order, with their pointers, what they returned and their errno", () =>
      Effect.gen(function*() {
        const fabric = yield* Fabric.Fabric
        yield* Effect.scoped(Effect.gen(function*() {
          const context = yield* DeviceContext.openByName("rxe0")
          const pd = yield* ProtectionDomain.alloc(context)
          yield* Effect.ignore(AddressHandle.make(pd, { portNum: 1 }))
        }))
        const calls = yield* fabric.calls
        assert.deepStrictEqual(calls.map(({ call }) => call), [
          "ibv_get_device_list",
          "ibv_open_device",
          "ibv_free_device_list",
          "ibv_alloc_pd",
          "ibv_create_ah",
          "ibv_dealloc_pd",
          "ibv_close_device"
        ])
        const [list, open, free, alloc, create, dealloc, close] = calls
        assert.deepStrictEqual<unknown>(free?.pointers, [list?.returned])
        assert.deepStrictEqual<unknown>(alloc?.pointers, [open?.returned])
        assert.deepStrictEqual<unknown>(dealloc?.pointers, [alloc?.returned])
        assert.deepStrictEqual<unknown>(close?.pointers, [open?.returned])
        assert.deepStrictEqual([create?.pointers[0], create?.errno], [alloc?.returned, 22])
        assert.deepStrictEqual([alloc?.errno, close?.errno, close?.host], [undefined, undefined, "host-a"])
      }).pipe(Effect.provide(Fabric.layer)))

    it.effect("the pointers of a parent domain's parts are noted", () =>
      Effect.gen(function*() {
        const fabric = yield* Fabric.Fabric
        const context = yield* DeviceContext.openByName("mlx5_0")
        const pd = yield* ProtectionDomain.alloc(context)
        yield* ParentDomain.alloc(pd, yield* ThreadDomain.alloc(context))
        const calls = yield* fabric.calls
        const returned = (name: string) => calls.find(({ call }) => call === name)?.returned
        assert.deepStrictEqual<unknown>(calls.at(-1)?.pointers, [
          returned("ibv_open_device"),
          returned("ibv_alloc_pd"),
          returned("ibv_alloc_td")
        ])
      }).pipe(Effect.provide(Fabric.layer)))

    it.effect("only the last 10,000 are kept", () =>
      Effect.gen(function*() {
        const fabric = yield* Fabric.Fabric
        const context = yield* DeviceContext.openByName("rxe0")
        yield* Effect.forEach(Array.from({ length: 10_001 }), () => DeviceContext.query(context), { discard: true })
        const calls = yield* fabric.calls
        assert.strictEqual(calls.length, 10_000)
        assert.strictEqual(calls[0]?.call, "ibv_query_device")
      }).pipe(Effect.provide(Fabric.layer)))
  })

  describe("unplug", () => {
    it.effect("every call on what was made on the device fails with EIO; the context can be closed", () =>
      Effect.gen(function*() {
        const fabric = yield* Fabric.Fabric
        const verbs = yield* Verbs
        const { devices, list } = yield* verbs.getDeviceList
        const device = devices[1]?.pointer
        assert(device !== undefined)
        const context = yield* verbs.openDevice(device)
        const pd = yield* verbs.allocPd(context)
        const td = yield* verbs.allocTd(context)
        const parent = yield* verbs.allocParentDomain(context, { pd, td })
        yield* fabric.unplug("host-a", "mlx5_0")
        yield* assertRefused(verbs.queryDevice(context), "ibv_query_device", "EIO")
        yield* assertRefused(verbs.allocPd(context), "ibv_alloc_pd", "EIO")
        yield* assertRefused(verbs.deallocPd(parent), "ibv_dealloc_pd", "EIO")
        yield* assertRefused(verbs.deallocTd(td), "ibv_dealloc_td", "EIO")
        yield* assertRefused(verbs.deallocPd(pd), "ibv_dealloc_pd", "EIO")
        yield* assertRefused(verbs.openDevice(device), "ibv_open_device", "ENOENT")
        assert.deepStrictEqual(yield* nativeKinds, ["DeviceList"])
        yield* verbs.closeDevice(context)
        yield* verbs.freeDeviceList(list)
        assert.deepStrictEqual((yield* verbs.getDeviceList).devices.map(({ name }) => name), ["rxe0"])
      }).pipe(Effect.provide(Fabric.layer)))

    it.effect("a scope with objects on it closes without a failure, and the ledger is empty", () =>
      Effect.gen(function*() {
        const fabric = yield* Fabric.Fabric
        yield* Effect.scoped(Effect.andThen(everything, fabric.unplug("host-a", "mlx5_0")))
        assert.deepStrictEqual(yield* nativeKinds, [])
        assert.deepStrictEqual(yield* ledgerKinds, [])
      }).pipe(Effect.provide([Fabric.layer, Ledger.layer])))

    it.effect("libibumad and librdmacm show it no more; ids that are bound to it are told", () =>
      Effect.gen(function*() {
        const fabric = yield* Fabric.Fabric
        const cm = yield* RdmaCm
        const channel = yield* cm.createEventChannel
        const id = yield* cm.createId(channel, "tcp")
        yield* cm.resolveAddr(id, undefined, NetAddress.inetAddressFromStringUnsafe("10.0.0.2:1"), 1000)
        yield* TestClock.adjust(1)
        yield* cm.ackCmEvent((yield* cm.getCmEvent(channel)).pointer)
        yield* fabric.unplug("host-a", "rxe0")
        assert.deepStrictEqual((yield* cm.getCmEvent(channel)).event, { event: "deviceRemoval", status: 0, id })
        assert.strictEqual((yield* cm.getDevices).contexts.length, 1)
        assert.deepStrictEqual(yield* UmadLibrary.caNames(yield* UmadLibrary.init()), ["mlx5_0"])
        yield* assertMisuse(fabric.unplug("host-a", "rxe0"), "Fabric.unplug", /host-a has no device rxe0/)
      }).pipe(Effect.provide(Fabric.layer)))

    it.effect("a resolution under way over the device fails with -ENODEV; other hosts cannot reach it", () =>
      Effect.gen(function*() {
        const fabric = yield* Fabric.Fabric
        const cm = yield* RdmaCm
        const channel = yield* cm.createEventChannel
        const id = yield* cm.createId(channel, "tcp")
        yield* cm.resolveAddr(id, undefined, NetAddress.inetAddressFromStringUnsafe("10.0.0.2:1"), 1000)
        yield* fabric.unplug("host-a", "rxe0")
        yield* TestClock.adjust(1)
        assert.deepStrictEqual((yield* cm.getCmEvent(channel)).event, { event: "addrError", status: -19, id })
      }).pipe(Effect.provide(Fabric.layer)))
  })

  it.effect("make gives two hosts by default, without touching the context of the program", () =>
    Effect.gen(function*() {
      const fabric = yield* Fabric.make()
      assert.deepStrictEqual(fabric.topology.hosts.map(({ name }) => name), ["host-a", "host-b"])
      yield* Effect.provide(EventChannel.make(), yield* fabric.seams("host-b"))
      assert.deepStrictEqual((yield* fabric.objects).map(({ host, kind }) => [host, kind]), [[
        "host-b",
        "EventChannel"
      ]])
    }))

  it.effect("a wrong topology fails with the path of the field", () =>
    Effect.gen(function*() {
      const twice = [Topology.softRoce("rxe0", 1), Topology.softRoce("rxe0", 2)]
      const error = yield* Effect.flip(Effect.scoped(Fabric.make({ hosts: [{ name: "a", devices: twice }] })))
      assert.match(String(error), /a device is there twice/)
      assert.match(String(error), /\["hosts"\]\[0\]\["devices"\]/)
    }))
})
