/**
 * Conformance of listening and of requests to connect.
 *
 * @since 0.1.0
 */
import * as Resource from "@effect-rdma/core/Resource"
import * as CmId from "@effect-rdma/rdmacm/CmId"
import * as EventChannel from "@effect-rdma/rdmacm/EventChannel"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Scope from "effect/Scope"
import {
  assertInterruptible,
  assertPath,
  assertReason,
  recorded,
  timesCalled,
  usesDeadHandle
} from "../../internal/conformance.ts"
import { portOf, rdmaCmSuite } from "../../internal/conformanceRdmaCm.ts"
import * as LeakCheck from "../../LeakCheck.ts"
import type * as RdmaCmLane from "../RdmaCmLane.ts"

/**
 * Registers the suite on a lane.
 *
 * @category constructors
 * @since 0.1.0
 */
export const suite = <Others = never>(lane: RdmaCmLane.RdmaCmLane<Others>): void => {
  const { at, idOnOwnChannel, it, listening, routed } = rdmaCmSuite(lane)

  // A second request for one queue pair would be a stale connection.
  let qpNum = 0x1000

  /** Asks to connect, and does not wait for the answer. */
  const knock = Effect.fnUntraced(function*(channel: EventChannel.EventChannel, address: string) {
    const id = yield* routed(channel, address)
    yield* Effect.forkScoped(CmId.connect(id, { qpNum: qpNum++ }), { startImmediately: true })
  })

  it("an id that was not bound listens on every address and a free port", () =>
    Effect.gen(function*() {
      const id = yield* idOnOwnChannel
      yield* CmId.listen(id)
      assert.isAbove(yield* portOf(id), 0)
    }))

  it("an id that listens or has connected does not listen again: EINVAL", () =>
    Effect.gen(function*() {
      const channel = yield* EventChannel.make()
      const { address, listener } = yield* listening(channel)
      assertReason(yield* Effect.flip(CmId.listen(listener)), "rdma_listen", "EINVAL")
      assertReason(yield* Effect.flip(CmId.listen(yield* routed(channel, address))), "rdma_listen", "EINVAL")
    }))

  it("a backlog out of range is a SchemaError", () =>
    Effect.gen(function*() {
      const id = yield* idOnOwnChannel
      assertPath(yield* Effect.flip(CmId.listen(id, { backlog: -1 })), ["backlog"])
      yield* CmId.listen(id, { backlog: 3 })
    }))

  it("two listeners of one port: EADDRINUSE, and the port is free after the first", () =>
    Effect.gen(function*() {
      const channel = yield* EventChannel.make()
      const scope = yield* Scope.make()
      const { listener } = yield* Scope.provide(listening(channel), scope)
      const port = yield* portOf(listener)
      assertReason(
        yield* Effect.flip(CmId.bind(yield* CmId.make(channel, "tcp"), at(port))),
        "rdma_bind_addr",
        "EADDRINUSE"
      )
      yield* Scope.close(scope, Exit.void)
      const next = yield* CmId.make(channel, "tcp")
      yield* CmId.bind(next, at(port))
      yield* CmId.listen(next)
    }))

  it("a request brings an id with both addresses, the device and what the other side offers", () =>
    Effect.gen(function*() {
      const { address, listener } = yield* listening(yield* EventChannel.make())
      const client = yield* routed(yield* EventChannel.make(), address)
      yield* Effect.forkScoped(
        CmId.connect(client, {
          qpNum: 0x1234,
          privateData: new TextEncoder().encode("hello"),
          responderResources: 3,
          initiatorDepth: 2,
          retryCount: 5,
          rnrRetryCount: 6
        }),
        { startImmediately: true }
      )
      const { conn, id, ud } = yield* CmId.nextRequest(listener)
      assert.isUndefined(ud)
      assert.strictEqual(String((yield* CmId.state(id)).localAddress), address)
      assert.match(String((yield* CmId.state(id)).peerAddress), new RegExp(`^${lane.ownAddress}:`))
      assert.strictEqual((yield* CmId.context(id)).name, lane.device)
      assert.strictEqual(id.channel, listener.channel)
      assert(conn !== undefined)
      assert.strictEqual(new TextDecoder().decode(conn.privateData).replace(/\0+$/, ""), "hello")
      // What this side may read at once is what the other offers to serve.
      assert.deepInclude<object>(conn, { qpNum: 0x1234, responderResources: 2, initiatorDepth: 3, srq: false })
    }))

  it("the id of a request is destroyed once, with the scope that took it", () =>
    recorded(function*(calls) {
      const { address, listener } = yield* listening(yield* EventChannel.make())
      yield* knock(yield* EventChannel.make(), address)
      const id = yield* Effect.scoped(Effect.map(CmId.nextRequest(listener), ({ id }) => id))
      assert.strictEqual(timesCalled(yield* calls, "rdma_destroy_id"), 1)
      yield* usesDeadHandle(CmId.reject(id))
    }))

  it("the id of a request outlives its listener, and not its channel", () =>
    recorded(function*(calls) {
      yield* Effect.scoped(Effect.gen(function*() {
        const channel = yield* EventChannel.make()
        const clients = yield* EventChannel.make()
        const scope = yield* Scope.make()
        const { address, listener } = yield* Scope.provide(listening(channel), scope)
        yield* knock(clients, address)
        const { id } = yield* CmId.nextRequest(listener)
        yield* Scope.close(scope, Exit.void)
        assert.isFalse(Resource.isLive(listener))
        assert.isTrue(Resource.isLive(id))
        yield* CmId.reject(id)
      }))
      yield* LeakCheck.assertNothingAlive
      assert.strictEqual(timesCalled(yield* calls, "rdma_destroy_id"), 3)
    }))

  it("a request that nobody took is destroyed with its listener", () =>
    recorded(function*(calls) {
      const channel = yield* EventChannel.make()
      const clients = yield* EventChannel.make()
      yield* Effect.scoped(Effect.gen(function*() {
        const { address } = yield* listening(channel)
        yield* knock(clients, address)
        // A reader brings the request into the program, and is not given it.
        const reader = yield* Effect.forkScoped(EventChannel.next(channel), { startImmediately: true })
        yield* Effect.sleep("200 millis")
        assert.isUndefined(reader.pollUnsafe())
      }))
      // That of the client, of the request and of the listener.
      assert.strictEqual(timesCalled(yield* calls, "rdma_destroy_id"), 3)
    }))

  it("waiting for a request is interrupted at once, and loses none", () =>
    Effect.gen(function*() {
      const { address, listener } = yield* listening(yield* EventChannel.make())
      yield* assertInterruptible(Effect.scoped(CmId.nextRequest(listener)))
      yield* knock(yield* EventChannel.make(), address)
      yield* assertInterruptible(EventChannel.next(listener.channel))
      const { id } = yield* CmId.nextRequest(listener)
      yield* CmId.reject(id)
    }))

  it("requests to two listeners on one channel come to each its own", () =>
    Effect.gen(function*() {
      const channel = yield* EventChannel.make()
      const clients = yield* EventChannel.make()
      const first = yield* listening(channel)
      const second = yield* listening(channel)
      const both = yield* Effect.forkChild(
        Effect.all([CmId.nextRequest(first.listener), CmId.nextRequest(second.listener)], {
          concurrency: "unbounded"
        }),
        { startImmediately: true }
      )
      yield* knock(clients, second.address)
      yield* knock(clients, first.address)
      const [one, two] = yield* Fiber.join(both)
      assert.strictEqual(String((yield* CmId.state(one.id)).localAddress), first.address)
      assert.strictEqual(String((yield* CmId.state(two.id)).localAddress), second.address)
    }))

  it("three fibers that wait for requests of one listener get one each", () =>
    Effect.gen(function*() {
      const { address, listener } = yield* listening(yield* EventChannel.make())
      const clients = yield* EventChannel.make()
      const waiting = yield* Effect.forkChild(
        Effect.all(Array.from({ length: 3 }, () => CmId.nextRequest(listener)), { concurrency: "unbounded" }),
        { startImmediately: true }
      )
      for (let client = 0; client < 3; client++) yield* knock(clients, address)
      const requests = yield* Fiber.join(waiting)
      assert.strictEqual(new Set(requests.map(({ id }) => Resource.raw(id))).size, 3)
    }))

  it("a listener that goes ends the wait for a request", () =>
    Effect.gen(function*() {
      const channel = yield* EventChannel.make()
      const waiting = yield* Effect.scoped(Effect.gen(function*() {
        const { listener } = yield* listening(channel)
        const fiber = yield* Effect.forkDetach(Effect.scoped(CmId.nextRequest(listener)), { startImmediately: true })
        yield* Effect.sleep("10 millis")
        return fiber
      }))
      yield* usesDeadHandle(Fiber.join(waiting))
    }))
}
