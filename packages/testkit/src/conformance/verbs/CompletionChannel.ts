/**
 * Conformance of completion channels and their events.
 *
 * @since 0.1.0
 */
import * as Resource from "@effect-rdma/core/Resource"
import * as CompletionChannel from "@effect-rdma/verbs/CompletionChannel"
import * as CompletionQueue from "@effect-rdma/verbs/CompletionQueue"
import * as DeviceContext from "@effect-rdma/verbs/DeviceContext"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Scope from "effect/Scope"
import {
  assertInterruptible,
  assertReason,
  namesOf,
  recorded,
  timesCalled,
  usesDeadHandle
} from "../../internal/conformance.ts"
import { verbsSuite } from "../../internal/conformanceVerbs.ts"
import type * as VerbsLane from "../VerbsLane.ts"

/**
 * Registers the suite on a lane.
 *
 * @category constructors
 * @since 0.1.0
 */
export const suite = <Others = never>(lane: VerbsLane.VerbsLane<Others>): void => {
  const { contextAndChannel, it, open } = verbsSuite(lane)

  it("a completion channel is created and destroyed with the scope", () =>
    recorded(function*(calls) {
      yield* Effect.scoped(Effect.flatMap(open, CompletionChannel.make))
      assert.deepStrictEqual(
        namesOf(yield* calls).slice(-3),
        ["ibv_create_comp_channel", "ibv_destroy_comp_channel", "ibv_close_device"]
      )
    }))

  it("a device has at least one interrupt for completions", () =>
    Effect.gen(function*() {
      const count = yield* DeviceContext.numCompVectors(yield* open)
      assert.isTrue(Number.isInteger(count) && count >= 1, `${count}`)
    }))

  it("many channels live side by side", () =>
    Effect.gen(function*() {
      const context = yield* open
      const channels = yield* Effect.forEach(Array.from({ length: 20 }), () => CompletionChannel.make(context))
      assert.strictEqual(new Set(channels.map(Resource.raw)).size, 20)
    }))

  it("a channel with a queue on it refuses with EBUSY, and is unchanged", () =>
    Effect.gen(function*() {
      const { channel, context } = yield* contextAndChannel
      const queue = yield* CompletionQueue.make(context, { cqe: 4, channel })
      const error = yield* Effect.flip(context.verbs.destroyCompChannel(Resource.raw(channel)))
      assertReason(error, "ibv_destroy_comp_channel", "EBUSY")
      yield* CompletionQueue.requestNotification(queue)
    }))

  it("notification can be asked for, solicited or not, with and without a channel", () =>
    Effect.gen(function*() {
      const { channel, context } = yield* contextAndChannel
      const queue = yield* CompletionQueue.make(context, { cqe: 16, channel })
      yield* CompletionQueue.requestNotification(queue)
      yield* CompletionQueue.requestNotification(queue, { solicitedOnly: true })
      yield* CompletionQueue.requestNotification(yield* CompletionQueue.make(context, { cqe: 16 }))
    }))

  it("no completion gives no event", () =>
    Effect.gen(function*() {
      const { channel, context } = yield* contextAndChannel
      const queue = yield* CompletionQueue.make(context, { cqe: 16, channel })
      yield* CompletionQueue.requestNotification(queue)
      yield* assertNoEvent(channel)
    }))

  it("waiting for an event is interrupted at once, again and again", () =>
    Effect.gen(function*() {
      const { channel } = yield* contextAndChannel
      yield* assertInterruptible(CompletionChannel.next(channel))
    }))

  it("waiting for an event ends when the channel goes", () =>
    Effect.gen(function*() {
      const context = yield* open
      const scope = yield* Scope.fork(yield* Effect.scope)
      const channel = yield* CompletionChannel.make(context).pipe(Scope.provide(scope))
      const fibers = yield* Effect.forEach([1, 2], () =>
        Effect.forkChild(usesDeadHandle(CompletionChannel.next(channel)), { startImmediately: true }))
      yield* Effect.yieldNow
      yield* Scope.close(scope, Exit.void)
      for (const fiber of fibers) {
        assert.include((yield* Fiber.join(fiber)).resource, "CompletionChannel")
      }
      yield* usesDeadHandle(CompletionChannel.next(channel))
    }))

  it("a completion after the request gives the event of its queue, once, and one before it none", () =>
    Effect.gen(function*() {
      const { channel, context } = yield* contextAndChannel
      const quiet = yield* CompletionQueue.make(context, { cqe: 16, channel })
      const queue = yield* CompletionQueue.make(context, { cqe: 16, channel })
      yield* CompletionQueue.requestNotification(quiet)
      yield* lane.flush(queue, 1n)
      yield* CompletionQueue.requestNotification(queue)
      const fiber = yield* Effect.forkChild(CompletionChannel.next(channel), { startImmediately: true })
      yield* Effect.sleep("50 millis")
      assert.strictEqual(fiber.pollUnsafe(), undefined)
      yield* lane.flush(queue, 2n)
      assert.strictEqual(yield* Fiber.join(fiber), queue)
      yield* lane.flush(queue, 3n)
      yield* Effect.sleep("50 millis")
      yield* assertNoEvent(channel)
    }))

  it("an interrupted wait loses no event, and an event that nobody got keeps no queue from going", () =>
    recorded(function*(calls) {
      const { channel, context } = yield* contextAndChannel
      yield* Effect.scoped(Effect.gen(function*() {
        const queue = yield* CompletionQueue.make(context, { cqe: 16, channel })
        const fiber = yield* Effect.forkChild(CompletionChannel.next(channel), { startImmediately: true })
        yield* Effect.yieldNow
        yield* CompletionQueue.requestNotification(queue)
        yield* Fiber.interrupt(fiber)
        yield* lane.flush(queue, 1n)
        assert.strictEqual(yield* CompletionChannel.next(channel), queue)
        yield* CompletionQueue.requestNotification(queue)
        yield* lane.flush(queue, 2n)
        yield* Effect.sleep("50 millis")
      }))
      assert.strictEqual(timesCalled(yield* calls, "ibv_destroy_cq"), 1)
      yield* assertNoEvent(channel)
    }))
}

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

const assertNoEvent = (channel: CompletionChannel.CompletionChannel) =>
  Effect.map(
    Effect.flip(channel.context.verbs.getCqEvent(Resource.raw(channel))),
    (error) => assertReason(error, "ibv_get_cq_event", "EAGAIN")
  )
