import * as Ledger from "@effect-rdma/core/Ledger"
import * as NativeReason from "@effect-rdma/core/NativeReason"
import * as Pointer from "@effect-rdma/core/Pointer"
import * as Resource from "@effect-rdma/core/Resource"
import type * as CmEvent from "@effect-rdma/rdmacm/CmEvent"
import * as CmId from "@effect-rdma/rdmacm/CmId"
import * as EventChannel from "@effect-rdma/rdmacm/EventChannel"
import { type IdState, RdmaCm } from "@effect-rdma/rdmacm/RdmaCm"
import { RdmaCmError } from "@effect-rdma/rdmacm/RdmaCmError"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Latch, Layer, Scope } from "effect"

const pointer = (address: number) => Pointer.make<"rdma_cm_id">(BigInt(address))

const bound: IdState = {
  channel: undefined,
  verbs: Pointer.make<"ibv_context">(0x99n),
  portNum: 1,
  portSpace: "tcp",
  qpType: "rc",
  localAddress: undefined,
  peerAddress: undefined,
  numPaths: 1,
  qp: undefined,
  srq: undefined,
  pd: undefined,
  sendCq: undefined,
  recvCq: undefined
}

/** A librdmacm whose events a test makes. Ids are 1, 2, 3, …. */
const scripted = () => {
  const log: Array<string> = []
  const queue: Array<CmEvent.CmEvent> = []
  const readable = Latch.makeUnsafe(false)
  const note = (call: string) => Effect.sync(() => void log.push(call))
  let ids = 0
  const layer = Layer.merge(
    Ledger.layer,
    Layer.mock(RdmaCm, {
      createEventChannel: Effect.succeed(Pointer.make<"rdma_event_channel">(0x1000n)),
      destroyEventChannel: () => Effect.void,
      createId: () => Effect.sync(() => pointer(++ids)),
      destroyId: (id) => note(`destroy ${id}`),
      readId: () => Effect.succeed(bound),
      getCmEvent: () =>
        Effect.suspend(() => {
          const event = queue.shift()
          if (queue.length === 0) readable.closeUnsafe()
          return event === undefined
            ? Effect.fail(
              new RdmaCmError({ call: "rdma_get_cm_event", reason: NativeReason.fromErrno(11), input: {} })
            )
            : Effect.succeed({ pointer: Pointer.make<"rdma_cm_event">(0x2000n), event })
        }),
      ackCmEvent: () => Effect.void,
      awaitCmEvent: () => readable.await,
      resolveAddr: () => note("resolve"),
      connect: () => note("connect"),
      accept: () => note("accept"),
      establish: () => note("establish"),
      disconnect: () => note("disconnect")
    })
  )
  const happen = (event: CmEvent.CmEvent) =>
    Effect.andThen(
      Effect.sync(() => {
        queue.push(event)
        readable.openUnsafe()
      }),
      Effect.yieldNow
    )
  return { log, layer, happen }
}

const start = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.forkChild(effect, { startImmediately: true })
const destination = "10.0.0.2:7471"

const request = (id: number, listenId: number): CmEvent.CmEvent => ({
  event: "connectRequest",
  status: 0,
  id: pointer(id),
  listenId: pointer(listenId)
})

describe("CmId", () => {
  it.effect("events go to the ids that wait for them, in whatever order they come", () => {
    const { happen, layer } = scripted()
    return Effect.gen(function*() {
      const channel = yield* EventChannel.make()
      const [first, second] = yield* Effect.all([CmId.make(channel, "tcp"), CmId.make(channel, "tcp")])
      const one = yield* start(CmId.resolveAddress(first, { destination }))
      const two = yield* start(Effect.flip(CmId.resolveAddress(second, { destination })))
      yield* happen({ event: "addrError", status: -113, id: Resource.raw(second) })
      const error = yield* Fiber.join(two)
      assert(error._tag === "RdmaCmError")
      assert.strictEqual(error.reason._tag, "EHOSTUNREACH")
      yield* happen({ event: "addrResolved", status: 0, id: Resource.raw(first) })
      yield* Fiber.join(one)
    }).pipe(Effect.scoped, Effect.provide(layer))
  })

  it.effect("who reads and is interrupted leaves the reading to the next one", () => {
    const { happen, layer } = scripted()
    return Effect.gen(function*() {
      const channel = yield* EventChannel.make()
      const [first, second] = yield* Effect.all([CmId.make(channel, "tcp"), CmId.make(channel, "tcp")])
      const reader = yield* start(CmId.resolveAddress(first, { destination }))
      const waiter = yield* start(CmId.resolveAddress(second, { destination }))
      yield* Fiber.interrupt(reader)
      yield* happen({ event: "addrResolved", status: 0, id: Resource.raw(second) })
      yield* Fiber.join(waiter)
    }).pipe(Effect.scoped, Effect.provide(layer))
  })

  const failures = [
    ["rejected", 28, "ConnectionRejected"],
    ["unreachable", -110, "PeerUnreachable"],
    ["connectError", -22, "ConnectionFailed"],
    ["disconnected", 0, "ConnectionClosed"],
    ["deviceRemoval", 0, "DeviceRemoved"]
  ] as const
  it.effect.each(failures)("%s fails a connect and an accept", ([event, status, tag]) => {
    const { happen, layer } = scripted()
    return Effect.gen(function*() {
      const channel = yield* EventChannel.make()
      const [client, server] = yield* Effect.all([CmId.make(channel, "tcp"), CmId.make(channel, "tcp")])
      const connecting = yield* start(Effect.flip(Effect.asVoid(CmId.connect(client))))
      const accepting = yield* start(Effect.flip(CmId.accept(server)))
      yield* happen({ event, status, id: Resource.raw(client) })
      yield* happen({ event, status, id: Resource.raw(server) })
      for (const [fiber, call] of [[connecting, "rdma_connect"], [accepting, "rdma_accept"]] as const) {
        const error = yield* Fiber.join(fiber)
        assert.strictEqual(error._tag, tag)
        assert.include(error.message, call)
      }
    }).pipe(Effect.scoped, Effect.provide(layer))
  })

  it.effect("no event in any state is a defect, and what nobody waits for is kept in order", () => {
    const { happen, layer, log } = scripted()
    return Effect.gen(function*() {
      const channel = yield* EventChannel.make()
      const id = yield* CmId.make(channel, "tcp")
      const raw = Resource.raw(id)
      const types = ["disconnected", "unreachable", "rejected", "established", "timewaitExit", "unknown"] as const
      for (const event of types) yield* happen({ event, status: 0, id: raw })
      const resolving = yield* start(CmId.resolveAddress(id, { destination }))
      while (!log.includes("resolve")) yield* Effect.yieldNow
      yield* happen({ event: "addrResolved", status: 0, id: raw })
      yield* Fiber.join(resolving)
      for (const event of types) assert.strictEqual((yield* EventChannel.next(channel)).event, event)
    }).pipe(Effect.scoped, Effect.provide(layer))
  })

  it.effect("an end that came before anybody waited for it is known", () => {
    const { happen, layer, log } = scripted()
    return Effect.gen(function*() {
      const id = yield* Effect.flatMap(EventChannel.make(), (channel) => CmId.make(channel, "tcp"))
      yield* CmId.establish(id)
      const disconnecting = yield* start(CmId.disconnect(id))
      assert.isUndefined(disconnecting.pollUnsafe())
      yield* happen({ event: "disconnected", status: 0, id: Resource.raw(id) })
      yield* Fiber.join(disconnecting)
      yield* CmId.awaitDisconnected(id)
      assert.deepStrictEqual(log, ["establish", "disconnect"])
    }).pipe(Effect.scoped, Effect.provide(layer))
  })

  it.effect("requests are owned at any moment: by who took them, by the listener, or by the channel", () => {
    const { happen, layer, log } = scripted()
    return Effect.gen(function*() {
      yield* Effect.scoped(Effect.gen(function*() {
        const channel = yield* EventChannel.make()
        const scope = yield* Scope.make()
        const listener = yield* Scope.provide(CmId.make(channel, "tcp"), scope)
        for (const [id, listenId] of [[11, 1], [12, 1], [13, 77]] as const) yield* happen(request(id, listenId))
        const { id } = yield* CmId.nextRequest(listener)
        assert.strictEqual(Resource.raw(id), pointer(11))
        const waiting = yield* start(EventChannel.next(channel))
        yield* Effect.yieldNow
        yield* Scope.close(scope, Exit.void)
        assert.deepStrictEqual(log, ["destroy 12", "destroy 1"])
        yield* Fiber.interrupt(waiting)
      }))
      assert.deepStrictEqual(log.slice(2), ["destroy 11", "destroy 13"])
      assert.deepStrictEqual(yield* Ledger.live, [])
    }).pipe(Effect.provide(layer))
  })

  it.effect("two listeners on one channel get their own requests, and three waits on one get one each", () => {
    const { happen, layer } = scripted()
    return Effect.gen(function*() {
      const channel = yield* EventChannel.make()
      const [first, second] = yield* Effect.all([CmId.make(channel, "tcp"), CmId.make(channel, "tcp")])
      const waits = [first, second, second, second].map((listener) => CmId.nextRequest(listener))
      const waiting = yield* start(Effect.all(waits, { concurrency: "unbounded" }))
      yield* Effect.yieldNow
      for (const [id, listenId] of [[11, 2], [12, 2], [13, 1], [14, 2]] as const) yield* happen(request(id, listenId))
      const ids = (yield* Fiber.join(waiting)).map(({ id }) => Resource.raw(id))
      assert.strictEqual(ids[0], pointer(13))
      assert.strictEqual(new Set(ids).size, 4)
    }).pipe(Effect.scoped, Effect.provide(layer))
  })
})
