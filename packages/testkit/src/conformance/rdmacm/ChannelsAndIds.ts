/**
 * Conformance of the devices of librdmacm, event channels, ids and raw events.
 *
 * @since 0.1.0
 */
import * as Pointer from "@effect-rdma/core/Pointer"
import * as Resource from "@effect-rdma/core/Resource"
import type * as CmEvent from "@effect-rdma/rdmacm/CmEvent"
import * as CmId from "@effect-rdma/rdmacm/CmId"
import * as EventChannel from "@effect-rdma/rdmacm/EventChannel"
import type * as PortSpace from "@effect-rdma/rdmacm/PortSpace"
import type * as RdmaCm from "@effect-rdma/rdmacm/RdmaCm"
import * as RdmaDevices from "@effect-rdma/rdmacm/RdmaDevices"
import * as DeviceContext from "@effect-rdma/verbs/DeviceContext"
import * as Port from "@effect-rdma/verbs/Port"
import * as ProtectionDomain from "@effect-rdma/verbs/ProtectionDomain"
import type * as Verbs from "@effect-rdma/verbs/Verbs"
import { assert } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as NetAddress from "effect/net/NetAddress"
import * as Scope from "effect/Scope"
import { assertPath, assertReason, namesOf, recorded, timesCalled, usesDeadHandle } from "../../internal/conformance.ts"
import * as LeakCheck from "../../LeakCheck.ts"
import * as Lane from "../Lane.ts"
import type * as RdmaCmLane from "../RdmaCmLane.ts"

/**
 * Registers the suite on a lane.
 *
 * @category constructors
 * @since 0.1.0
 */
export const suite = <Others = never>(lane: RdmaCmLane.RdmaCmLane<Others>): void => {
  const it = Lane.test<RdmaCm.RdmaCm | Verbs.Verbs | Others>(lane)
  const peer = NetAddress.inetAddressFromIpStringUnsafe(lane.peerAddress, 4791)
  const silent = NetAddress.inetAddressFromIpStringUnsafe(lane.silentAddress, 4791)
  const own = NetAddress.inetAddressFromIpStringUnsafe(lane.ownAddress, 4791)
  const idOnOwnChannel = Effect.flatMap(EventChannel.make(), (channel) => CmId.make(channel, "tcp"))

  const resolve = (
    id: CmId.CmId,
    destination: NetAddress.InetAddress = peer,
    options: { readonly source?: NetAddress.InetAddress; readonly timeoutMillis?: number } = {}
  ) => id.channel.cm.resolveAddr(Resource.raw(id), options.source, destination, options.timeoutMillis ?? 2000)

  // ---------------------------------------------------------------------------
  // Devices
  // ---------------------------------------------------------------------------

  it("the devices of librdmacm are verbs contexts under the names of the devices", () =>
    Effect.gen(function*() {
      const contexts = yield* RdmaDevices.get()
      assert.include(contexts.map(({ name }) => name), lane.device)
      assert.strictEqual(new Set(contexts.map(Resource.raw)).size, contexts.length)
    }))

  it("the contexts of librdmacm are never closed by us, and the array is freed at once", () =>
    recorded(function*(calls) {
      yield* Effect.scoped(RdmaDevices.get())
      const names = namesOf(yield* calls).filter((name) => name !== "ibv_get_device_name")
      assert.deepStrictEqual(names, ["rdma_get_devices", "rdma_free_devices"])
    }))

  it("the devices can be got again and again, and are the same contexts", () =>
    Effect.gen(function*() {
      const pointers = Effect.scoped(Effect.map(RdmaDevices.get(), (contexts) => contexts.map(Resource.raw)))
      const first = yield* pointers
      const live = yield* RdmaDevices.get()
      assert.deepStrictEqual(live.map(Resource.raw), first)
      for (let round = 0; round < 20; round++) assert.deepStrictEqual(yield* pointers, first)
    }))

  it("a borrowed context can be queried like one that was opened", () =>
    Effect.gen(function*() {
      const borrowed = yield* contextOf(lane.device)
      const opened = yield* DeviceContext.openByName(lane.device)
      assert.deepStrictEqual(yield* DeviceContext.query(borrowed), yield* DeviceContext.query(opened))
      assert.deepStrictEqual(yield* Port.query(borrowed, lane.port), yield* Port.query(opened, lane.port))
      assert.notStrictEqual(Resource.raw(borrowed), Resource.raw(opened))
    }))

  it("what is made on a borrowed context is released with it, and the context lives on", () =>
    recorded(function*(calls) {
      yield* Effect.scoped(Effect.flatMap(contextOf(lane.device), ProtectionDomain.alloc))
      assert.strictEqual(timesCalled(yield* calls, "ibv_dealloc_pd"), 1)
      assert.strictEqual(timesCalled(yield* calls, "ibv_close_device"), 0)
      yield* LeakCheck.assertNothingAlive
      yield* Effect.flatMap(contextOf(lane.device), ProtectionDomain.alloc)
    }))

  it("a borrowed context cannot be used after its scope, though librdmacm keeps it open", () =>
    recorded(function*(calls) {
      const context = yield* Effect.scoped(contextOf(lane.device))
      const before = (yield* calls).length
      yield* usesDeadHandle(DeviceContext.query(context))
      yield* usesDeadHandle(ProtectionDomain.alloc(context))
      assert.strictEqual((yield* calls).length, before)
    }))

  it("a protection domain in an outer scope goes with the borrowed context in an inner one", () =>
    Effect.gen(function*() {
      const outer = yield* Effect.scope
      const domain = yield* Effect.scoped(
        Effect.flatMap(contextOf(lane.device), (context) => Scope.provide(ProtectionDomain.alloc(context), outer))
      )
      assert.isFalse(Resource.isLive(domain))
      yield* LeakCheck.assertNothingAlive
    }))

  // ---------------------------------------------------------------------------
  // Channels and ids
  // ---------------------------------------------------------------------------

  it("an event channel is destroyed with its scope", () =>
    recorded(function*(calls) {
      yield* Effect.scoped(EventChannel.make())
      assert.deepStrictEqual(namesOf(yield* calls), ["rdma_create_event_channel", "rdma_destroy_event_channel"])
    }))

  it("a hundred event channels live at once, each its own", () =>
    Effect.gen(function*() {
      const channels = yield* Effect.all(Array.from({ length: 100 }, () => EventChannel.make()))
      assert.strictEqual(new Set(channels.map(Resource.raw)).size, 100)
    }))

  const portSpaces: ReadonlyArray<PortSpace.PortSpace> = ["tcp", "udp", "ipoib", "ib"]
  for (const portSpace of portSpaces) {
    it(`an id of the port space ${portSpace} is destroyed before its channel`, () =>
      recorded(function*(calls) {
        yield* Effect.scoped(Effect.gen(function*() {
          const channel = yield* EventChannel.make()
          const id = yield* CmId.make(channel, portSpace)
          assert.strictEqual(id.portSpace, portSpace)
          assert.strictEqual(id.channel, channel)
          assert.isFalse(Pointer.isNull(Resource.raw(id)))
        }))
        assert.deepStrictEqual(namesOf(yield* calls), [
          "rdma_create_event_channel",
          "rdma_create_id",
          "rdma_destroy_id",
          "rdma_destroy_event_channel"
        ])
      }))
  }

  it("an unknown port space is a SchemaError, and the library is not called", () =>
    recorded(function*(calls) {
      const channel = yield* EventChannel.make()
      const before = (yield* calls).length
      const wrong: unknown = "sctp"
      // A caller without types.
      assertPath(yield* Effect.flip(CmId.make(channel, wrong as PortSpace.PortSpace)), [])
      assert.strictEqual((yield* calls).length, before)
    }))

  it("an id in an outer scope goes with its channel in an inner one, before it", () =>
    recorded(function*(calls) {
      const outer = yield* Effect.scope
      const id = yield* Effect.scoped(
        Effect.flatMap(EventChannel.make(), (channel) => Scope.provide(CmId.make(channel, "tcp"), outer))
      )
      assert.isFalse(Resource.isLive(id))
      assert.deepStrictEqual(namesOf(yield* calls).slice(-2), ["rdma_destroy_id", "rdma_destroy_event_channel"])
    }))

  it("an id that was destroyed early is not destroyed again with its channel", () =>
    recorded(function*(calls) {
      yield* Effect.scoped(Effect.gen(function*() {
        const channel = yield* EventChannel.make()
        yield* Effect.scoped(CmId.make(channel, "tcp"))
        assert.strictEqual(timesCalled(yield* calls, "rdma_destroy_id"), 1)
      }))
      assert.strictEqual(timesCalled(yield* calls, "rdma_destroy_id"), 1)
    }))

  it("a destroyed channel takes no more ids, and the library is not called", () =>
    recorded(function*(calls) {
      const channel = yield* Effect.scoped(EventChannel.make())
      const before = (yield* calls).length
      assert.include((yield* usesDeadHandle(CmId.make(channel, "tcp"))).message, "EventChannel#")
      yield* usesDeadHandle(EventChannel.next(channel))
      assert.strictEqual((yield* calls).length, before)
    }))

  it("a hundred ids live at once on one channel, each its own", () =>
    Effect.gen(function*() {
      const channel = yield* EventChannel.make()
      const ids = yield* Effect.all(Array.from({ length: 100 }, () => CmId.make(channel, "tcp")))
      assert.strictEqual(new Set(ids.map(Resource.raw)).size, 100)
    }))

  it("ids are made and destroyed by thirty fibers at once", () =>
    recorded(function*(calls) {
      const channel = yield* EventChannel.make()
      yield* Effect.all(
        Array.from({ length: 30 }, () => Effect.scoped(Effect.andThen(CmId.make(channel, "udp"), Effect.yieldNow))),
        { concurrency: "unbounded", discard: true }
      )
      assert.strictEqual(timesCalled(yield* calls, "rdma_create_id"), 30)
      assert.strictEqual(timesCalled(yield* calls, "rdma_destroy_id"), 30)
    }))

  it("a failure in the middle destroys ids and channel and stays the failure", () =>
    recorded(function*(calls) {
      const error = yield* Effect.flip(Effect.scoped(Effect.andThen(idOnOwnChannel, Effect.fail("the reason"))))
      assert.strictEqual(error, "the reason")
      assert.deepStrictEqual(namesOf(yield* calls).slice(-2), ["rdma_destroy_id", "rdma_destroy_event_channel"])
      yield* LeakCheck.assertNothingAlive
    }))

  // ---------------------------------------------------------------------------
  // Events
  // ---------------------------------------------------------------------------

  it("a resolved address is an event of the id that asked, acked when it is read", () =>
    recorded(function*(calls) {
      const id = yield* idOnOwnChannel
      yield* resolve(id)
      const event = yield* EventChannel.next(id.channel)
      assert.deepStrictEqual(event, { event: "addrResolved", status: 0, id: Resource.raw(id) })
      const acked = (yield* calls).filter(({ call }) => call === "rdma_ack_cm_event")
      assert.strictEqual(acked.length, 1)
    }))

  it("an own address resolves too, from an own source", () =>
    Effect.gen(function*() {
      const id = yield* idOnOwnChannel
      yield* resolve(id, peer, { source: NetAddress.inetAddressFromIpStringUnsafe(lane.ownAddress, 0) })
      assert.strictEqual((yield* EventChannel.next(id.channel)).event, "addrResolved")
      const other = yield* CmId.make(id.channel, "udp")
      yield* resolve(other, own)
      assert.deepStrictEqual(yield* EventChannel.next(id.channel), {
        event: "addrResolved",
        status: 0,
        id: Resource.raw(other)
      })
    }))

  it("each of ten ids on one channel gets its own event", () =>
    Effect.gen(function*() {
      const channel = yield* EventChannel.make()
      const ids = yield* Effect.all(Array.from({ length: 10 }, () => CmId.make(channel, "tcp")))
      yield* Effect.forEach(ids, (id) => resolve(id))
      const events: Array<CmEvent.CmEvent> = []
      while (events.length < ids.length) events.push(yield* EventChannel.next(channel))
      assert.deepStrictEqual([...new Set(events.map(({ event }) => event))], ["addrResolved"])
      assert.deepStrictEqual(new Set(events.map(({ id }) => id)), new Set(ids.map(Resource.raw)))
    }))

  it("an address that nobody answers for is the event addrError with a negative errno", () =>
    Effect.gen(function*() {
      const id = yield* idOnOwnChannel
      yield* resolve(id, silent, { timeoutMillis: 200 })
      const { event, status } = yield* EventChannel.next(id.channel)
      assert.strictEqual(event, "addrError")
      assert.strictEqual(status, -110)
    }))

  it("an id that has resolved an address refuses another resolution: EINVAL", () =>
    Effect.gen(function*() {
      const id = yield* idOnOwnChannel
      yield* resolve(id)
      yield* EventChannel.next(id.channel)
      assertReason(yield* Effect.flip(resolve(id)), "rdma_resolve_addr", "EINVAL")
    }))

  it("a source address that the host does not have is EADDRNOTAVAIL", () =>
    Effect.gen(function*() {
      const id = yield* idOnOwnChannel
      const error = yield* Effect.flip(resolve(id, peer, { source: silent }))
      assertReason(error, "rdma_resolve_addr", "EADDRNOTAVAIL")
    }))

  it("a destination without a route is ENETUNREACH", () =>
    Effect.gen(function*() {
      const id = yield* idOnOwnChannel
      const nowhere = NetAddress.inetAddressFromIpStringUnsafe("192.0.2.1", 4791)
      assertReason(yield* Effect.flip(resolve(id, nowhere)), "rdma_resolve_addr", "ENETUNREACH")
    }))

  it("waiting for an event can be interrupted, and a later wait gets the event", () =>
    recorded(function*(calls) {
      const id = yield* idOnOwnChannel
      const waiting = yield* Effect.forkChild(EventChannel.next(id.channel), { startImmediately: true })
      yield* Effect.sleep("10 millis")
      assert.strictEqual(timesCalled(yield* calls, "poll"), 1)
      yield* Fiber.interrupt(waiting)
      assert.isTrue(Exit.hasInterrupts(yield* Fiber.await(waiting)))
      assert.isTrue(Resource.isLive(id))
      yield* resolve(id)
      assert.strictEqual((yield* EventChannel.next(id.channel)).event, "addrResolved")
    }))

  it("waiting for an event can be limited in time", () =>
    Effect.gen(function*() {
      const id = yield* idOnOwnChannel
      const error = yield* Effect.flip(EventChannel.next(id.channel).pipe(Effect.timeout("20 millis")))
      assert.strictEqual(error._tag, "TimeoutError")
    }))

  it("an event that arrives while a fiber waits wakes it", () =>
    Effect.gen(function*() {
      const id = yield* idOnOwnChannel
      const waiting = yield* Effect.forkChild(EventChannel.next(id.channel), { startImmediately: true })
      yield* Effect.sleep("10 millis")
      yield* resolve(id)
      assert.strictEqual((yield* Fiber.join(waiting)).id, Resource.raw(id))
    }))

  it("two fibers that wait on one channel get one event each", () =>
    Effect.gen(function*() {
      const channel = yield* EventChannel.make()
      const ids = yield* Effect.all([CmId.make(channel, "tcp"), CmId.make(channel, "tcp")])
      const waiting = yield* Effect.forkChild(
        Effect.all([EventChannel.next(channel), EventChannel.next(channel)], { concurrency: "unbounded" }),
        { startImmediately: true }
      )
      yield* Effect.forEach(ids, (id) => resolve(id))
      const events = yield* Fiber.join(waiting)
      assert.deepStrictEqual(new Set(events.map(({ id }) => id)), new Set(ids.map(Resource.raw)))
    }))

  it("an id with an event that nobody read is destroyed at once", () =>
    recorded(function*(calls) {
      const channel = yield* EventChannel.make()
      yield* Effect.scoped(Effect.gen(function*() {
        const id = yield* CmId.make(channel, "tcp")
        yield* resolve(id)
        yield* channel.cm.awaitCmEvent(Resource.raw(channel))
      }))
      assert.strictEqual(timesCalled(yield* calls, "rdma_destroy_id"), 1)
      const error = yield* Effect.flip(EventChannel.next(channel).pipe(Effect.timeout("20 millis")))
      assert.strictEqual(error._tag, "TimeoutError", "the event went with its id")
    }))

  it("an id is destroyed in the middle of a resolution, and no event of it arrives", () =>
    Effect.gen(function*() {
      const channel = yield* EventChannel.make()
      yield* Effect.scoped(Effect.flatMap(CmId.make(channel, "tcp"), (id) => resolve(id, silent)))
      const error = yield* Effect.flip(EventChannel.next(channel).pipe(Effect.timeout("50 millis")))
      assert.strictEqual(error._tag, "TimeoutError")
    }))

  it("a fiber that waits on a channel dies when the channel is destroyed, and nothing is left", () =>
    recorded(function*(calls) {
      const scope = yield* Scope.make()
      const channel = yield* EventChannel.make().pipe(Scope.provide(scope))
      yield* CmId.make(channel, "tcp").pipe(Scope.provide(scope))
      const waiting = yield* Effect.forkDetach(EventChannel.next(channel), { startImmediately: true })
      yield* Effect.sleep("10 millis")
      yield* Scope.close(scope, Exit.void)
      const exit = yield* Fiber.await(waiting)
      assert.isTrue(Exit.isFailure(exit) && Cause.squash(exit.cause) instanceof Resource.UseAfterRelease)
      assert.deepStrictEqual(namesOf(yield* calls).slice(-2), ["rdma_destroy_id", "rdma_destroy_event_channel"])
      yield* LeakCheck.assertNothingAlive
    }))

  it("the loser of a race for an event leaves nothing behind", () =>
    Effect.gen(function*() {
      const waits = Effect.scoped(Effect.flatMap(idOnOwnChannel, (id) => EventChannel.next(id.channel)))
      const resolves = Effect.scoped(Effect.gen(function*() {
        const id = yield* idOnOwnChannel
        yield* resolve(id)
        return yield* EventChannel.next(id.channel)
      }))
      assert.strictEqual((yield* Effect.race(waits, resolves)).event, "addrResolved")
      yield* LeakCheck.assertNothingAlive
    }))

  it("an errno of librdmacm that is caught by its name is handled", () =>
    Effect.gen(function*() {
      const id = yield* idOnOwnChannel
      const caught = yield* resolve(id, peer, { source: silent }).pipe(
        Effect.as("resolved"),
        Effect.catchReason("RdmaCmError", "EADDRNOTAVAIL", ({ errno }) => Effect.succeed(errno))
      )
      assert.strictEqual(caught, 99)
    }))
}

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

const contextOf = (name: string) =>
  Effect.map(RdmaDevices.get(), (contexts) => {
    const context = contexts.find((context) => context.name === name)
    return context ?? assert.fail(`librdmacm has no ${name} among ${contexts.map(({ name }) => name).join(", ")}`)
  })
