/**
 * Conformance of the end of connections: who learns of it, how, and what is still given.
 *
 * @since 0.1.0
 */
import * as CmId from "@effect-rdma/rdmacm/CmId"
import * as Connection from "@effect-rdma/rdmacm/Connection"
import * as EventChannel from "@effect-rdma/rdmacm/EventChannel"
import * as Listener from "@effect-rdma/rdmacm/Listener"
import { ShutdownGrace } from "@effect-rdma/rdmacm/ShutdownGrace"
import { InterruptionGrace } from "@effect-rdma/verbs/WaitStrategy"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Result from "effect/Result"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { namesOf, recorded, usesDeadHandle } from "../../internal/conformance.ts"
import { bytes, connectionSuite, nextIncoming, text } from "../../internal/conformanceConnections.ts"
import { rdmaCmSuite, serve } from "../../internal/conformanceRdmaCm.ts"
import * as LeakCheck from "../../LeakCheck.ts"
import type * as RdmaCmLane from "../RdmaCmLane.ts"

/**
 * Registers the suite on a lane.
 *
 * @category constructors
 * @since 0.1.0
 */
export const suite = <Others = never>(lane: RdmaCmLane.RdmaCmLane<Others>): void => {
  const { connected, it, listening } = connectionSuite(lane)
  const low = rdmaCmSuite(lane)
  const now = Effect.sync(() => performance.now())

  /** Both sides, the client in a scope that can be closed before. */
  const withClientScope = Effect.fnUntraced(function*(options: Parameters<typeof connected>[0] = {}) {
    const { address, listener } = yield* listening
    const scope = yield* Scope.make()
    yield* Effect.addFinalizer((exit) => Scope.close(scope, exit))
    const [server, client] = yield* Effect.all([
      Effect.flatMap(nextIncoming(listener), (incoming) => Listener.accept(incoming, options)),
      Scope.provide(Connection.connect({ address, ...options }), scope)
    ], { concurrency: "unbounded" })
    return { server, client, closeClient: Scope.close(scope, Exit.void) }
  })

  it("a connection disconnects before its queues are destroyed, and those before its id", () =>
    recorded(function*(calls) {
      const { address, listener } = yield* listening
      yield* Effect.forkScoped(
        Listener.serve(listener, (incoming) => Effect.flatMap(Listener.accept(incoming), Connection.awaitEnd)),
        { startImmediately: true }
      )
      let before = 0
      yield* Effect.scoped(Effect.gen(function*() {
        const { id } = yield* Connection.connect({ address })
        before = (yield* calls).length
        assert.isDefined((yield* CmId.state(id)).verbs)
      }))
      const names = namesOf((yield* calls).slice(before))
      const order = (["rdma_disconnect", "ibv_destroy_qp", "ibv_dereg_mr", "rdma_destroy_id"] as const).map((name) =>
        names.indexOf(name)
      )
      assert.notInclude(order, -1)
      assert.deepStrictEqual(order, order.toSorted((a, b) => a - b))
    }))

  it("the other side gets what has arrived, and then ConnectionClosed", () =>
    Effect.gen(function*() {
      const { client, closeClient, server } = yield* withClientScope()
      for (const word of ["one", "two", "three"]) yield* Connection.send(client, bytes(word))
      yield* closeClient
      yield* Connection.awaitEnd(server)
      assert.deepStrictEqual((yield* Stream.runCollect(Connection.messages(server))).map(text), ["one", "two", "three"])
      assert.strictEqual((yield* Effect.flip(Connection.receive(server)))._tag, "ConnectionClosed")
      assert.strictEqual((yield* Effect.flip(Connection.send(server, bytes("late"))))._tag, "ConnectionClosed")
    }))

  it("who waits for a message learns that the other side has ended the connection", () =>
    Effect.gen(function*() {
      const { closeClient, server } = yield* withClientScope()
      const waiting = yield* Effect.forkChild(Effect.flip(Connection.receive(server)), { startImmediately: true })
      const watching = yield* Effect.forkChild(Connection.awaitEnd(server), { startImmediately: true })
      yield* closeClient
      assert.strictEqual((yield* Fiber.join(waiting))._tag, "ConnectionClosed")
      yield* Fiber.join(watching)
    }))

  it("who sends without end when the other side goes gets a typed error", () =>
    Effect.gen(function*() {
      const { closeClient, server } = yield* withClientScope({ sendDepth: 4, receiveDepth: 4 })
      const sending = yield* Effect.forkChild(
        Effect.flip(Effect.forever(Connection.send(server, new Uint8Array(1000)))),
        { startImmediately: true }
      )
      const waiting = yield* Effect.forkChild(Effect.flip(Effect.forever(Connection.send(server, bytes("more")))), {
        startImmediately: true
      })
      yield* Effect.sleep("100 millis")
      yield* closeClient
      for (const fiber of [sending, waiting]) {
        assert.include(["ConnectionClosed", "WorkCompletionError"], (yield* Fiber.join(fiber))._tag)
      }
      assert.include(["ConnectionClosed", "WorkCompletionError"], (yield* Effect.flip(Connection.receive(server)))._tag)
    }))

  it("both sides end it at once, and neither waits for the grace", () =>
    Effect.gen(function*() {
      const { address, listener } = yield* listening
      const millis = yield* Effect.flatMap(
        Effect.all([
          Effect.scoped(Effect.andThen(Effect.flatMap(nextIncoming(listener), Listener.accept), now)),
          Effect.scoped(Effect.andThen(Connection.connect({ address }), now))
        ], { concurrency: "unbounded" }),
        ([server, client]) => Effect.map(now, (ended) => ended - Math.max(server, client))
      )
      assert.isBelow(millis, 10_000)
    }).pipe(Effect.provideService(ShutdownGrace, "30 seconds")))

  it("a receiver in another fiber ends with the scope of its connection, and what is used after that is dead", () =>
    Effect.gen(function*() {
      const { client, closeClient } = yield* withClientScope()
      const waiting = yield* Effect.forkChild(Effect.flip(Connection.receive(client)), { startImmediately: true })
      yield* closeClient
      assert.strictEqual((yield* Fiber.join(waiting))._tag, "ConnectionClosed")
      yield* usesDeadHandle(Connection.send(client, bytes("late")))
      yield* usesDeadHandle(Connection.receive(client))
    }))

  it("those who send in other fibers end with the scope of the connection, wherever they wait", () =>
    Effect.gen(function*() {
      const { client, closeClient } = yield* withClientScope({ sendDepth: 2, receiveDepth: 1 })
      const sending = yield* Effect.forkChild(
        Effect.all(Array.from({ length: 6 }, () => Effect.result(Connection.send(client, bytes("more")))), {
          concurrency: "unbounded"
        }),
        { startImmediately: true }
      )
      yield* Effect.sleep("50 millis")
      yield* closeClient
      const [first, ...others] = yield* Fiber.join(sending)
      assert.isTrue(first !== undefined && Result.isSuccess(first))
      for (const other of others) {
        assert.strictEqual(Result.isFailure(other) ? other.failure._tag : "sent", "ConnectionClosed")
      }
      // They were flushed, and not waited for.
    }).pipe(Effect.provideService(InterruptionGrace, "10 minutes")))

  it("a message that is too long for the other side ends the connection on both sides", () =>
    Effect.gen(function*() {
      const { client, server } = yield* connected({ messageSize: 4096 }, { messageSize: 64 })
      const waiting = yield* Effect.forkChild(Effect.flip(Connection.receive(server)), { startImmediately: true })
      const error = yield* Effect.flip(Connection.send(client, new Uint8Array(4096)))
      assert.include(["WorkCompletionError", "ConnectionClosed"], error._tag)
      assert.include(["WorkCompletionError", "ConnectionClosed"], (yield* Fiber.join(waiting))._tag)
      yield* Effect.all([Connection.awaitEnd(client), Connection.awaitEnd(server)])
    }))

  it("the release waits for a side that does not answer for as long as the grace, and no longer", () =>
    Effect.gen(function*() {
      const { address, listener } = yield* low.listening(yield* EventChannel.make())
      const silent = yield* Effect.forkScoped(serve(listener), { startImmediately: true })
      const connected = yield* Effect.scoped(Effect.andThen(Connection.connect({ address }), now))
      assert.isAtLeast((yield* now) - connected, 500)
      yield* Fiber.join(silent)
    }).pipe(Effect.provideService(ShutdownGrace, "500 millis")))

  it("whatever order the scopes end in, a connection leaves nothing", () =>
    Effect.gen(function*() {
      yield* Effect.scoped(connected())
      yield* LeakCheck.assertNothingAlive
      yield* Effect.flip(Effect.scoped(Effect.andThen(connected(), Effect.fail("in the middle"))))
      yield* LeakCheck.assertNothingAlive
    }))
}
