/**
 * Conformance of listeners: who asks is accepted, rejected or dropped, and each handler stands for itself.
 *
 * @since 0.1.0
 */
import * as CmAddress from "@effect-rdma/rdmacm/CmAddress"
import * as Connection from "@effect-rdma/rdmacm/Connection"
import * as Listener from "@effect-rdma/rdmacm/Listener"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { assertInterruptible, assertPath, assertReason, recorded, timesCalled } from "../../internal/conformance.ts"
import { ask, bytes, connectionSuite, echo, nextIncoming, text } from "../../internal/conformanceConnections.ts"
import * as LeakCheck from "../../LeakCheck.ts"
import type * as RdmaCmLane from "../RdmaCmLane.ts"

/**
 * Registers the suite on a lane.
 *
 * @category constructors
 * @since 0.1.0
 */
export const suite = <Others = never>(lane: RdmaCmLane.RdmaCmLane<Others>): void => {
  const { it, listening } = connectionSuite(lane)

  it("a listener knows the port that it got, and another one does not get the same: EADDRINUSE", () =>
    Effect.gen(function*() {
      const { address, listener } = yield* listening
      assert(listener.address._tag !== "IbAddress")
      assert.isAbove(listener.address.port, 0)
      assertReason(yield* Effect.flip(Listener.make({ address })), "rdma_bind_addr", "EADDRINUSE")
    }))

  it("an address of somebody else is EADDRNOTAVAIL, one that is none a SchemaError", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(Listener.make({ address: `${lane.silentAddress}:0` }))
      assertReason(error, "rdma_bind_addr", "EADDRNOTAVAIL")
      assertPath(yield* Effect.flip(Listener.make({ address: "nowhere" })), ["address"])
      assertPath(yield* Effect.flip(Listener.make({ address: `${lane.ownAddress}:0`, backlog: -1 })), ["backlog"])
      yield* LeakCheck.assertNothingAlive
    }))

  it("a listener on every address is reached by that of a device", () =>
    Effect.gen(function*() {
      const listener = yield* Listener.make({ address: "0.0.0.0:23773" })
      const [server, client] = yield* Effect.all([
        Effect.flatMap(nextIncoming(listener), Listener.accept),
        Connection.connect({ address: `${lane.ownAddress}:23773` })
      ], { concurrency: "unbounded" })
      assert.strictEqual(server.device, client.device)
    }))

  it("a connection outlives its listener, and the port can be listened on again", () =>
    Effect.gen(function*() {
      const scope = yield* Scope.make()
      const { address, listener } = yield* Scope.provide(listening, scope)
      const [server, client] = yield* Effect.all([
        Effect.flatMap(nextIncoming(listener), Listener.accept),
        Connection.connect({ address })
      ], { concurrency: "unbounded" })
      yield* Scope.close(scope, Exit.void)
      yield* Effect.forkScoped(echo(server), { startImmediately: true })
      assert.strictEqual(text(yield* ask(client, bytes("still here"))), "still here")
      yield* Listener.make({ address })
    }))

  it("the stream ends with the listener, and the handlers go on until they are done", () =>
    Effect.gen(function*() {
      const scope = yield* Scope.make()
      const { address, listener } = yield* Scope.provide(listening, scope)
      const serving = yield* Effect.forkChild(
        Listener.serve(listener, (incoming) => Effect.flatMap(Listener.accept(incoming), echo)),
        { startImmediately: true }
      )
      yield* Effect.scoped(Effect.gen(function*() {
        const client = yield* Connection.connect({ address })
        assert.strictEqual(text(yield* ask(client, bytes("before"))), "before")
        yield* Scope.close(scope, Exit.void)
        assert.strictEqual(text(yield* ask(client, bytes("after"))), "after")
        assert.isUndefined(serving.pollUnsafe())
      }))
      yield* Fiber.join(serving)
    }))

  it("a handler that fails, dies or is interrupted ends its own connection and no other", () =>
    Effect.gen(function*() {
      const { address, listener } = yield* listening
      const serving = yield* Effect.forkScoped(
        Listener.serve(listener, (incoming) =>
          Effect.gen(function*() {
            const connection = yield* Listener.accept(incoming)
            switch (text(incoming.privateData)) {
              case "fail":
                return yield* Effect.fail("on purpose")
              case "die":
                return yield* Effect.die(new Error("on purpose"))
              case "interrupt":
                return yield* Effect.interrupt
              default:
                return yield* echo(connection)
            }
          })),
        { startImmediately: true }
      )
      const good = yield* Connection.connect({ address, privateData: bytes("good") })
      for (const how of ["fail", "die", "interrupt"]) {
        const bad = yield* Connection.connect({ address, privateData: bytes(how) })
        assert.strictEqual((yield* Effect.flip(Connection.receive(bad)))._tag, "ConnectionClosed", how)
        assert.strictEqual(text(yield* ask(good, bytes(how))), how)
      }
      assert.isUndefined(serving.pollUnsafe())
    }))

  it("interrupting who serves ends its connections", () =>
    Effect.gen(function*() {
      const { address, listener } = yield* listening
      const serving = yield* Effect.forkChild(
        Listener.serve(listener, (incoming) => Effect.flatMap(Listener.accept(incoming), echo)),
        { startImmediately: true }
      )
      const client = yield* Connection.connect({ address })
      yield* ask(client, bytes("there"))
      yield* Fiber.interrupt(serving)
      assert.strictEqual((yield* Effect.flip(Connection.receive(client)))._tag, "ConnectionClosed")
    }))

  it("no more handlers run at once than are allowed; the others wait for their turn", () =>
    Effect.gen(function*() {
      const { address, listener } = yield* listening
      let [running, most] = [0, 0]
      yield* Effect.forkScoped(
        Listener.serve(listener, (incoming) =>
          Effect.gen(function*() {
            most = Math.max(most, ++running)
            yield* Effect.flatMap(Listener.accept(incoming), echo).pipe(
              Effect.ensuring(Effect.sync(() => running--))
            )
          }), { concurrency: 2 }),
        { startImmediately: true }
      )
      const one = Effect.scoped(
        Effect.flatMap(Connection.connect({ address }), (connection) => ask(connection, bytes("hello")))
      )
      yield* Effect.all(Array.from({ length: 5 }, () => one), { concurrency: "unbounded" })
      assert.strictEqual(most, 2)
    }))

  it("a handler that does not answer rejects", () =>
    Effect.gen(function*() {
      const { address, listener } = yield* listening
      yield* Effect.forkScoped(Listener.serve(listener, () => Effect.void), { startImmediately: true })
      const error = yield* Effect.flip(Connection.connect({ address }))
      assert.strictEqual(error._tag, "ConnectionRejected", error.message)
    }))

  it("who is not answered is rejected when the listener goes", () =>
    Effect.gen(function*() {
      const scope = yield* Scope.make()
      const { address, listener } = yield* Scope.provide(listening, scope)
      const connecting = yield* Effect.forkChild(Effect.flip(Connection.connect({ address })), {
        startImmediately: true
      })
      const incoming = yield* nextIncoming(listener)
      yield* Scope.close(scope, Exit.void)
      assert.strictEqual((yield* Fiber.join(connecting))._tag, "ConnectionRejected")
      assert.strictEqual((yield* Effect.flip(Listener.accept(incoming)))._tag, "ConnectionClosed")
      assert.strictEqual((yield* Effect.flip(Listener.reject(incoming)))._tag, "ConnectionClosed")
    }))

  it("the id of a rejected request is destroyed at once", () =>
    recorded(function*(calls) {
      const { address, listener } = yield* listening
      yield* Effect.all([
        Effect.flip(Connection.connect({ address })),
        Effect.flatMap(nextIncoming(listener), Listener.reject)
      ], { concurrency: "unbounded" })
      assert.strictEqual(timesCalled(yield* calls, "rdma_destroy_id"), 2)
    }))

  it("a request is answered once: EINVAL, and what was accepted goes on", () =>
    Effect.gen(function*() {
      const { address, listener } = yield* listening
      const [[incoming, server], client] = yield* Effect.all([
        Effect.flatMap(nextIncoming(listener), (incoming) =>
          Effect.map(Listener.accept(incoming), (server) => [incoming, server] as const)),
        Connection.connect({ address })
      ], { concurrency: "unbounded" })
      const errors = [yield* Effect.flip(Listener.accept(incoming)), yield* Effect.flip(Listener.reject(incoming))]
      for (const error of errors) {
        assertReason(error, "rdma_accept", "EINVAL")
      }
      yield* Connection.send(client, bytes("goes on"))
      assert.strictEqual(text(yield* Connection.receive(server)), "goes on")
    }))

  it("accepting who has gone fails, and leaves nothing", () =>
    Effect.gen(function*() {
      const { address, listener } = yield* listening
      const connecting = yield* Effect.forkChild(Effect.scoped(Connection.connect({ address })), {
        startImmediately: true
      })
      const incoming = yield* nextIncoming(listener)
      yield* Fiber.interrupt(connecting)
      yield* Effect.sleep("200 millis")
      const error = yield* Effect.flip(Listener.accept(incoming))
      assert.notStrictEqual(error._tag, "SchemaError", error.message)
      // Others are served as before.
      const [server] = yield* Effect.all([
        Effect.flatMap(nextIncoming(listener), Listener.accept),
        Connection.connect({ address })
      ], { concurrency: "unbounded" })
      assert.isAbove(server.messageSize, 0)
    }))

  it("waiting for somebody to ask is interrupted at once, and loses nobody", () =>
    Effect.gen(function*() {
      const { address, listener } = yield* listening
      yield* assertInterruptible(nextIncoming(listener))
      const [server, client] = yield* Effect.all([
        Effect.flatMap(nextIncoming(listener), Listener.accept),
        Connection.connect({ address })
      ], { concurrency: "unbounded" })
      assert.strictEqual(CmAddress.format(server.peerAddress), CmAddress.format(client.localAddress))
    }))

  it("private data that does not fit is a SchemaError, and the request can still be answered", () =>
    Effect.gen(function*() {
      const { address, listener } = yield* listening
      const [error] = yield* Effect.all([
        Effect.flip(Connection.connect({ address })),
        Effect.gen(function*() {
          const incoming = yield* nextIncoming(listener)
          assertPath(yield* Effect.flip(Listener.accept(incoming, { privateData: new Uint8Array(196) })), [
            "privateData"
          ])
          assertPath(yield* Effect.flip(Listener.reject(incoming, new Uint8Array(148))), ["privateData"])
          yield* Listener.reject(incoming, new Uint8Array(147).fill(7))
        })
      ], { concurrency: "unbounded" })
      assert(error._tag === "ConnectionRejected", error.message)
      assert.deepStrictEqual(error.privateData, new Uint8Array(147).fill(7))
    }))

  it("several take from one listener, and each request goes to one of them", () =>
    Effect.gen(function*() {
      const { address, listener } = yield* listening
      const take = Effect.flatMap(
        Stream.runCollect(Stream.take(listener.connections, 3)),
        (all) => Effect.forEach(all, (incoming) => Listener.accept(incoming), { concurrency: "unbounded" })
      )
      const [first, second, clients] = yield* Effect.all([
        take,
        take,
        Effect.all(Array.from({ length: 6 }, () => Connection.connect({ address })), { concurrency: "unbounded" })
      ], { concurrency: "unbounded" })
      const peers = [...first, ...second].map(({ peerAddress }) => CmAddress.format(peerAddress))
      assert.deepStrictEqual(
        peers.toSorted(),
        clients.map(({ localAddress }) => CmAddress.format(localAddress)).toSorted()
      )
    }))
}
