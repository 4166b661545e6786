/**
 * Conformance of extended completion queues.
 *
 * @since 0.1.0
 */
import * as Resource from "@effect-rdma/core/Resource"
import * as CompletionQueue from "@effect-rdma/verbs/CompletionQueue"
import * as DeviceContext from "@effect-rdma/verbs/DeviceContext"
import * as ParentDomain from "@effect-rdma/verbs/ParentDomain"
import * as ProtectionDomain from "@effect-rdma/verbs/ProtectionDomain"
import * as ResourceDomain from "@effect-rdma/verbs/ResourceDomain"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import { assertReason, namesOf, recorded, timesCalled, usesDeadHandle } from "../../internal/conformance.ts"
import { verbsSuite } from "../../internal/conformanceVerbs.ts"
import type * as VerbsLane from "../VerbsLane.ts"

/**
 * Registers the suite on a lane.
 *
 * @category constructors
 * @since 0.1.0
 */
export const suite = <Others = never>(lane: VerbsLane.VerbsLane<Others>): void => {
  const { contextAndChannel, has, it, itWhere, open } = verbsSuite(lane)

  it("an extended queue reports what ibv_poll_cq reports by default, and goes as a queue", () =>
    recorded(function*(calls) {
      const { channel, context } = yield* contextAndChannel
      yield* Effect.scoped(Effect.gen(function*() {
        const queue = yield* CompletionQueue.makeExtended(context, { cqe: 10, channel })
        assert.isAtLeast(queue.cqe, 10)
        assert.strictEqual(queue.channel, channel)
        assert.deepStrictEqual(
          [...queue.wcFlags],
          ["byteLen", "imm", "qpNum", "srcQp", "slid", "sl", "dlidPathBits"]
        )
        assertReason(
          yield* Effect.flip(context.verbs.destroyCompChannel(Resource.raw(channel))),
          "ibv_destroy_comp_channel",
          "EBUSY"
        )
      }))
      assert.deepStrictEqual(namesOf(yield* calls).slice(-1), ["ibv_destroy_cq"])
    }))

  it("an extended queue is made without flags, single threaded, and on every interrupt", () =>
    Effect.gen(function*() {
      const context = yield* open
      const compVector = (yield* DeviceContext.numCompVectors(context)) - 1
      yield* CompletionQueue.makeExtended(context, { cqe: 1, wcFlags: [] })
      yield* CompletionQueue.makeExtended(context, { cqe: 1, singleThreaded: true, compVector })
    }))

  it("an extended queue reports timestamps where the provider can, and is EOPNOTSUPP elsewhere", () =>
    Effect.gen(function*() {
      const context = yield* open
      for (
        const flag of ["completionTimestamp", "cvlan", "flowTag", "tmInfo", "completionTimestampWallclock"] as const
      ) {
        const make = CompletionQueue.makeExtended(context, { cqe: 1, wcFlags: ["byteLen", flag] })
        if (has("timestamps")) assert.deepStrictEqual([...(yield* make).wcFlags], ["byteLen", flag])
        else assertReason(yield* Effect.flip(make), "ibv_create_cq_ex", "EOPNOTSUPP")
      }
    }))

  it("an extended queue ignores overruns where the device can", () =>
    Effect.gen(function*() {
      const make = CompletionQueue.makeExtended(yield* open, { cqe: 1, ignoreOverrun: true })
      if (has("ignoreOverrun")) yield* make
      else assertReason(yield* Effect.flip(make), "ibv_create_cq_ex", "EOPNOTSUPP")
    }))

  it("an extended queue beyond the device is EINVAL", () =>
    Effect.gen(function*() {
      const context = yield* open
      const { maxCqe } = yield* DeviceContext.query(context)
      const compVector = yield* DeviceContext.numCompVectors(context)
      for (const attributes of [{ cqe: maxCqe + 1 }, { cqe: 1, compVector }]) {
        assertReason(
          yield* Effect.flip(CompletionQueue.makeExtended(context, attributes)),
          "ibv_create_cq_ex",
          "EINVAL"
        )
      }
    }))

  it("an extended queue can be resized", () =>
    Effect.gen(function*() {
      const queue = yield* CompletionQueue.makeExtended(yield* open, { cqe: 1 })
      assert.isAtLeast(yield* CompletionQueue.resize(queue, 100), 100)
      assert.strictEqual(yield* CompletionQueue.pollExtended(queue, () => true), 0)
    }))

  it("an empty extended queue has nothing to poll, as often as it is asked", () =>
    Effect.gen(function*() {
      const queue = yield* CompletionQueue.makeExtended(yield* open, { cqe: 16 })
      for (let round = 0; round < 5; round++) {
        assert.strictEqual(yield* CompletionQueue.pollExtended(queue, () => assert.fail("there is none")), 0)
      }
    }))

  it("a poll reads what has completed, takes what it read, and leaves the rest", () =>
    Effect.gen(function*() {
      const queue = yield* CompletionQueue.makeExtended(yield* open, { cqe: 16 })
      for (const wrId of [1n, 0x8000_0000_0000_0002n, 3n, 4n]) yield* lane.flush(queue, wrId)
      const seen: Array<unknown> = []
      const first = yield* CompletionQueue.pollExtended(queue, ({ status, wrId }) => seen.push([wrId, status]) < 2)
      assert.strictEqual(first, 2)
      assert.deepStrictEqual(seen, [[1n, "wrFlushErr"], [0x8000_0000_0000_0002n, "wrFlushErr"]])
      const broken = yield* Effect.exit(CompletionQueue.pollExtended(queue, () => {
        throw new Error("broken")
      }))
      assert.isTrue(Exit.hasDies(broken))
      const rest: Array<unknown> = []
      assert.strictEqual(yield* CompletionQueue.pollExtended(queue, ({ wrId }) => rest.push(wrId) > 0), 1)
      assert.deepStrictEqual(rest, [4n])
      assert.strictEqual(yield* CompletionQueue.pollExtended(queue, () => true), 0)
    }))

  it("a released extended queue cannot be polled", () =>
    Effect.gen(function*() {
      const context = yield* open
      const queue = yield* Effect.scoped(CompletionQueue.makeExtended(context, { cqe: 16 }))
      yield* usesDeadHandle(CompletionQueue.pollExtended(queue, () => true))
    }))

  itWhere(has("experimental"), "the library has no experimental resource domains")(
    "an extended queue cannot take an experimental resource domain: EOPNOTSUPP before any call",
    () =>
      recorded(function*(calls) {
        const context = yield* open
        const domain = yield* ResourceDomain.make(context, { threadModel: "single" })
        assertReason(
          yield* Effect.flip(CompletionQueue.makeExtended(context, { cqe: 4, domain })),
          "ibv_create_cq_ex",
          "EOPNOTSUPP"
        )
        assert.strictEqual(timesCalled(yield* calls, "ibv_create_cq_ex"), 0)
      })
  )

  itWhere(!has("experimental"), "its resource domains are experimental")(
    "an extended queue takes the resource domain, and goes before it",
    () =>
      recorded(function*(calls) {
        const context = yield* open
        const scope = yield* Scope.fork(yield* Effect.scope)
        const domain = yield* ResourceDomain.make(context, { threadModel: "single" }).pipe(Scope.provide(scope))
        const queue = yield* CompletionQueue.makeExtended(context, { cqe: 4, domain })
        assert.strictEqual(queue.domain, domain)
        yield* Scope.close(scope, Exit.void)
        assert.isFalse(Resource.isLive(queue))
        const names = namesOf(yield* calls)
        const released = names.slice(names.indexOf("ibv_destroy_cq"))
        assert.deepStrictEqual(
          released,
          domain.origin._tag === "ThreadDomain"
            ? ["ibv_destroy_cq", "ibv_dealloc_pd", "ibv_dealloc_pd", "ibv_dealloc_td"]
            : ["ibv_destroy_cq"]
        )
      })
  )

  itWhere(has("threadDomains"), "the provider has no parent domains")(
    "an extended queue uses its parent domain: EBUSY while it lives",
    () =>
      Effect.gen(function*() {
        const context = yield* open
        const domain = yield* ParentDomain.alloc(yield* ProtectionDomain.alloc(context))
        yield* CompletionQueue.makeExtended(context, { cqe: 4, domain })
        assertReason(
          yield* Effect.flip(context.verbs.deallocPd(Resource.raw(domain))),
          "ibv_dealloc_pd",
          "EBUSY"
        )
        const other = yield* open
        assertReason(
          yield* Effect.flip(CompletionQueue.makeExtended(other, { cqe: 4, domain })),
          "ibv_create_cq_ex",
          "EINVAL"
        )
      })
  )
}
