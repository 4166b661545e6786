/**
 * Conformance of programs that fail, end early or run at once: whatever they made is released.
 *
 * @since 0.1.0
 */
import * as Resource from "@effect-rdma/core/Resource"
import * as AddressHandle from "@effect-rdma/verbs/AddressHandle"
import * as Port from "@effect-rdma/verbs/Port"
import * as ProtectionDomain from "@effect-rdma/verbs/ProtectionDomain"
import * as ResourceDomain from "@effect-rdma/verbs/ResourceDomain"
import { assert } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Scope from "effect/Scope"
import type * as Faults from "../../Faults.ts"
import { assertReason, recorded, timesCalled } from "../../internal/conformance.ts"
import { verbsSuite } from "../../internal/conformanceVerbs.ts"
import * as LeakCheck from "../../LeakCheck.ts"
import type * as VerbsLane from "../VerbsLane.ts"

/**
 * Registers the suite on a lane.
 *
 * @category constructors
 * @since 0.1.0
 */
export const suite = <Others = never>(lane: VerbsLane.VerbsLane<Others>): void => {
  const { domain, it, open } = verbsSuite(lane)

  const stack = Effect.gen(function*() {
    const context = yield* open
    yield* Effect.yieldNow
    const pd = yield* ProtectionDomain.alloc(context)
    yield* Effect.yieldNow
    yield* AddressHandle.make(pd, lane.peer)
    yield* Effect.yieldNow
    yield* ResourceDomain.make(context, { threadModel: "single" })
    yield* Effect.yieldNow
    return pd
  })

  it("a program that is interrupted leaves nothing behind", () =>
    Effect.gen(function*() {
      const ready = yield* Deferred.make<void>()
      const fiber = yield* Effect.forkChild(
        Effect.scoped(Effect.andThen(stack, Effect.andThen(Deferred.succeed(ready, undefined), Effect.never)))
      )
      yield* Deferred.await(ready)
      yield* Fiber.interrupt(fiber)
      assert.isTrue(Exit.hasInterrupts(yield* Fiber.await(fiber)))
      yield* LeakCheck.assertNothingAlive
    }))

  it("a program that is interrupted after any of its steps leaves nothing behind", () =>
    recorded(function*(calls) {
      let interrupted = 0
      for (let steps = 0; steps < 12; steps++) {
        const fiber = yield* Effect.forkChild(Effect.scoped(stack), { startImmediately: true })
        for (let step = 0; step < steps; step++) yield* Effect.yieldNow
        yield* Fiber.interrupt(fiber)
        if (Exit.hasInterrupts(yield* Fiber.await(fiber))) interrupted++
        yield* LeakCheck.assertNothingAlive
      }
      assert.isAbove(interrupted, 3)
      assertBalanced(yield* calls)
    }))

  it("a failure in the middle releases what was made before it and stays the failure", () =>
    recorded(function*(calls) {
      const error = yield* Effect.flip(Effect.scoped(Effect.andThen(stack, Effect.fail("the reason"))))
      assert.strictEqual(error, "the reason")
      assertBalanced(yield* calls)
      yield* LeakCheck.assertNothingAlive
    }))

  it("a native failure in the middle releases what was made before it and stays the failure", () =>
    recorded(function*(calls) {
      const error = yield* Effect.flip(Effect.scoped(Effect.flatMap(stack, ({ context }) => Port.query(context, 200))))
      assertReason(error, "ibv_query_port", "EINVAL")
      assertBalanced(yield* calls)
    }))

  it("a defect in the middle releases what was made before it and stays the defect", () =>
    recorded(function*(calls) {
      const exit = yield* Effect.exit(Effect.scoped(Effect.andThen(stack, Effect.die("the bug"))))
      assert.strictEqual(Exit.isFailure(exit) && Cause.squash(exit.cause), "the bug")
      assertBalanced(yield* calls)
    }))

  it("thirty programs at once, a third of them failing, leave nothing behind", () =>
    recorded(function*(calls) {
      const exits = yield* Effect.all(
        Array.from({ length: 30 }, (_, index) =>
          Effect.exit(Effect.scoped(index % 3 === 0 ? Effect.andThen(stack, Effect.fail(index)) : stack))),
        { concurrency: "unbounded" }
      )
      assert.strictEqual(exits.filter(Exit.isSuccess).length, 20)
      assertBalanced(yield* calls)
    }))

  it("the first failure of programs that run together releases the handles of all", () =>
    recorded(function*(calls) {
      const waits = Effect.scoped(Effect.andThen(stack, Effect.never))
      const fails = Effect.scoped(Effect.andThen(stack, Effect.fail("first")))
      const error = yield* Effect.flip(Effect.all([waits, fails, waits], { concurrency: "unbounded" }))
      assert.strictEqual(error, "first")
      assertBalanced(yield* calls)
      yield* LeakCheck.assertNothingAlive
    }))

  it("the loser of a race has released its handles when the race is over", () =>
    recorded(function*(calls) {
      const winner = yield* Effect.race(
        Effect.scoped(Effect.as(stack, "fast")),
        Effect.scoped(Effect.andThen(stack, Effect.never))
      )
      assert.strictEqual(winner, "fast")
      assertBalanced(yield* calls)
      yield* LeakCheck.assertNothingAlive
    }))

  it("a timeout releases the handles of what it cut off", () =>
    recorded(function*(calls) {
      const error = yield* Effect.flip(
        Effect.scoped(Effect.andThen(stack, Effect.never)).pipe(Effect.timeout("20 millis"))
      )
      assert.strictEqual(error._tag, "TimeoutError")
      assertBalanced(yield* calls)
      yield* LeakCheck.assertNothingAlive
    }))

  it("closing one scope from two fibers releases once, and both wait for it", () =>
    recorded(function*(calls) {
      const context = yield* open
      const scope = yield* Scope.make()
      const pd = yield* ProtectionDomain.alloc(context).pipe(Scope.provide(scope))
      yield* AddressHandle.make(pd, lane.peer).pipe(Scope.provide(scope))
      yield* Effect.all([Scope.close(scope, Exit.void), Scope.close(scope, Exit.void)], { concurrency: "unbounded" })
      assert.isFalse(Resource.isLive(pd))
      assert.strictEqual(timesCalled(yield* calls, "ibv_dealloc_pd"), 1)
      assert.strictEqual(timesCalled(yield* calls, "ibv_destroy_ah"), 1)
    }))

  it("a failed creation leaves its domain as usable as it was", () =>
    Effect.gen(function*() {
      const pd = yield* domain
      yield* Effect.flip(AddressHandle.make(pd, { ...lane.peer, portNum: 200 }))
      yield* AddressHandle.make(pd, lane.peer)
    }))

  it("a reason that is caught by its name is handled, and another one passes", () =>
    Effect.gen(function*() {
      const context = yield* open
      const caught = yield* Port.query(context, 200).pipe(
        Effect.catchReason("VerbsError", "EINVAL", (reason, error) => {
          const errno: number = reason.errno
          return Effect.succeed(`${error.call} ${reason._tag} ${errno}`)
        })
      )
      assert.strictEqual(caught, "ibv_query_port EINVAL 22")
      const passed = yield* Effect.flip(
        Port.pkey(context, 200, 0).pipe(Effect.catchReason("VerbsError", "EINVAL", () => Effect.succeed("caught")))
      )
      assertReason(passed, "ibv_query_pkey", "ENOENT")
    }))
}

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

const pairs = [
  ["ibv_open_device", "ibv_close_device"],
  ["ibv_alloc_pd", "ibv_dealloc_pd"],
  ["ibv_create_ah", "ibv_destroy_ah"],
  ["ibv_get_device_list", "ibv_free_device_list"]
] as const

/** Of a program in which no creation failed: each was released. */
const assertBalanced = (calls: ReadonlyArray<Faults.ObservedCall>): void => {
  for (const [acquire, release] of pairs) {
    const parents = acquire === "ibv_alloc_pd" ? timesCalled(calls, "ibv_alloc_parent_domain") : 0
    assert.strictEqual(timesCalled(calls, release), timesCalled(calls, acquire) + parents, release)
  }
}
