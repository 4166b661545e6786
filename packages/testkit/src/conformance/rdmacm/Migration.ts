/**
 * Conformance of moving an id to another channel.
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
import { namesOf, recorded, timesCalled, usesDeadHandle } from "../../internal/conformance.ts"
import { rdmaCmSuite } from "../../internal/conformanceRdmaCm.ts"
import type * as RdmaCmLane from "../RdmaCmLane.ts"

/**
 * Registers the suite on a lane.
 *
 * @category constructors
 * @since 0.1.0
 */
export const suite = <Others = never>(lane: RdmaCmLane.RdmaCmLane<Others>): void => {
  const { it, listening, routed, connected } = rdmaCmSuite(lane)
  const destination = `${lane.peerAddress}:4791`

  it("a moved id outlives its old channel and goes with the new one", () =>
    recorded(function*(calls) {
      const old = yield* Scope.make()
      const from = yield* Scope.provide(EventChannel.make(), old)
      yield* Effect.scoped(Effect.gen(function*() {
        const to = yield* EventChannel.make()
        const id = yield* CmId.make(from, "tcp")
        yield* CmId.migrate(id, to)
        assert.strictEqual(id.channel, to)
        yield* Scope.close(old, Exit.void)
        assert.isTrue(Resource.isLive(id))
        yield* CmId.resolveAddress(id, { destination })
      }))
      assert.deepStrictEqual(namesOf(yield* calls).slice(-2), ["rdma_destroy_id", "rdma_destroy_event_channel"])
    }))

  it("moving to the channel that it is on is nothing, and to a dead one a defect", () =>
    recorded(function*(calls) {
      const channel = yield* EventChannel.make()
      const id = yield* CmId.make(channel, "tcp")
      yield* CmId.migrate(id, channel)
      yield* usesDeadHandle(Effect.flatMap(Effect.scoped(EventChannel.make()), (dead) => CmId.migrate(id, dead)))
      assert.strictEqual(timesCalled(yield* calls, "rdma_migrate_id"), 0)
    }))

  it("an event that was not read moves along", () =>
    Effect.gen(function*() {
      const from = yield* EventChannel.make()
      const to = yield* EventChannel.make()
      const id = yield* CmId.make(from, "tcp")
      const waiting = yield* Effect.forkChild(CmId.resolveAddress(id, { destination }), { startImmediately: true })
      yield* Effect.yieldNow
      yield* CmId.migrate(id, to)
      yield* Fiber.join(waiting)
      yield* CmId.resolveRoute(id)
      assert.strictEqual((yield* CmId.state(id)).numPaths, 1)
    }))

  it("a listener that is moved gets its requests on the new channel", () =>
    Effect.gen(function*() {
      const { address, listener } = yield* listening(yield* EventChannel.make())
      const waiting = yield* Effect.forkChild(Effect.scoped(CmId.nextRequest(listener)), { startImmediately: true })
      const to = yield* EventChannel.make()
      yield* CmId.migrate(listener, to)
      const client = yield* routed(yield* EventChannel.make(), address)
      const connecting = yield* Effect.forkChild(Effect.flip(CmId.connect(client, { qpNum: 1 })), {
        startImmediately: true
      })
      assert.strictEqual((yield* Fiber.join(waiting)).id.channel, to)
      assert.strictEqual((yield* Fiber.join(connecting))._tag, "ConnectionRejected")
    }))

  it("a connection is moved to a channel of its own, and its end is told there", () =>
    Effect.gen(function*() {
      const { client, server } = yield* connected
      const waiting = yield* Effect.forkChild(CmId.awaitDisconnected(server.id), { startImmediately: true })
      yield* CmId.migrate(server.id, yield* EventChannel.make())
      yield* Effect.all([
        CmId.disconnect(client.id),
        Effect.andThen(Fiber.join(waiting), CmId.disconnect(server.id))
      ], { concurrency: "unbounded" })
    }))
}
