/**
 * Conformance of asynchronous events.
 *
 * @since 0.1.0
 */
import * as Resource from "@effect-rdma/core/Resource"
import * as AsyncEvent from "@effect-rdma/verbs/AsyncEvent"
import * as AsyncEvents from "@effect-rdma/verbs/AsyncEvents"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { assertInterruptible, assertReason, usesDeadHandle } from "../../internal/conformance.ts"
import { verbsSuite } from "../../internal/conformanceVerbs.ts"
import type * as VerbsLane from "../VerbsLane.ts"

/**
 * Registers the suite on a lane.
 *
 * @category constructors
 * @since 0.1.0
 */
export const suite = <Others = never>(lane: VerbsLane.VerbsLane<Others>): void => {
  const { it, itWhere, open } = verbsSuite(lane)

  it("a quiet device has no event", () =>
    Effect.gen(function*() {
      const context = yield* open
      const error = yield* Effect.flip(context.verbs.getAsyncEvent(Resource.raw(context)))
      assertReason(error, "ibv_get_async_event", "EAGAIN")
    }))

  it("waiting for an asynchronous event is interrupted at once", () =>
    Effect.gen(function*() {
      const context = yield* open
      yield* assertInterruptible(AsyncEvents.next(context))
    }))

  it("waiting for an asynchronous event ends when the context goes", () =>
    Effect.gen(function*() {
      const scope = yield* Scope.fork(yield* Effect.scope)
      const context = yield* open.pipe(Scope.provide(scope))
      const fiber = yield* Effect.forkChild(usesDeadHandle(AsyncEvents.next(context)), { startImmediately: true })
      yield* Effect.yieldNow
      yield* Scope.close(scope, Exit.void)
      assert.include((yield* Fiber.join(fiber)).resource, "DeviceContext")
    }))

  const { bouncePort, changeGids } = lane
  itWhere(changeGids !== undefined, "nobody can change its GIDs")(
    "a change of the GID table is an event of the port, on every context",
    () =>
      Effect.gen(function*() {
        const contexts = [yield* open, yield* open]
        const fibers = yield* Effect.forEach(contexts, (context) =>
          Effect.forkChild(
            Stream.runHead(Stream.filter(AsyncEvents.stream(context), ({ event }) => event === "gidChange")),
            { startImmediately: true }
          ))
        yield* Effect.yieldNow
        yield* changeGids ?? Effect.void
        for (const fiber of fibers) {
          const event = yield* Effect.fromOption(yield* Fiber.join(fiber))
          assert.deepStrictEqual(event, { _tag: "Port", event: "gidChange", portNum: lane.port })
          assert.strictEqual(AsyncEvent.format(event), "GID table change")
        }
      })
  )

  itWhere(bouncePort !== undefined, "nobody can take its port down")(
    "a port that goes down and comes up is an event each",
    () =>
      Effect.gen(function*() {
        const context = yield* open
        yield* bouncePort ?? Effect.void
        const events = yield* AsyncEvents.stream(context).pipe(
          Stream.filter(({ event }) => event === "portErr" || event === "portActive"),
          Stream.take(2),
          Stream.runCollect
        )
        assert.deepStrictEqual(Array.from(events), [
          { _tag: "Port", event: "portErr", portNum: lane.port },
          { _tag: "Port", event: "portActive", portNum: lane.port }
        ])
      })
  )
}
