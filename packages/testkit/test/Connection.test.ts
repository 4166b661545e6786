/** Connections between hosts of the fabric: names, GIDs, and what goes in the middle. */
import * as Pointer from "@effect-rdma/core/Pointer"
import * as Resource from "@effect-rdma/core/Resource"
import * as CmAddress from "@effect-rdma/rdmacm/CmAddress"
import type * as CmEvent from "@effect-rdma/rdmacm/CmEvent"
import * as Connection from "@effect-rdma/rdmacm/Connection"
import * as DatagramSocket from "@effect-rdma/rdmacm/DatagramSocket"
import * as Listener from "@effect-rdma/rdmacm/Listener"
import * as MulticastGroup from "@effect-rdma/rdmacm/MulticastGroup"
import { RdmaCm } from "@effect-rdma/rdmacm/RdmaCm"
import * as RemoteMemory from "@effect-rdma/rdmacm/RemoteMemory"
import { ShutdownGrace } from "@effect-rdma/rdmacm/ShutdownGrace"
import * as Fabric from "@effect-rdma/testkit/Fabric"
import * as LeakCheck from "@effect-rdma/testkit/LeakCheck"
import * as DeviceContext from "@effect-rdma/verbs/DeviceContext"
import * as MemoryRegion from "@effect-rdma/verbs/MemoryRegion"
import { Verbs } from "@effect-rdma/verbs/Verbs"
import { WaitStrategy } from "@effect-rdma/verbs/WaitStrategy"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Latch from "effect/Latch"
import * as Option from "effect/Option"
import * as Schedule from "effect/Schedule"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { TestClock } from "effect/testing"

const onB = Effect.provide(Fabric.host("host-b"))

/** Each test has a fabric, on which it leaves nothing. */
const test = (
  name: string,
  program: () => Effect.Effect<void, unknown, Fabric.Fabric | Fabric.Seams | Scope.Scope>
) =>
  it.live(name, () =>
    Effect.gen(function*() {
      yield* LeakCheck.check(Effect.suspend(program))
      assert.deepStrictEqual(yield* (yield* Fabric.Fabric).objects, [])
    }).pipe(Effect.provideService(ShutdownGrace, "100 millis"), Effect.provide(Fabric.layer)))

const bytes = (text: string) => new TextEncoder().encode(text)
const text = (message: Uint8Array) => new TextDecoder().decode(message)

const accepted = (listener: Listener.Listener) =>
  Effect.flatMap(
    Effect.map(Stream.runHead(listener.connections), Option.getOrThrow),
    (incoming) => Listener.accept(incoming)
  )

/** A server on the other host, by any of its addresses, and a client here. */
const acrossHosts = Effect.fnUntraced(function*(
  bound: Parameters<typeof Listener.make>[0]["address"],
  address: Connection.ConnectOptions["address"] = bound
) {
  const listener = yield* onB(Listener.make({ address: bound }))
  const [server, client] = yield* Effect.all([
    onB(accepted(listener)),
    Connection.connect({ address, retryCount: 1 })
  ], { concurrency: "unbounded" })
  return { server, client }
})

const gidOf = (device: string) =>
  Effect.gen(function*() {
    const context = yield* DeviceContext.openByName(device)
    const [first] = yield* DeviceContext.gidTable(context)
    return first?.gid ?? assert.fail("the device has no GID")
  })

const ibAddress = (gid: CmAddress.IbAddress["gid"], sid: bigint): CmAddress.IbAddress => ({
  _tag: "IbAddress",
  pkey: 0xffff,
  flowInfo: 0,
  gid,
  sid,
  sidMask: 0xffff_ffff_ffff_ffffn,
  scopeId: 0n
})

/** A connection whose client gets the events that a test makes. */
const withEvents = Effect.gen(function*() {
  const cm = yield* RdmaCm
  const own = Pointer.make<"rdma_cm_event">(1n)
  const raised: Array<CmEvent.CmEvent> = []
  const isRaised = Latch.makeUnsafe(false)
  const raising = Effect.provideService(RdmaCm, {
    ...cm,
    getCmEvent: (channel) =>
      Effect.suspend(() => {
        const event = raised.shift()
        isRaised.closeUnsafe()
        return event === undefined ? cm.getCmEvent(channel) : Effect.succeed({ pointer: own, event })
      }),
    ackCmEvent: (event) => event === own ? Effect.void : cm.ackCmEvent(event),
    awaitCmEvent: (channel) => Effect.raceFirst(cm.awaitCmEvent(channel), isRaised.await)
  })
  const listener = yield* Listener.make({ address: "10.0.0.1:7471" })
  const [server, client] = yield* Effect.all([
    accepted(listener),
    raising(Connection.connect({ address: "10.0.0.1:7471" }))
  ], { concurrency: "unbounded" })
  const raise = (event: CmEvent.CmEventType) =>
    Effect.sync(() => {
      raised.push({ event, status: 0, id: Resource.raw(client.id) })
      isRaised.openUnsafe()
    })
  return { client, server, raise }
})

describe("connections between hosts", () => {
  test("messages and memory cross the fabric", () =>
    Effect.gen(function*() {
      const { client, server } = yield* acrossHosts("10.0.0.2:7471")
      assert.strictEqual(CmAddress.format(client.localAddress).split(":")[0], "10.0.0.1")
      yield* Connection.send(client, bytes("over there"))
      assert.strictEqual(text(yield* Connection.receive(server)), "over there")
      const region = yield* MemoryRegion.alloc(server.domain, { length: 10, access: ["remoteRead"] })
      region.bytes.set(bytes("over there"))
      const local = yield* MemoryRegion.alloc(client.domain, { length: 10, access: ["localWrite"] })
      yield* Connection.read(client, { region: local, remote: RemoteMemory.of(region) })
      assert.strictEqual(text(local.bytes), "over there")
    }))

  test("a host is found by its name", () =>
    Effect.gen(function*() {
      const { client } = yield* acrossHosts("0.0.0.0:7471", "host-b:7471")
      assert.strictEqual(CmAddress.format(client.peerAddress), "10.0.0.2:7471")
    }))

  test("a listener is found by the name of its own host", () =>
    Effect.gen(function*() {
      const listener = yield* Listener.make({ address: "host-a:7471" })
      assert.strictEqual(CmAddress.format(listener.address), "10.0.0.1:7471")
    }))

  test("a name that nobody has is ENOENT", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(Connection.connect({ address: "nobody:7471" }))
      assert(error._tag === "RdmaCmError", error.message)
      assert.deepStrictEqual([error.call, error.reason._tag], ["rdma_getaddrinfo", "ENOENT"])
    }))

  test("an address of InfiniBand is a GID and a service ID", () =>
    Effect.gen(function*() {
      const gid = yield* onB(gidOf("mlx5_0"))
      const listener = yield* onB(Listener.make({ address: ibAddress(gid, 0x013f_0000_0000_1234n) }))
      const [server, client] = yield* Effect.all([
        onB(accepted(listener)),
        Connection.connect({ address: ibAddress(gid, 0x013f_0000_0000_1234n) })
      ], { concurrency: "unbounded" })
      assert.strictEqual(client.device, "mlx5_0")
      yield* Connection.send(server, bytes("by GID"))
      assert.strictEqual(text(yield* Connection.receive(client)), "by GID")
    }))

  test("a link-local address with its link", () =>
    Effect.gen(function*() {
      const listener = yield* Listener.make({ address: "[fe80::5054:ff:fe0a:1%3]:7471" })
      assert.strictEqual(CmAddress.format(listener.address), "[fe80::5054:ff:fe0a:1%3]:7471")
      const [, client] = yield* Effect.all([
        accepted(listener),
        Connection.connect({ address: "[fe80::5054:ff:fe0a:1%3]:7471" })
      ], { concurrency: "unbounded" })
      assert.strictEqual(CmAddress.format(client.peerAddress), "[fe80::5054:ff:fe0a:1%3]:7471")
    }))

  test("datagrams cross the fabric, and so do those of a group", () =>
    Effect.gen(function*() {
      const socket = yield* onB(DatagramSocket.listen({ address: "10.0.0.2:7471" }))
      const client = yield* DatagramSocket.towards({ address: "host-b:7471" })
      const peer = yield* DatagramSocket.lookup(client, { address: "host-b:7471" })
      yield* DatagramSocket.send(client, peer, bytes("a datagram"))
      assert.strictEqual(text((yield* DatagramSocket.receive(socket)).bytes), "a datagram")
      const here = yield* MulticastGroup.join({ address: "239.1.2.3:0", source: "10.0.0.1:0" })
      const there = yield* onB(MulticastGroup.join({ address: "239.1.2.3:0", source: "10.0.0.2:0" }))
      yield* MulticastGroup.send(here, bytes("to all"))
      assert.strictEqual(text((yield* MulticastGroup.receive(there)).bytes), "to all")
    }))

  test("an address over another device than the socket's is EINVAL", () =>
    Effect.gen(function*() {
      const client = yield* DatagramSocket.towards({ address: "10.0.0.2:7471" })
      const error = yield* Effect.flip(DatagramSocket.lookup(client, { address: "10.0.1.2:7471" }))
      assert(error._tag === "RdmaCmError", error.message)
      assert.deepStrictEqual([error.call, error.reason._tag], ["rdma_connect", "EINVAL"])
    }))

  it.effect("attempts are as far apart as the schedule says", () =>
    Effect.gen(function*() {
      const fabric = yield* Fabric.Fabric
      const attempts = Effect.map(fabric.calls, (calls) => calls.filter(({ call }) => call === "rdma_connect").length)
      const connecting = yield* Effect.forkChild(
        Effect.flip(Effect.scoped(Connection.connect({
          address: "10.0.0.2:7471",
          retry: Schedule.exponential("1 second").pipe(Schedule.upTo({ times: 3 }))
        }))),
        { startImmediately: true }
      )
      const after: Array<number> = []
      for (let millis = 0; millis <= 8000; millis += 500) {
        after.push(yield* attempts)
        // A connection takes some steps of the fabric, each of which begins when the one before has ended.
        for (let step = 0; step < 50; step++) yield* TestClock.adjust(10)
      }
      assert.deepStrictEqual(after, [0, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 3, 3, 4, 4])
      assert.strictEqual((yield* Fiber.join(connecting))._tag, "ConnectionRejected")
    }).pipe(Effect.provide(Fabric.layer)))

  // ---------------------------------------------------------------------------
  // What goes in the middle
  // ---------------------------------------------------------------------------

  test("a device that is pulled out ends its connections with DeviceRemoved, and those of the other side with a failed request", () =>
    Effect.gen(function*() {
      const { client, server } = yield* acrossHosts("10.0.0.2:7471")
      const waiting = yield* Effect.forkChild(Effect.flip(Connection.receive(client)), { startImmediately: true })
      yield* (yield* Fabric.Fabric).unplug("host-a", "rxe0")
      assert.strictEqual((yield* Fiber.join(waiting))._tag, "DeviceRemoved")
      assert.strictEqual((yield* Effect.flip(Connection.send(client, bytes("late"))))._tag, "DeviceRemoved")
      assert.include(
        ["WorkCompletionError", "ConnectionClosed"],
        (yield* Effect.flip(Connection.send(server, bytes("nobody"))))._tag
      )
    }))

  test("a device that is pulled out while connecting is a typed error", () =>
    Effect.gen(function*() {
      const listener = yield* onB(Listener.make({ address: "10.0.0.2:7471" }))
      const connecting = yield* Effect.forkChild(Effect.flip(Connection.connect({ address: "10.0.0.2:7471" })), {
        startImmediately: true
      })
      yield* Stream.runHead(listener.connections)
      yield* (yield* Fabric.Fabric).unplug("host-a", "rxe0")
      assert.strictEqual((yield* Fiber.join(connecting))._tag, "DeviceRemoved")
    }))

  test("a device that is pulled out ends its sockets with DeviceRemoved", () =>
    Effect.gen(function*() {
      const socket = yield* DatagramSocket.listen({ address: "10.0.0.1:7471" })
      const waiting = yield* Effect.forkChild(Effect.flip(DatagramSocket.receive(socket)), { startImmediately: true })
      yield* (yield* Fabric.Fabric).unplug("host-a", "rxe0")
      assert.strictEqual((yield* Fiber.join(waiting))._tag, "DeviceRemoved")
    }))

  test("a cable that is pulled out fails who sends, and the release does not wait for longer than the grace", () =>
    Effect.gen(function*() {
      const start = yield* Effect.scoped(Effect.gen(function*() {
        const { client } = yield* acrossHosts("10.0.0.2:7471")
        yield* (yield* Fabric.Fabric).setLink("host-b", "rxe0", 1, "down")
        const error = yield* Effect.flip(Connection.send(client, bytes("nobody")))
        assert(error._tag === "WorkCompletionError", error.message)
        assert.strictEqual(error.status, "retryExcErr")
        return performance.now()
      }))
      assert.isBelow(performance.now() - start, 5000)
    }))

  test("a cable that is pulled out is noticed by a side that only receives when it asks: keepAlive", () =>
    Effect.gen(function*() {
      const listener = yield* onB(Listener.make({ address: "10.0.0.2:7471" }))
      const [, asking, , waiting] = yield* Effect.all([
        onB(accepted(listener)),
        Connection.connect({ address: "10.0.0.2:7471", retryCount: 1, keepAlive: "20 millis" }),
        onB(accepted(listener)),
        Connection.connect({ address: "10.0.0.2:7471", retryCount: 1 })
      ], { concurrency: "unbounded" })
      const idle = yield* Effect.forkChild(Effect.exit(Connection.receive(waiting)), { startImmediately: true })
      yield* Effect.sleep("100 millis")
      yield* (yield* Fabric.Fabric).setLink("host-b", "rxe0", 1, "down")
      const error = yield* Effect.flip(Connection.receive(asking))
      assert(error._tag === "WorkCompletionError", error.message)
      assert.deepStrictEqual([error.request, error.status], ["rdmaWrite", "retryExcErr"])
      assert.isUndefined(idle.pollUnsafe())
    }))

  test("messages that the device has and nobody has polled when the end comes are given before it", () =>
    Effect.gen(function*() {
      let isSlow = false
      const verbs = yield* Verbs
      const slow = Effect.provideService(Verbs, {
        ...verbs,
        dataPath: Effect.map(verbs.dataPath, (dataPath) => ({
          ...dataPath,
          pollCq: (...[cq, max]: Parameters<typeof dataPath.pollCq>) =>
            isSlow ? { completions: [], error: undefined } : dataPath.pollCq(cq, max)
        }))
      })
      const listener = yield* Listener.make({ address: "10.0.0.1:7471" })
      const scope = yield* Scope.make()
      const [server, client] = yield* Effect.all([
        slow(Effect.provideService(accepted(listener), WaitStrategy, { _tag: "turn" })),
        onB(Scope.provide(Connection.connect({ address: "10.0.0.1:7471" }), scope))
      ], { concurrency: "unbounded" })
      isSlow = true
      for (const word of ["one", "two", "three"]) yield* Connection.send(client, bytes(word))
      yield* Scope.close(scope, Exit.void)
      yield* Connection.awaitEnd(server)
      yield* Effect.sleep("20 millis")
      isSlow = false
      assert.deepStrictEqual((yield* Stream.runCollect(Connection.messages(server))).map(text), ["one", "two", "three"])
    }))

  // ---------------------------------------------------------------------------
  // Events out of place
  // ---------------------------------------------------------------------------

  const harmless = [
    "addrResolved",
    "addrError",
    "routeResolved",
    "routeError",
    "connectRequest",
    "connectResponse",
    "established",
    "multicastJoin",
    "addrChange",
    "timewaitExit",
    "unknown"
  ] as const

  test("events of no meaning for a connection that is set up change nothing", () =>
    Effect.gen(function*() {
      const { client, raise, server } = yield* withEvents
      for (const event of harmless) {
        yield* raise(event)
        yield* Connection.send(client, bytes(event))
        assert.strictEqual(text(yield* Connection.receive(server)), event)
      }
    }))

  const ends = [
    ["rejected", "ConnectionRejected"],
    ["unreachable", "PeerUnreachable"],
    ["connectError", "ConnectionFailed"],
    ["disconnected", "ConnectionClosed"],
    ["deviceRemoval", "DeviceRemoved"],
    ["multicastError", "RdmaCmError"]
  ] as const
  for (const [event, tag] of ends) {
    test(`the event ${event} ends a connection that is set up with ${tag}, on both sides`, () =>
      Effect.gen(function*() {
        const { client, raise, server } = yield* withEvents
        yield* raise(event)
        assert.strictEqual((yield* Effect.flip(Connection.receive(client)))._tag, tag)
        assert.strictEqual((yield* Effect.flip(Connection.send(client, bytes("late"))))._tag, tag)
        assert.strictEqual((yield* Effect.flip(Connection.receive(server)))._tag, "ConnectionClosed")
      }))
  }
})
