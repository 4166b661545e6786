/**
 * Conformance of sets of rsockets, where the library has them.
 *
 * @since 0.1.0
 */
import * as Resource from "@effect-rdma/core/Resource"
import * as RSocket from "@effect-rdma/rdmacm/RSocket"
import * as RSocketPoll from "@effect-rdma/rdmacm/RSocketPoll"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Scope from "effect/Scope"
import { assertInterruptible, assertReason } from "../../internal/conformance.ts"
import { bytes, rsocketSuite } from "../../internal/conformanceRSockets.ts"
import type * as RdmaCmLane from "../RdmaCmLane.ts"

/**
 * Registers the suite on a lane.
 *
 * @category constructors
 * @since 0.1.0
 */
export const suite = <Others = never>(lane: RdmaCmLane.RdmaCmLane<Others>): void => {
  const { connected, it: test } = rsocketSuite(lane)

  if ((lane.rdmaCore ?? 44) < 65) {
    test("rsocket polls: EOPNOTSUPP, since the library is older than rdma-core 65", () =>
      Effect.gen(function*() {
        assertReason(yield* Effect.flip(RSocketPoll.make()), "repoll_create", "EOPNOTSUPP")
      }))
    return
  }

  test("rsocket polls: tells which rsockets are as wanted", () =>
    Effect.gen(function*() {
      const poll = yield* RSocketPoll.make()
      const [one, other] = [yield* connected(), yield* connected()]
      yield* RSocketPoll.add(poll, one.server, ["readable"])
      yield* RSocketPoll.add(poll, other.server, ["readable"])
      const waiting = yield* Effect.forkChild(RSocketPoll.wait(poll), { startImmediately: true })
      yield* Effect.sleep("20 millis")
      assert.isUndefined(waiting.pollUnsafe())
      yield* RSocket.write(other.client, bytes("!"))
      const [ready, ...others] = yield* Fiber.join(waiting)
      assert.strictEqual(ready?.socket, other.server)
      assert.deepInclude(ready, { isReadable: true, isWritable: false, isHungUp: false, isBroken: false })
      assert.deepStrictEqual(others, [])
      yield* RSocketPoll.add(poll, one.client, ["writable"])
      assert.strictEqual((yield* RSocketPoll.wait(poll)).length, 2)
    }))

  test("rsocket polls: the same rsocket twice: EEXIST, and again after it left", () =>
    Effect.gen(function*() {
      const poll = yield* RSocketPoll.make()
      const { client } = yield* connected()
      const add = RSocketPoll.add(poll, client, ["writable"])
      yield* Effect.scoped(Effect.andThen(
        add,
        Effect.map(Effect.flip(Effect.scoped(add)), (error) => assertReason(error, "repoll_ctl", "EEXIST"))
      ))
      yield* add
    }))

  test("rsocket polls: what is added while somebody waits counts, and waiting can be interrupted", () =>
    Effect.gen(function*() {
      const poll = yield* RSocketPoll.make()
      yield* assertInterruptible(RSocketPoll.wait(poll))
      const waiting = yield* Effect.forkChild(RSocketPoll.wait(poll), { startImmediately: true })
      const { client } = yield* connected()
      yield* RSocketPoll.add(poll, client, ["writable"])
      assert.strictEqual((yield* Fiber.join(waiting))[0]?.socket, client)
    }))

  test("rsocket polls: a released rsocket leaves the set before, and the set goes in any order", () =>
    Effect.gen(function*() {
      const [pollScope, socketScope] = [yield* Scope.make(), yield* Scope.make()]
      const poll = yield* Scope.provide(RSocketPoll.make(), pollScope)
      const { server } = yield* Scope.provide(connected(), socketScope)
      const member = yield* RSocketPoll.add(poll, server, ["readable"])
      const waiting = yield* Effect.forkChild(RSocketPoll.wait(poll), { startImmediately: true })
      yield* Effect.sleep("20 millis")
      yield* Scope.close(socketScope, Exit.void)
      assert.isFalse(Resource.isLive(member))
      assert.isUndefined(waiting.pollUnsafe())
      yield* Scope.close(pollScope, Exit.void)
      assert.include(String(yield* Fiber.await(waiting)), "UseAfterRelease")
    }))
}
