import * as Gid from "@effect-rdma/core/Gid"
import * as Resource from "@effect-rdma/core/Resource"
import { Fabric, LeakCheck, Topology } from "@effect-rdma/testkit"
import { MadAddress, UmadAgent, UmadLibrary, UmadPort } from "@effect-rdma/umad"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"

const vendor = 0x28

const packet = (mgmtClass: number, method: number, modifier = 0, length = 256): Uint8Array => {
  const mad = new Uint8Array(length)
  mad.set([1, mgmtClass, 1, method])
  new DataView(mad.buffer).setUint32(20, modifier)
  return mad
}

const modifierOf = (mad: Uint8Array): number => new DataView(mad.buffer, mad.byteOffset).getUint32(20)

const isLost = (modifier: number): boolean => modifier % 20 === 7

const responseTo = (mad: Uint8Array): Uint8Array => {
  const reply = mad.slice()
  reply[3] = (mad[3] ?? 0) | 0x80
  return reply
}

const open = (filter: typeof UmadPort.Filter.Encoded = { caName: "mlx5_0" }) =>
  Effect.flatMap(UmadLibrary.init(), (library) => UmadPort.open(library, filter))

const onHostB = Effect.provide(Layer.suspend(() => Fabric.host("host-b")))

const run = <E>(program: Effect.Effect<void, E, Fabric.Fabric | Fabric.Seams>) =>
  LeakCheck.check(program).pipe(Effect.provide(Fabric.layer))

describe("MADs on the fabric", () => {
  it.effect("a request reaches the agent of another host, and its response comes back", () =>
    run(Effect.scoped(Effect.gen(function*() {
      const there = yield* onHostB(open())
      const server = yield* UmadAgent.register(there, { mgmtClass: vendor, methods: [1] })
      yield* Effect.forkScoped(Stream.runForEach(UmadAgent.stream(server), ({ address, mad }) => {
        assert.strictEqual(address.lid, 1)
        assert.strictEqual(address.qpn, 1)
        return UmadAgent.send(server, { address: MadAddress.replyTo(address), mad: responseTo(mad) })
      }))
      const here = yield* open()
      for (let modifier = 0; modifier < 10; modifier++) {
        const { address, mad } = yield* UmadPort.request(here, {
          address: { lid: 2 },
          mad: packet(vendor, 1, modifier)
        })
        assert.strictEqual(mad[3], 0x81)
        assert.strictEqual(modifierOf(mad), modifier)
        assert.strictEqual(address.lid, 2)
      }
    }))))

  it.effect("an agent gets the methods that it asked for, of its class, and no other", () =>
    run(Effect.scoped(Effect.gen(function*() {
      const port = yield* onHostB(open())
      const first = yield* UmadAgent.register(port, { mgmtClass: vendor, methods: [1, 2] })
      const second = yield* UmadAgent.register(port, { mgmtClass: vendor, methods: [3] })
      const sender = yield* UmadAgent.register(yield* open(), { mgmtClass: vendor })
      for (const [method, mgmtClass] of [[3, vendor], [2, vendor], [4, vendor], [1, 0x29], [1, vendor]] as const) {
        yield* UmadAgent.send(sender, { address: { lid: 2 }, mad: packet(mgmtClass, method) })
      }
      const methods = Stream.map(Stream.take(UmadAgent.stream(first), 2), ({ mad }) => mad[3])
      assert.deepStrictEqual(yield* Stream.runCollect(methods), [2, 1])
      assert.strictEqual((yield* UmadAgent.next(second)).mad[3], 3)
      assert.strictEqual(UmadAgent.lost(first), 0)
    }))))

  it.effect("of more unsolicited MADs than an agent keeps, the oldest are lost, and counted", () =>
    run(Effect.scoped(Effect.gen(function*() {
      const port = yield* onHostB(open())
      const agent = yield* UmadAgent.register(port, { mgmtClass: vendor, methods: [1], capacity: 4 })
      const sender = yield* UmadAgent.register(yield* open(), { mgmtClass: vendor })
      for (let modifier = 0; modifier < 10; modifier++) {
        yield* UmadAgent.send(sender, { address: { lid: 2 }, mad: packet(vendor, 1, modifier) })
      }
      yield* Effect.repeat(Effect.yieldNow, { times: 100 })
      const kept = yield* Stream.runCollect(Stream.take(UmadAgent.stream(agent), 4))
      assert.deepStrictEqual(kept.map(({ mad }) => modifierOf(mad)), [6, 7, 8, 9])
      assert.strictEqual(UmadAgent.lost(agent), 6)
    }))))

  it.effect("a message of several packets comes whole to an agent with RMPP, and grows the buffer", () =>
    run(Effect.scoped(Effect.gen(function*() {
      const fabric = yield* Fabric.Fabric
      const length = 100_000
      yield* fabric.onMad(({ mad }) => {
        const reply = new Uint8Array(mad[1] === 0x03 ? length : 1000).fill(0xab)
        reply.set(responseTo(mad).subarray(0, 36))
        return reply
      })
      const port = yield* open()
      const whole = yield* UmadPort.request(port, { address: { lid: 1 }, mad: packet(0x03, 0x12) })
      assert.strictEqual(whole.mad.length, length)
      assert.isTrue(whole.mad.subarray(36).every((byte) => byte === 0xab))
      // Without RMPP it is one packet, and that is all there is of it.
      assert.strictEqual(
        (yield* UmadPort.request(port, { address: { lid: 1 }, mad: packet(0x04, 1) })).mad.length,
        256
      )
      assert.deepStrictEqual(
        (yield* fabric.calls).filter(({ call }) => call === "umad_alloc" || call === "umad_free").map(({ call }) =>
          call
        ),
        ["umad_alloc", "umad_alloc", "umad_free"]
      )
    }))))

  it.effect("a request is repeated as often as was asked, then given back with ETIMEDOUT, by the test's clock", () =>
    run(Effect.scoped(Effect.gen(function*() {
      const fabric = yield* Fabric.Fabric
      const sent: Array<Uint8Array> = []
      yield* fabric.onMad(({ mad }) => {
        sent.push(mad)
        return "lost"
      })
      const port = yield* open()
      const request = UmadPort.request(port, { address: { lid: 2 }, mad: packet(4, 1), timeout: 100, retries: 2 })
      const fiber = yield* Effect.forkChild(Effect.flip(request), { startImmediately: true })
      for (const [millis, times] of [[99, 1], [1, 2], [100, 3], [99, 3]] as const) {
        yield* TestClock.adjust(millis)
        assert.strictEqual(sent.length, times)
        assert.isUndefined(fiber.pollUnsafe())
      }
      yield* TestClock.adjust(1)
      const error = yield* Fiber.join(fiber)
      assert.deepInclude(error, { _tag: "MadTimeout", timeoutMs: 100, retries: 2, lid: 2 })
      // Each time it was the same, down to the number of the agent that the kernel wrote.
      for (const mad of sent) assert.deepStrictEqual(mad, sent[0])
      assert.notStrictEqual(new DataView(sent[0]!.buffer).getUint32(8), 0)
    }))))

  it.effect("an answer to the second attempt is the answer", () =>
    run(Effect.scoped(Effect.gen(function*() {
      const fabric = yield* Fabric.Fabric
      let times = 0
      yield* fabric.onMad(({ mad }) => ++times === 1 ? "lost" : responseTo(mad))
      const port = yield* open()
      const request = UmadPort.request(port, { address: { lid: 2 }, mad: packet(4, 1, 5), timeout: 100 })
      const fiber = yield* Effect.forkChild(request, { startImmediately: true })
      yield* TestClock.adjust(100)
      assert.strictEqual(modifierOf((yield* Fiber.join(fiber)).mad), 5)
      assert.strictEqual(times, 2)
    }))))

  it.effect("a port whose adapter is gone is EPIPE for new agents and EINVAL for sending; what waits ends in time", () =>
    run(Effect.scoped(Effect.gen(function*() {
      const fabric = yield* Fabric.Fabric
      yield* fabric.onMad(() => "lost")
      const port = yield* open()
      const agent = yield* UmadAgent.register(port, { mgmtClass: vendor })
      const request = UmadAgent.request(agent, {
        address: { lid: 2 },
        mad: packet(vendor, 1),
        timeout: 100,
        retries: 0
      })
      const fiber = yield* Effect.forkChild(Effect.flip(request), { startImmediately: true })
      yield* fabric.unplug("host-a", "mlx5_0")
      const registering = yield* Effect.flip(UmadAgent.register(port, { mgmtClass: 0x29 }))
      assert.deepStrictEqual(registering._tag === "UmadError" ? registering.reason.errno : registering, 32)
      const sending = yield* Effect.flip(UmadAgent.send(agent, { address: { lid: 2 }, mad: packet(vendor, 1) }))
      assert.strictEqual(sending._tag === "UmadError" ? sending.reason._tag : sending._tag, "EINVAL")
      // The kernel gives nothing back: the deadline here does.
      yield* TestClock.adjust(1100)
      assert.strictEqual((yield* Fiber.join(fiber))._tag, "MadTimeout")
    }))))

  it.effect("a link that is down takes a request away from its answer", () =>
    run(Effect.scoped(Effect.gen(function*() {
      const fabric = yield* Fabric.Fabric
      const there = yield* onHostB(open())
      const server = yield* UmadAgent.register(there, { mgmtClass: vendor, methods: [1] })
      const sender = yield* UmadAgent.register(yield* open(), { mgmtClass: vendor })
      yield* fabric.setLink("host-b", "mlx5_0", 1, "down")
      yield* UmadAgent.send(sender, { address: { lid: 2 }, mad: packet(vendor, 1, 1) })
      yield* fabric.setLink("host-b", "mlx5_0", 1, "up")
      yield* UmadAgent.send(sender, { address: { lid: 2 }, mad: packet(vendor, 1, 2) })
      assert.strictEqual(modifierOf((yield* UmadAgent.next(server)).mad), 2)
    }))))

  it.effect("on Ethernet a MAD goes by its GID, and without one it is EINVAL", () =>
    run(Effect.scoped(Effect.gen(function*() {
      const there = yield* onHostB(open({ caName: "rxe0" }))
      const server = yield* UmadAgent.register(there, { mgmtClass: vendor, methods: [1] })
      const sender = yield* UmadAgent.register(yield* open({ caName: "rxe0" }), { mgmtClass: vendor })
      const mad = packet(vendor, 1)
      const error = yield* Effect.flip(UmadAgent.send(sender, { address: { lid: 0 }, mad }))
      assert.strictEqual(error._tag === "UmadError" ? error.reason._tag : error._tag, "EINVAL")
      yield* UmadAgent.send(sender, {
        address: { lid: 0, grh: { gid: "::ffff:10.0.0.2", gidIndex: 1, trafficClass: 3, flowLabel: 9 } },
        mad
      })
      const { address } = yield* UmadAgent.next(server)
      const { grh } = address
      assert.strictEqual(grh === undefined ? undefined : Gid.formatCompressed(grh.gid), "::ffff:10.0.0.1")
      assert.deepStrictEqual([grh?.gidIndex, grh?.trafficClass, grh?.flowLabel].map(Number), [1, 3, 9])
    }))))

  it.effect("what came for an agent does not go to the next one with its number", () =>
    run(Effect.scoped(Effect.gen(function*() {
      const port = yield* onHostB(open())
      const sender = yield* UmadAgent.register(yield* open(), { mgmtClass: vendor })
      const number = yield* Effect.scoped(Effect.gen(function*() {
        const agent = yield* UmadAgent.register(port, { mgmtClass: vendor, methods: [1] })
        yield* UmadAgent.send(sender, { address: { lid: 2 }, mad: packet(vendor, 1) })
        return Resource.raw(agent)
      }))
      const next = yield* UmadAgent.register(port, { mgmtClass: 0x29, methods: [1] })
      assert.strictEqual(Resource.raw(next), number)
      yield* UmadAgent.send(sender, { address: { lid: 2 }, mad: packet(0x29, 1, 7) })
      assert.strictEqual(modifierOf((yield* UmadAgent.next(next)).mad), 7)
    }))))

  it.effect("ports that cannot be shown are values in the list of all ports", () =>
    Effect.scoped(Effect.gen(function*() {
      const ports = yield* UmadLibrary.ports(yield* UmadLibrary.init())
      assert.deepStrictEqual(
        ports.map((port) =>
          port._tag === "Success"
            ? `${port.success.caName} ${port.success.portNum} ${port.success.linkLayer}`
            : `${port.failure.caName} ${port.failure.portNum} ${port.failure.problem} ${port.failure.reason?._tag}`
        ),
        [
          `${"n".repeat(20)} 1 nameTooLong undefined`,
          "odd 1 InfiniBand",
          "odd 2 unreadable EIO",
          "odd 200 InfiniBand",
          "odd 255 InfiniBand",
          "rxe0 1 Ethernet",
          "switch 0 InfiniBand"
        ]
      )
      const zero = ports.find((port) => port._tag === "Success" && port.success.portNum === 200)
      assert.strictEqual(zero?._tag === "Success" ? zero.success.portGuid : undefined, 0n)
    })).pipe(Effect.provide(Layer.orDie(Fabric.layerFrom({
      hosts: [{
        name: "host-a",
        devices: [
          Topology.softRoce("rxe0", 1),
          {
            name: "odd",
            guid: 1n,
            ports: [
              { number: 1, linkLayer: "infiniband" },
              { number: 2, linkLayer: "infiniband", pkeys: [] },
              { number: 200, linkLayer: "infiniband" },
              { number: 255, linkLayer: "infiniband" }
            ]
          },
          { name: "switch", nodeType: "switch", guid: 2n, ports: [{ number: 0, linkLayer: "infiniband" }] },
          { name: "n".repeat(20), guid: 3n, ports: [{ number: 1, linkLayer: "infiniband" }] }
        ]
      }]
    })))))

  it.live(
    "ten thousand requests, 64 at once and one in twenty lost, each end exactly once and leave nothing",
    () =>
      run(Effect.gen(function*() {
        const fabric = yield* Fabric.Fabric
        const requests = 10_000
        let sent = 0
        yield* fabric.onMad(({ mad }) => {
          sent++
          return isLost(modifierOf(mad)) ? "lost" : responseTo(mad)
        })
        const outcomes = yield* Effect.scoped(Effect.gen(function*() {
          const port = yield* open()
          return yield* Effect.forEach(
            Array.from({ length: requests }, (_, index) => index),
            (modifier) =>
              Effect.exit(UmadPort.request(port, {
                address: { lid: 2 },
                mad: packet(4, 1, modifier),
                timeout: 20,
                retries: 1
              })),
            { concurrency: 64 }
          )
        }))
        assert.strictEqual(outcomes.length, requests)
        outcomes.forEach((exit, modifier) => {
          if (Exit.isSuccess(exit)) assert.strictEqual(modifierOf(exit.value.mad), modifier)
          assert.strictEqual(Exit.isSuccess(exit), !isLost(modifier), String(modifier))
        })
        assert.strictEqual(sent, requests + requests / 20)
        assert.deepStrictEqual(yield* fabric.objects, [])
      })),
    60_000
  )
})
