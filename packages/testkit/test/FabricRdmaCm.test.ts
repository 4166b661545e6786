import * as Errno from "@effect-rdma/core/Errno"
import * as CmId from "@effect-rdma/rdmacm/CmId"
import * as EventChannel from "@effect-rdma/rdmacm/EventChannel"
import type * as PortSpace from "@effect-rdma/rdmacm/PortSpace"
import { RdmaCm } from "@effect-rdma/rdmacm/RdmaCm"
import * as RdmaDevices from "@effect-rdma/rdmacm/RdmaDevices"
import * as Fabric from "@effect-rdma/testkit/Fabric"
import * as ProtectionDomain from "@effect-rdma/verbs/ProtectionDomain"
import { Verbs } from "@effect-rdma/verbs/Verbs"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as NetAddress from "effect/net/NetAddress"
import * as Result from "effect/Result"
import { TestClock } from "effect/testing"
import { assertMisuse, assertRefused } from "./observe.ts"

const to = NetAddress.inetAddressFromStringUnsafe
const linkLocal = (address: string, scopeId: number) =>
  Result.getOrThrow(NetAddress.inetAddressV6(Result.getOrThrow(NetAddress.ipv6FromString(address)), 1, { scopeId }))
const hostB = to("10.0.0.2:7471")
const nobody = to("10.0.0.99:7471")

const prepare = Effect.gen(function*() {
  const cm = yield* RdmaCm
  const channel = yield* cm.createEventChannel
  const id = yield* cm.createId(channel, "tcp")
  return { cm, channel, id }
})

const kinds = Effect.flatMap(
  Fabric.Fabric,
  (fabric) => Effect.map(fabric.objects, (objects) => objects.map(({ kind }) => kind))
)

describe("Fabric: librdmacm", () => {
  describe("addresses", () => {
    it.effect("an address of another host resolves after a millisecond", () =>
      Effect.gen(function*() {
        const { channel, cm, id } = yield* prepare
        yield* cm.resolveAddr(id, undefined, hostB, 2000)
        yield* assertRefused(cm.getCmEvent(channel), "rdma_get_cm_event", "EAGAIN")
        const waiter = yield* Effect.forkChild(cm.awaitCmEvent(channel), { startImmediately: true })
        yield* TestClock.adjust(1)
        yield* Fiber.join(waiter)
        const { event, pointer } = yield* cm.getCmEvent(channel)
        assert.deepStrictEqual(event, { event: "addrResolved", status: 0, id })
        yield* cm.ackCmEvent(pointer)
        yield* assertRefused(cm.resolveAddr(id, undefined, hostB, 2000), "rdma_resolve_addr", "EINVAL")
      }).pipe(Effect.provide(Fabric.layer)))

    it.effect("own, loopback, IPv6 and given source addresses resolve too", () =>
      Effect.gen(function*() {
        const { channel, cm } = yield* prepare
        const pairs = [
          [undefined, to("10.0.0.1:1")],
          [undefined, to("127.0.0.1:1")],
          [undefined, linkLocal("fe80::5054:ff:fe0a:2", 3)],
          [undefined, to("[::1]:1")],
          [to("0.0.0.0:0"), hostB],
          [to("10.0.0.1:0"), hostB]
        ] as const
        for (const [source, destination] of pairs) {
          const id = yield* cm.createId(channel, "udp")
          yield* cm.resolveAddr(id, source, destination, 2000)
          yield* TestClock.adjust(1)
          assert.strictEqual((yield* cm.getCmEvent(channel)).event.event, "addrResolved")
        }
      }).pipe(Effect.provide(Fabric.layer)))

    it.effect("an address on the link that nobody has: ADDR_ERROR with -ETIMEDOUT after the timeout; then again", () =>
      Effect.gen(function*() {
        const { channel, cm, id } = yield* prepare
        yield* cm.resolveAddr(id, undefined, nobody, 1500)
        yield* assertRefused(cm.resolveAddr(id, undefined, nobody, 1500), "rdma_resolve_addr", "EINVAL")
        yield* TestClock.adjust(1499)
        yield* assertRefused(cm.getCmEvent(channel), "rdma_get_cm_event", "EAGAIN")
        yield* TestClock.adjust(1)
        const { event } = yield* cm.getCmEvent(channel)
        assert.deepStrictEqual(event, { event: "addrError", status: -Errno.numberOf("ETIMEDOUT"), id })
        yield* cm.resolveAddr(id, undefined, hostB, 1500)
      }).pipe(Effect.provide(Fabric.layer)))

    it.effect("a negative timeout is the largest one, as the kernel reads it", () =>
      Effect.gen(function*() {
        const { channel, cm, id } = yield* prepare
        yield* cm.resolveAddr(id, undefined, nobody, -1)
        yield* TestClock.adjust("49 days")
        yield* assertRefused(cm.getCmEvent(channel), "rdma_get_cm_event", "EAGAIN")
        yield* TestClock.adjust("1 day")
        assert.strictEqual((yield* cm.getCmEvent(channel)).event.event, "addrError")
      }).pipe(Effect.provide(Fabric.layer)))

    const errors: ReadonlyArray<
      readonly [
        string,
        PortSpace.PortSpace,
        NetAddress.InetAddress | undefined,
        NetAddress.InetAddress,
        Errno.ErrnoName
      ]
    > = [
      ["a link-local address without its link", "tcp", undefined, linkLocal("fe80::5054:ff:fe0a:2", 0), "ENODEV"],
      ["loopback as the source", "tcp", to("127.0.0.1:0"), hostB, "ENODEV"],
      ["IPoIB over Ethernet", "ipoib", undefined, hostB, "EINVAL"]
    ]
    it.effect.each(errors)(
      "%s: ADDR_ERROR at once",
      ([, portSpace, source, destination, errno]) =>
        Effect.gen(function*() {
          const { channel, cm } = yield* prepare
          const id = yield* cm.createId(channel, portSpace)
          yield* cm.resolveAddr(id, source, destination, 1000)
          yield* TestClock.adjust(1)
          const { event } = yield* cm.getCmEvent(channel)
          assert.deepStrictEqual(event, { event: "addrError", status: -Errno.numberOf(errno), id })
        }).pipe(Effect.provide(Fabric.layer))
    )

    it.effect("no route: ENETUNREACH; a source of somebody else: EADDRNOTAVAIL; mixed families: EINVAL", () =>
      Effect.gen(function*() {
        const { cm, id } = yield* prepare
        const call = "rdma_resolve_addr"
        yield* assertRefused(cm.resolveAddr(id, undefined, to("192.0.2.1:1"), 1000), call, "ENETUNREACH")
        yield* assertRefused(cm.resolveAddr(id, undefined, to("[::ffff:10.0.0.2]:1"), 1000), call, "ENETUNREACH")
        yield* assertRefused(cm.resolveAddr(id, to("10.0.0.77:0"), hostB, 1000), call, "EADDRNOTAVAIL")
        yield* assertRefused(cm.resolveAddr(id, to("[::1]:0"), hostB, 1000), call, "EINVAL")
      }).pipe(Effect.provide(Fabric.layer)))
  })

  describe("events and ids", () => {
    it.effect("a destroyed id gets no events", () =>
      Effect.gen(function*() {
        const { channel, cm, id } = yield* prepare
        const other = yield* cm.createId(channel, "tcp")
        yield* cm.resolveAddr(id, undefined, hostB, 2000)
        yield* cm.resolveAddr(other, undefined, hostB, 2000)
        yield* cm.destroyId(id)
        yield* TestClock.adjust(1)
        yield* cm.destroyId(other)
        yield* assertRefused(cm.getCmEvent(channel), "rdma_get_cm_event", "EAGAIN")
        yield* cm.destroyEventChannel(channel)
        assert.deepStrictEqual(yield* kinds, [])
      }).pipe(Effect.provide(Fabric.layer)))

    it.effect("destroying an id whose event is not acked would hang", () =>
      Effect.gen(function*() {
        const { channel, cm, id } = yield* prepare
        yield* cm.resolveAddr(id, undefined, hostB, 2000)
        yield* TestClock.adjust(1)
        const { pointer } = yield* cm.getCmEvent(channel)
        yield* assertMisuse(cm.destroyId(id), "rdma_destroy_id", /would hang: 1 event/)
        yield* cm.ackCmEvent(pointer)
        yield* assertMisuse(cm.ackCmEvent(pointer), "rdma_ack_cm_event", /was a CmEvent until rdma_ack_cm_event/)
        yield* cm.destroyId(id)
        yield* assertMisuse(cm.destroyId(id), "rdma_destroy_id", /was a CmId until rdma_destroy_id/)
      }).pipe(Effect.provide(Fabric.layer)))

    it.effect("a channel with an id on it must not be destroyed", () =>
      Effect.gen(function*() {
        const { channel, cm, id } = yield* prepare
        yield* assertMisuse(cm.destroyEventChannel(channel), "rdma_destroy_event_channel", /1 id\(s\) are still on/)
        yield* cm.destroyId(id)
        yield* cm.destroyEventChannel(channel)
        yield* assertMisuse(cm.getCmEvent(channel), "rdma_get_cm_event", /was a EventChannel until/)
      }).pipe(Effect.provide(Fabric.layer)))

    it.effect("waiting goes on after the last event was taken, or went with its id", () =>
      Effect.gen(function*() {
        const { channel, cm, id } = yield* prepare
        const waits = Effect.gen(function*() {
          const waiter = yield* Effect.forkChild(cm.awaitCmEvent(channel), { startImmediately: true })
          assert.isUndefined(waiter.pollUnsafe())
          yield* Fiber.interrupt(waiter)
        })
        yield* cm.resolveAddr(id, undefined, hostB, 2000)
        yield* TestClock.adjust(1)
        yield* cm.ackCmEvent((yield* cm.getCmEvent(channel)).pointer)
        yield* waits
        const other = yield* cm.createId(channel, "tcp")
        yield* cm.resolveAddr(other, undefined, hostB, 2000)
        yield* TestClock.adjust(1)
        yield* cm.destroyId(other)
        yield* waits
      }).pipe(Effect.provide(Fabric.layer)))

    it.effect("waiting for an event can be interrupted, and waits no more when one is there", () =>
      Effect.gen(function*() {
        const { channel, cm, id } = yield* prepare
        const waiter = yield* Effect.forkChild(cm.awaitCmEvent(channel), { startImmediately: true })
        yield* Fiber.interrupt(waiter)
        yield* cm.resolveAddr(id, undefined, hostB, 2000)
        yield* TestClock.adjust(1)
        yield* cm.awaitCmEvent(channel)
        yield* cm.awaitCmEvent(channel)
      }).pipe(Effect.provide(Fabric.layer)))

    it.effect("the scoped modules resolve an address and leave nothing", () =>
      Effect.gen(function*() {
        yield* Effect.scoped(Effect.gen(function*() {
          const channel = yield* EventChannel.make()
          yield* CmId.make(channel, "tcp")
        }))
        assert.deepStrictEqual(yield* kinds, [])
      }).pipe(Effect.provide(Fabric.layer)))
  })

  describe("devices", () => {
    it.effect("contexts are the same each time, outlive the array, and are not ours to close", () =>
      Effect.gen(function*() {
        const cm = yield* RdmaCm
        const verbs = yield* Verbs
        const first = yield* cm.getDevices
        assert(first.list !== undefined)
        yield* cm.freeDevices(first.list)
        const second = yield* cm.getDevices
        assert.deepStrictEqual(second.contexts, first.contexts)
        const [context] = second.contexts
        assert(context !== undefined && second.list !== undefined)
        yield* cm.freeDevices(second.list)
        yield* verbs.deallocPd(yield* verbs.allocPd(context))
        yield* assertMisuse(verbs.closeDevice(context), "ibv_close_device", /belongs to librdmacm/)
        yield* assertMisuse(cm.freeDevices(second.list), "rdma_free_devices", /was a RdmaDevices until/)
        assert.deepStrictEqual(yield* kinds, [])
      }).pipe(Effect.provide(Fabric.layer)))

    it.effect("the scoped module borrows them", () =>
      Effect.gen(function*() {
        yield* Effect.scoped(Effect.gen(function*() {
          const contexts = yield* RdmaDevices.get()
          assert.deepStrictEqual(contexts.map(({ name }) => name), ["rxe0", "mlx5_0"])
          yield* Effect.forEach(contexts, ProtectionDomain.alloc)
          assert.deepStrictEqual(yield* kinds, ["ProtectionDomain", "ProtectionDomain"])
        }))
        assert.deepStrictEqual(yield* kinds, [])
      }).pipe(Effect.provide(Fabric.layer)))

    it.effect("without RDMA in the kernel: ENODEV, RdmaUnavailable", () =>
      Effect.gen(function*() {
        const cm = yield* RdmaCm
        const errors = [yield* Effect.flip(cm.getDevices), yield* Effect.flip(cm.createEventChannel)]
        for (const { reason } of errors) {
          assert.strictEqual(reason._tag, "RdmaUnavailable")
          assert.strictEqual(reason.errno, Errno.numberOf("ENODEV"))
        }
      }).pipe(Effect.provide(Fabric.layerFrom({ hosts: [{ name: "bare", rdma: false }] }))))

    it.effect("without devices: no array, and ENODEV for a channel", () =>
      Effect.gen(function*() {
        const cm = yield* RdmaCm
        assert.deepStrictEqual(yield* cm.getDevices, { list: undefined, contexts: [] })
        const error = yield* Effect.flip(cm.createEventChannel)
        assert.strictEqual(error.reason._tag, "ENODEV")
      }).pipe(Effect.provide(Fabric.layerFrom({ hosts: [{ name: "empty" }] }))))
  })
})
