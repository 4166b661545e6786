/**
 * Conformance of binding an id and of resolving addresses and routes.
 *
 * @since 0.1.0
 */
import * as Resource from "@effect-rdma/core/Resource"
import * as CmId from "@effect-rdma/rdmacm/CmId"
import * as EventChannel from "@effect-rdma/rdmacm/EventChannel"
import * as DeviceContext from "@effect-rdma/verbs/DeviceContext"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import {
  assertInterruptible,
  assertPath,
  assertReason,
  recorded,
  timesCalled,
  usesDeadHandle
} from "../../internal/conformance.ts"
import { portOf, rdmaCmSuite } from "../../internal/conformanceRdmaCm.ts"
import type * as RdmaCmLane from "../RdmaCmLane.ts"

/**
 * Registers the suite on a lane.
 *
 * @category constructors
 * @since 0.1.0
 */
export const suite = <Others = never>(lane: RdmaCmLane.RdmaCmLane<Others>): void => {
  const { at, idOnOwnChannel, it, routed } = rdmaCmSuite(lane)
  const destination = `${lane.peerAddress}:4791`
  const silent = `${lane.silentAddress}:4791`

  // ---------------------------------------------------------------------------
  // Binding
  // ---------------------------------------------------------------------------

  it("an id that is bound to an own address has its device, and a free port for port 0", () =>
    Effect.gen(function*() {
      const id = yield* idOnOwnChannel
      assert.deepInclude(yield* CmId.state(id), { verbs: undefined, localAddress: undefined, portSpace: "tcp" })
      yield* CmId.bind(id, at(0))
      const { localAddress, peerAddress, portNum, verbs } = yield* CmId.state(id)
      assert.isDefined(verbs)
      assert.strictEqual(portNum, lane.port)
      assert.isUndefined(peerAddress)
      assert.match(String(localAddress), new RegExp(`^${lane.ownAddress}:[1-9]\\d*$`))
      assert.strictEqual((yield* CmId.context(id)).name, lane.device)
    }))

  it("an id that is bound to the wildcard address has a port and no device", () =>
    Effect.gen(function*() {
      const id = yield* idOnOwnChannel
      yield* CmId.bind(id, "0.0.0.0:0")
      assert.isUndefined((yield* CmId.state(id)).verbs)
      assert.isAbove(yield* portOf(id), 0)
      assertReason(yield* Effect.flip(CmId.context(id)), "rdma_cm_id.verbs", "EINVAL")
    }))

  it("an id cannot be bound twice: EINVAL", () =>
    Effect.gen(function*() {
      const id = yield* idOnOwnChannel
      yield* CmId.bind(id, at(0))
      assertReason(yield* Effect.flip(CmId.bind(id, at(0))), "rdma_bind_addr", "EINVAL")
    }))

  it("an address of somebody else is EADDRNOTAVAIL", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(CmId.bind(yield* idOnOwnChannel, silent))
      assertReason(error, "rdma_bind_addr", "EADDRNOTAVAIL")
      assert.include(error.message, silent)
    }))

  it("an address of somebody else is ENODEV for an id that was refused one of this host", () =>
    Effect.gen(function*() {
      const channel = yield* EventChannel.make()
      const first = yield* CmId.make(channel, "tcp")
      yield* CmId.bind(first, at(0))
      const second = yield* CmId.make(channel, "tcp")
      assertReason(yield* Effect.flip(CmId.bind(second, at(yield* portOf(first)))), "rdma_bind_addr", "EADDRINUSE")
      assertReason(yield* Effect.flip(CmId.bind(second, silent)), "rdma_bind_addr", "ENODEV")
      yield* CmId.bind(second, at(0))
    }))

  it("an address and port that another id has is EADDRINUSE, until that one is gone", () =>
    Effect.gen(function*() {
      const channel = yield* EventChannel.make()
      const port = yield* Effect.scoped(Effect.gen(function*() {
        const first = yield* CmId.make(channel, "tcp")
        yield* CmId.bind(first, at(0))
        const port = yield* portOf(first)
        const error = yield* Effect.flip(CmId.bind(yield* CmId.make(channel, "tcp"), at(port)))
        assertReason(error, "rdma_bind_addr", "EADDRINUSE")
        return port
      }))
      yield* CmId.bind(yield* CmId.make(channel, "tcp"), at(port))
    }))

  it("the wildcard and an address do not share a port: EADDRNOTAVAIL", () =>
    Effect.gen(function*() {
      const channel = yield* EventChannel.make()
      const address = yield* CmId.make(channel, "tcp")
      yield* CmId.bind(address, at(0))
      const port = yield* portOf(address)
      for (const wildcard of [`0.0.0.0:${port}`, `[::]:${port}`]) {
        const error = yield* Effect.flip(CmId.bind(yield* CmId.make(channel, "tcp"), wildcard))
        assertReason(error, "rdma_bind_addr", "EADDRNOTAVAIL")
      }
    }))

  it("loopback can be bound to, and is on no device", () =>
    Effect.gen(function*() {
      const id = yield* idOnOwnChannel
      yield* CmId.bind(id, "127.0.0.1:0")
      assert.isUndefined((yield* CmId.state(id)).verbs)
    }))

  it("a link-local address without its link is EINVAL, a mapped address EADDRNOTAVAIL", () =>
    Effect.gen(function*() {
      const id = yield* idOnOwnChannel
      assertReason(yield* Effect.flip(CmId.bind(id, "[fe80::1]:0")), "rdma_bind_addr", "EINVAL")
      const mapped = `[::ffff:${lane.ownAddress}]:0`
      assertReason(yield* Effect.flip(CmId.bind(id, mapped)), "rdma_bind_addr", "EADDRNOTAVAIL")
    }))

  it("the same port in two port spaces is two ports", () =>
    Effect.gen(function*() {
      const channel = yield* EventChannel.make()
      const connection = yield* CmId.make(channel, "tcp")
      yield* CmId.bind(connection, at(0))
      yield* CmId.bind(yield* CmId.make(channel, "udp"), at(yield* portOf(connection)))
    }))

  it("ids that all reuse their address share a port, and one of them listens when it is alone: EADDRINUSE", () =>
    Effect.gen(function*() {
      const channel = yield* EventChannel.make()
      const sharing = Effect.tap(
        CmId.make(channel, "tcp"),
        (id) => CmId.setOption(id, { _tag: "ReuseAddress", value: true })
      )
      const first = yield* sharing
      yield* CmId.bind(first, at(0))
      yield* Effect.scoped(Effect.gen(function*() {
        yield* CmId.bind(yield* sharing, at(yield* portOf(first)))
        assertReason(yield* Effect.flip(CmId.listen(first)), "rdma_listen", "EADDRINUSE")
      }))
      yield* CmId.listen(first)
      assertReason(
        yield* Effect.flip(CmId.bind(yield* sharing, at(yield* portOf(first)))),
        "rdma_bind_addr",
        "EADDRINUSE"
      )
    }))

  it("text that is no address is a SchemaError, and the library is not called", () =>
    recorded(function*(calls) {
      const id = yield* idOnOwnChannel
      for (const address of ["", "10.0.0.1", "10.0.0.1:70000", "somewhere:1"]) {
        assertPath(yield* Effect.flip(CmId.bind(id, address)), [])
      }
      assertPath(yield* Effect.flip(CmId.resolveAddress(id, { destination: "nowhere" })), ["destination"])
      assert.strictEqual(timesCalled(yield* calls, "rdma_bind_addr"), 0)
      assert.strictEqual(timesCalled(yield* calls, "rdma_resolve_addr"), 0)
    }))

  // ---------------------------------------------------------------------------
  // Resolving
  // ---------------------------------------------------------------------------

  it("a resolved id has its device and both addresses", () =>
    Effect.gen(function*() {
      const id = yield* idOnOwnChannel
      yield* CmId.resolveAddress(id, { destination })
      const { localAddress, numPaths, peerAddress, verbs } = yield* CmId.state(id)
      assert.isDefined(verbs)
      assert.strictEqual(numPaths, 0)
      assert.match(String(localAddress), new RegExp(`^${lane.ownAddress}:`))
      assert.strictEqual(String(peerAddress), destination)
    }))

  it("an own source is taken, and a free port of it", () =>
    Effect.gen(function*() {
      const id = yield* idOnOwnChannel
      yield* CmId.resolveAddress(id, { destination, source: at(0) })
      assert.isAbove(yield* portOf(id), 0)
    }))

  it("a bound id resolves from where it is bound", () =>
    Effect.gen(function*() {
      const id = yield* idOnOwnChannel
      yield* CmId.bind(id, at(0))
      const port = yield* portOf(id)
      yield* CmId.resolveAddress(id, { destination })
      assert.strictEqual(yield* portOf(id), port)
    }))

  it("an address that nobody answers for is ETIMEDOUT, and the id may try another", () =>
    Effect.gen(function*() {
      const id = yield* idOnOwnChannel
      const error = yield* Effect.flip(CmId.resolveAddress(id, { destination: silent, timeout: "200 millis" }))
      assertReason(error, "rdma_resolve_addr", "ETIMEDOUT")
      assert.include(error.message, silent)
      yield* CmId.resolveAddress(id, { destination })
    }))

  it("an id that found nobody is bound: it may listen, and not bind again: EINVAL", () =>
    Effect.gen(function*() {
      const id = yield* idOnOwnChannel
      yield* Effect.flip(CmId.resolveAddress(id, { destination: silent, timeout: "100 millis" }))
      assertReason(yield* Effect.flip(CmId.bind(id, at(0))), "rdma_bind_addr", "EINVAL")
      yield* CmId.listen(id)
    }))

  it("a source of somebody else, a network without a route and a second resolution are refused", () =>
    Effect.gen(function*() {
      const id = yield* idOnOwnChannel
      const call = "rdma_resolve_addr"
      const refused = (options: CmId.ResolveOptions) => Effect.flip(CmId.resolveAddress(id, options))
      assertReason(yield* refused({ destination, source: silent }), call, "EADDRNOTAVAIL")
      assertReason(yield* refused({ destination: "192.0.2.1:1" }), call, "ENETUNREACH")
      yield* CmId.resolveAddress(id, { destination })
      assertReason(yield* refused({ destination }), call, "EINVAL")
    }))

  it("a route is resolved after its address, once", () =>
    Effect.gen(function*() {
      const id = yield* routed(yield* EventChannel.make(), destination)
      assert.strictEqual((yield* CmId.state(id)).numPaths, 1)
      const error = yield* Effect.flip(CmId.resolveRoute(id))
      assertReason(error, "rdma_resolve_route", "EINVAL")
    }))

  it("a route of an id without a device is refused with EINVAL, and the library is not called", () =>
    recorded(function*(calls) {
      const id = yield* idOnOwnChannel
      const error = yield* Effect.flip(CmId.resolveRoute(id))
      assertReason(error, "rdma_resolve_route", "EINVAL")
      assert.strictEqual(timesCalled(yield* calls, "rdma_resolve_route"), 0)
    }))

  it("waiting for an address is interrupted at once, and the id can be destroyed", () =>
    Effect.gen(function*() {
      const id = yield* idOnOwnChannel
      const waiting = yield* Effect.forkChild(CmId.resolveAddress(id, { destination: silent }), {
        startImmediately: true
      })
      yield* Effect.yieldNow
      yield* Fiber.interrupt(waiting)
    }))

  it("the event of an interrupted attempt is not taken for that of the next", () =>
    Effect.gen(function*() {
      const id = yield* idOnOwnChannel
      const waiting = yield* Effect.forkChild(
        CmId.resolveAddress(id, { destination: silent, timeout: "100 millis" }),
        { startImmediately: true }
      )
      yield* Effect.sleep("10 millis")
      yield* Fiber.interrupt(waiting)
      // By then the kernel has told that nobody answers.
      yield* Effect.sleep("400 millis")
      yield* CmId.resolveAddress(id, { destination })
      assert.strictEqual(String((yield* CmId.state(id)).peerAddress), destination)
    }))

  it("twenty ids on one channel resolve at once, each with its own events", () =>
    Effect.gen(function*() {
      const channel = yield* EventChannel.make()
      const ids = yield* Effect.all(Array.from({ length: 20 }, () => routed(channel, destination)), {
        concurrency: "unbounded"
      })
      for (const id of ids) assert.strictEqual((yield* CmId.state(id)).numPaths, 1)
    }))

  it("a waiting operation and a reader of the channel do not take each other's events", () =>
    Effect.gen(function*() {
      const channel = yield* EventChannel.make()
      const reader = yield* Effect.forkChild(EventChannel.next(channel), { startImmediately: true })
      const id = yield* routed(channel, destination)
      const raw = yield* CmId.make(channel, "tcp")
      assert.isUndefined(reader.pollUnsafe())
      const { peerAddress } = yield* CmId.state(id)
      assert(peerAddress !== undefined)
      yield* channel.cm.resolveAddr(Resource.raw(raw), undefined, peerAddress, 2000)
      assert.deepStrictEqual(yield* Fiber.join(reader), { event: "addrResolved", status: 0, id: Resource.raw(raw) })
    }))

  it("the context of an id is borrowed: what is made on it goes with the scope, and it is never closed", () =>
    recorded(function*(calls) {
      const id = yield* idOnOwnChannel
      yield* CmId.resolveAddress(id, { destination })
      const context = yield* Effect.scoped(Effect.tap(CmId.context(id), DeviceContext.query))
      yield* usesDeadHandle(DeviceContext.query(context))
      assert.strictEqual(timesCalled(yield* calls, "ibv_close_device"), 0)
    }))

  it("an operation of a destroyed id never reaches the library", () =>
    recorded(function*(calls) {
      const channel = yield* EventChannel.make()
      const id = yield* Effect.scoped(CmId.make(channel, "tcp"))
      const before = (yield* calls).length
      yield* usesDeadHandle(CmId.bind(id, at(0)))
      yield* usesDeadHandle(CmId.resolveAddress(id, { destination }))
      yield* usesDeadHandle(CmId.resolveRoute(id))
      yield* usesDeadHandle(CmId.state(id))
      yield* usesDeadHandle(CmId.disconnect(id))
      assert.strictEqual((yield* calls).length, before)
    }))

  it("an id that goes while an operation waits ends the wait", () =>
    Effect.gen(function*() {
      const channel = yield* EventChannel.make()
      const waiting = yield* Effect.scoped(Effect.gen(function*() {
        const id = yield* CmId.make(channel, "tcp")
        const fiber = yield* Effect.forkDetach(CmId.resolveAddress(id, { destination: silent }), {
          startImmediately: true
        })
        yield* Effect.sleep("10 millis")
        return fiber
      }))
      yield* usesDeadHandle(Fiber.join(waiting))
      yield* assertInterruptible(EventChannel.next(channel))
    }))
}
