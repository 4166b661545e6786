/**
 * Conformance of completion queues.
 *
 * @since 0.1.0
 */
import * as CompletionChannel from "@effect-rdma/verbs/CompletionChannel"
import * as CompletionQueue from "@effect-rdma/verbs/CompletionQueue"
import * as DeviceContext from "@effect-rdma/verbs/DeviceContext"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import { assertPath, assertReason, namesOf, recorded, timesCalled, usesDeadHandle } from "../../internal/conformance.ts"
import { verbsSuite } from "../../internal/conformanceVerbs.ts"
import type * as VerbsLane from "../VerbsLane.ts"

/**
 * Registers the suite on a lane.
 *
 * @category constructors
 * @since 0.1.0
 */
export const suite = <Others = never>(lane: VerbsLane.VerbsLane<Others>): void => {
  const { contextAndChannel, has, it, open } = verbsSuite(lane)

  it("a completion queue holds at least what was asked for", () =>
    Effect.gen(function*() {
      const context = yield* open
      for (const cqe of [1, 2, 3, 16, 100, 1023]) {
        const queue = yield* CompletionQueue.make(context, { cqe })
        assert.isAtLeast(queue.cqe, cqe)
        assert.strictEqual(queue.channel, undefined)
        assert.strictEqual(queue.context, context)
      }
    }))

  it("the room of a queue is a power of two, less one", () =>
    Effect.gen(function*() {
      const context = yield* open
      const rooms = yield* Effect.forEach([1, 2, 3, 16, 100], (cqe) => CompletionQueue.make(context, { cqe }))
      assert.deepStrictEqual(rooms.map(({ cqe }) => cqe), [1, 3, 3, 31, 127])
    }))

  it("the largest completion queue of the device is made, and one more place is EINVAL", () =>
    Effect.gen(function*() {
      const context = yield* open
      const { maxCqe } = yield* DeviceContext.query(context)
      const queue = yield* CompletionQueue.make(context, { cqe: maxCqe })
      assert.isAtLeast(queue.cqe, maxCqe)
      const error = yield* Effect.flip(CompletionQueue.make(context, { cqe: maxCqe + 1 }))
      assertReason(error, "ibv_create_cq", "EINVAL")
    }))

  it("every interrupt of the device serves a queue, and one beyond them is EINVAL", () =>
    Effect.gen(function*() {
      const { channel, context } = yield* contextAndChannel
      const count = yield* DeviceContext.numCompVectors(context)
      for (let compVector = 0; compVector < count; compVector++) {
        yield* CompletionQueue.make(context, { cqe: 1, channel, compVector })
      }
      const error = yield* Effect.flip(CompletionQueue.make(context, { cqe: 1, channel, compVector: count }))
      assertReason(error, "ibv_create_cq", "EINVAL")
    }))

  it("attributes out of range never reach C", () =>
    recorded(function*(calls) {
      const context = yield* open
      const before = (yield* calls).length
      for (const cqe of [0, -1, 2 ** 31, 1.5]) {
        assertPath(yield* Effect.flip(CompletionQueue.make(context, { cqe })), ["cqe"])
        assertPath(yield* Effect.flip(CompletionQueue.makeExtended(context, { cqe })), ["cqe"])
      }
      assertPath(yield* Effect.flip(CompletionQueue.make(context, { cqe: 1, compVector: -1 })), ["compVector"])
      assert.strictEqual((yield* calls).length, before)
    }))

  it("a queue that is refused leaves the channel free", () =>
    Effect.gen(function*() {
      const { channel, context } = yield* contextAndChannel
      const { maxCqe } = yield* DeviceContext.query(context)
      yield* Effect.flip(CompletionQueue.make(context, { cqe: maxCqe + 1, channel }))
      yield* Effect.flip(CompletionQueue.makeExtended(context, { cqe: maxCqe + 1, channel }))
    }))

  it("queues go before their channel, whichever scope closes first", () =>
    recorded(function*(calls) {
      const context = yield* open
      const inner = yield* Scope.fork(yield* Effect.scope)
      const channel = yield* CompletionChannel.make(context).pipe(Scope.provide(inner))
      const queues = yield* Effect.forEach([1, 2], (cqe) => CompletionQueue.make(context, { cqe, channel }))
      yield* Scope.close(inner, Exit.void)
      assert.deepStrictEqual(
        namesOf(yield* calls).slice(-3),
        ["ibv_destroy_cq", "ibv_destroy_cq", "ibv_destroy_comp_channel"]
      )
      for (const queue of queues) yield* usesDeadHandle(CompletionQueue.requestNotification(queue))
      yield* usesDeadHandle(CompletionQueue.make(context, { cqe: 1, channel }))
    }))

  it("a channel of another context is EINVAL before any call", () =>
    recorded(function*(calls) {
      const one = yield* open
      const channel = yield* Effect.flatMap(open, CompletionChannel.make)
      assertReason(yield* Effect.flip(CompletionQueue.make(one, { cqe: 1, channel })), "ibv_create_cq", "EINVAL")
      assertReason(
        yield* Effect.flip(CompletionQueue.makeExtended(one, { cqe: 1, channel })),
        "ibv_create_cq_ex",
        "EINVAL"
      )
      assert.strictEqual(timesCalled(yield* calls, "ibv_create_cq"), 0)
      assert.strictEqual(timesCalled(yield* calls, "ibv_create_cq_ex"), 0)
    }))

  it("a queue grows and shrinks", () =>
    Effect.gen(function*() {
      const queue = yield* CompletionQueue.make(yield* open, { cqe: 4 })
      assert.isAtLeast(yield* CompletionQueue.resize(queue, 500), 500)
      const small = yield* CompletionQueue.resize(queue, 3)
      assert.isTrue(small >= 3 && small < 500, `${small}`)
      yield* CompletionQueue.requestNotification(queue)
    }))

  it("a queue does not grow beyond the device: EINVAL, and it stays", () =>
    Effect.gen(function*() {
      const context = yield* open
      const { maxCqe } = yield* DeviceContext.query(context)
      const queue = yield* CompletionQueue.make(context, { cqe: 4 })
      assertReason(yield* Effect.flip(CompletionQueue.resize(queue, maxCqe + 1)), "ibv_resize_cq", "EINVAL")
      assertPath(yield* Effect.flip(CompletionQueue.resize(queue, 0)), [])
      assert.isAtLeast(yield* CompletionQueue.resize(queue, 8), 8)
    }))

  it("events are moderated where the provider can, and EOPNOTSUPP elsewhere", () =>
    Effect.gen(function*() {
      const { channel, context } = yield* contextAndChannel
      const queue = yield* CompletionQueue.make(context, { cqe: 16, channel })
      const modify = CompletionQueue.modify(queue, { cqCount: 8, cqPeriod: 100 })
      if (has("moderation")) yield* modify
      else assertReason(yield* Effect.flip(modify), "ibv_modify_cq", "EOPNOTSUPP")
      assertPath(yield* Effect.flip(CompletionQueue.modify(queue, { cqCount: 65536, cqPeriod: 0 })), ["cqCount"])
      assertPath(yield* Effect.flip(CompletionQueue.modify(queue, { cqCount: 0, cqPeriod: -1 })), ["cqPeriod"])
    }))
}
