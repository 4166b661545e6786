/**
 * Conformance of ending connections.
 *
 * @since 0.1.0
 */
import * as CmId from "@effect-rdma/rdmacm/CmId"
import * as EventChannel from "@effect-rdma/rdmacm/EventChannel"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { assertInterruptible, assertReason, recorded, timesCalled, usesDeadHandle } from "../../internal/conformance.ts"
import { rdmaCmSuite } from "../../internal/conformanceRdmaCm.ts"
import type * as RdmaCmLane from "../RdmaCmLane.ts"

/**
 * Registers the suite on a lane.
 *
 * @category constructors
 * @since 0.1.0
 */
export const suite = <Others = never>(lane: RdmaCmLane.RdmaCmLane<Others>): void => {
  const { connected, it, routed, listening } = rdmaCmSuite(lane)

  it("the side that connected disconnects, and the other one learns of it", () =>
    Effect.gen(function*() {
      const { client, server } = yield* connected
      yield* Effect.all([CmId.disconnect(client.id), answer(server.id)], { concurrency: "unbounded" })
    }))

  it("the side that accepted disconnects, and the other one learns of it", () =>
    Effect.gen(function*() {
      const { client, server } = yield* connected
      yield* Effect.all([CmId.disconnect(server.id), answer(client.id)], { concurrency: "unbounded" })
    }))

  it("both sides disconnect at once", () =>
    Effect.gen(function*() {
      const { client, server } = yield* connected
      yield* Effect.all([CmId.disconnect(server.id), CmId.disconnect(client.id)], { concurrency: "unbounded" })
    }))

  it("a released id is a disconnection for the other side", () =>
    Effect.gen(function*() {
      const other = yield* Effect.scoped(Effect.gen(function*() {
        const { client, server } = yield* connected
        const waiting = yield* Effect.forkDetach(Effect.exit(CmId.awaitDisconnected(server.id)), {
          startImmediately: true
        })
        yield* Effect.all([CmId.disconnect(client.id), answer(server.id)], { concurrency: "unbounded" })
        return waiting
      }))
      assert.strictEqual((yield* Fiber.join(other))._tag, "Success")
    }))

  it("several fibers wait for the end of one connection", () =>
    Effect.gen(function*() {
      const { client, server } = yield* connected
      const waiting = yield* Effect.forkChild(
        Effect.all(Array.from({ length: 5 }, () => CmId.awaitDisconnected(server.id)), { concurrency: "unbounded" }),
        { startImmediately: true }
      )
      yield* Effect.all([CmId.disconnect(client.id), answer(server.id)], { concurrency: "unbounded" })
      yield* Fiber.join(waiting)
      // And whoever comes later.
      yield* CmId.awaitDisconnected(server.id)
    }))

  it("the event of a disconnection is left to who asks the channel", () =>
    Effect.gen(function*() {
      const { client, server } = yield* connected
      yield* Effect.all([CmId.disconnect(client.id), answer(server.id)], { concurrency: "unbounded" })
      assert.strictEqual((yield* EventChannel.next(server.id.channel)).event, "disconnected")
    }))

  it("waiting for the end of a connection is interrupted at once", () =>
    Effect.gen(function*() {
      const { server } = yield* connected
      yield* assertInterruptible(CmId.awaitDisconnected(server.id))
    }))

  it("disconnecting twice waits for nothing the second time", () =>
    Effect.gen(function*() {
      const { client, server } = yield* connected
      yield* Effect.all([CmId.disconnect(client.id), answer(server.id)], { concurrency: "unbounded" })
      yield* CmId.disconnect(client.id)
    }))

  it("an id that never connected is refused: EINVAL", () =>
    Effect.gen(function*() {
      const { address } = yield* listening(yield* EventChannel.make())
      const id = yield* routed(yield* EventChannel.make(), address)
      assertReason(yield* Effect.flip(CmId.disconnect(id)), "rdma_disconnect", "EINVAL")
    }))

  it("two seconds after a disconnection, both sides learn that no packet strays any more", () =>
    Effect.gen(function*() {
      const { client, server } = yield* connected
      yield* Effect.all([CmId.disconnect(client.id), answer(server.id)], { concurrency: "unbounded" })
      for (const { id } of [client, server]) {
        assert.strictEqual((yield* EventChannel.next(id.channel)).event, "disconnected")
        assert.strictEqual((yield* EventChannel.next(id.channel)).event, "timewaitExit")
      }
    }))

  it("an id that is not connected has nothing to wait for", () =>
    recorded(function*(calls) {
      const { address } = yield* listening(yield* EventChannel.make())
      const id = yield* routed(yield* EventChannel.make(), address)
      yield* Effect.exit(CmId.disconnect(id))
      assert.strictEqual(timesCalled(yield* calls, "rdma_disconnect"), 1)
    }))

  it("an id that goes ends the wait for its disconnection", () =>
    Effect.gen(function*() {
      const waiting = yield* Effect.scoped(Effect.gen(function*() {
        const { server } = yield* connected
        return yield* Effect.forkDetach(CmId.awaitDisconnected(server.id), { startImmediately: true })
      }))
      // The other side may have gone first.
      const exit = yield* Fiber.await(waiting)
      if (exit._tag === "Failure") yield* usesDeadHandle(exit)
    }))
}

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

/** Waits for the other side to disconnect, and answers. */
const answer = (id: CmId.CmId) => Effect.andThen(CmId.awaitDisconnected(id), CmId.disconnect(id))
