/**
 * What libibverbs does with completion channels, completion queues and asynchronous events, as tests of the scoped modules:
 * the same on the in-memory fabric, on Soft-RoCE and on hardware.
 *
 * @since 0.1.0
 */
import * as Resource from "@effect-rdma/core/Resource"
import * as AsyncEvent from "@effect-rdma/verbs/AsyncEvent"
import * as AsyncEvents from "@effect-rdma/verbs/AsyncEvents"
import * as CompletionChannel from "@effect-rdma/verbs/CompletionChannel"
import * as CompletionCounter from "@effect-rdma/verbs/CompletionCounter"
import * as CompletionQueue from "@effect-rdma/verbs/CompletionQueue"
import * as DeviceContext from "@effect-rdma/verbs/DeviceContext"
import * as ParentDomain from "@effect-rdma/verbs/ParentDomain"
import * as ProtectionDomain from "@effect-rdma/verbs/ProtectionDomain"
import * as QueuePair from "@effect-rdma/verbs/QueuePair"
import * as ResourceDomain from "@effect-rdma/verbs/ResourceDomain"
import type * as Verbs from "@effect-rdma/verbs/Verbs"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import {
  assertPath,
  assertReason,
  namesOf,
  recorded,
  testWhere,
  timesCalled,
  usesDeadHandle
} from "../internal/conformance.ts"
import * as Lane from "./Lane.ts"

/**
 * What the suite has to know of the device that it runs on.
 *
 * @category models
 * @since 0.1.0
 */
export interface CompletionLane<Others = never> extends Lane.Lane<Verbs.Verbs | Others> {
  readonly device: string
  /** Whether the provider has `ibv_modify_cq`. */
  readonly moderation: boolean
  /** Whether extended queues report timestamps, VLANs, flow tags and tag matching. */
  readonly timestamps: boolean
  /** Whether the device can be told not to watch for an overrun. */
  readonly ignoreOverrun: boolean
  /** Whether library and provider have completion counters. */
  readonly completionCounters: boolean
  /** Whether the provider has parent domains. */
  readonly parentDomains: boolean
  /** Whether the library has `ibv_exp_create_res_domain`. */
  readonly experimental: boolean
  /** Puts a completion into a queue: a request that is flushed, with this `wrId`. */
  readonly flush: (
    queue: CompletionQueue.CompletionQueue,
    wrId: bigint
  ) => Effect.Effect<void, unknown, Scope.Scope | Others>
  /** Makes the device report `gidChange`; `undefined` where nobody can. */
  readonly changeGids: Effect.Effect<void, never, Others> | undefined
  /** Takes the port of the device down and up again, with an event for each; `undefined` where nobody can. */
  readonly bouncePort: Effect.Effect<void, never, Others> | undefined
}

/**
 * Registers the suite on a lane.
 *
 * @category constructors
 * @since 0.1.0
 */
export const suite = <Others = never>(lane: CompletionLane<Others>): void => {
  const it = Lane.test<Verbs.Verbs | Others>(lane)
  const itWhere = testWhere<Verbs.Verbs | Others>(lane)
  const open = DeviceContext.openByName(lane.device)
  const onBoth = Effect.gen(function*() {
    const context = yield* open
    const channel = yield* CompletionChannel.make(context)
    return { context, channel }
  })

  // ---------------------------------------------------------------------------
  // Channels
  // ---------------------------------------------------------------------------

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
      const { channel, context } = yield* onBoth
      const queue = yield* CompletionQueue.make(context, { cqe: 4, channel })
      const error = yield* Effect.flip(context.verbs.destroyCompChannel(Resource.raw(channel)))
      assertReason(error, "ibv_destroy_comp_channel", "EBUSY")
      yield* CompletionQueue.requestNotification(queue)
    }))

  // ---------------------------------------------------------------------------
  // Queues
  // ---------------------------------------------------------------------------

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
      const { channel, context } = yield* onBoth
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
      const { channel, context } = yield* onBoth
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

  // ---------------------------------------------------------------------------
  // Resize, moderation
  // ---------------------------------------------------------------------------

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
      const { channel, context } = yield* onBoth
      const queue = yield* CompletionQueue.make(context, { cqe: 16, channel })
      const modify = CompletionQueue.modify(queue, { cqCount: 8, cqPeriod: 100 })
      if (lane.moderation) yield* modify
      else assertReason(yield* Effect.flip(modify), "ibv_modify_cq", "EOPNOTSUPP")
      assertPath(yield* Effect.flip(CompletionQueue.modify(queue, { cqCount: 65536, cqPeriod: 0 })), ["cqCount"])
      assertPath(yield* Effect.flip(CompletionQueue.modify(queue, { cqCount: 0, cqPeriod: -1 })), ["cqPeriod"])
    }))

  // ---------------------------------------------------------------------------
  // Events of queues
  // ---------------------------------------------------------------------------

  it("notification can be asked for, solicited or not, with and without a channel", () =>
    Effect.gen(function*() {
      const { channel, context } = yield* onBoth
      const queue = yield* CompletionQueue.make(context, { cqe: 16, channel })
      yield* CompletionQueue.requestNotification(queue)
      yield* CompletionQueue.requestNotification(queue, { solicitedOnly: true })
      yield* CompletionQueue.requestNotification(yield* CompletionQueue.make(context, { cqe: 16 }))
    }))

  it("no completion gives no event", () =>
    Effect.gen(function*() {
      const { channel, context } = yield* onBoth
      const queue = yield* CompletionQueue.make(context, { cqe: 16, channel })
      yield* CompletionQueue.requestNotification(queue)
      const error = yield* Effect.flip(context.verbs.getCqEvent(Resource.raw(channel)))
      assertReason(error, "ibv_get_cq_event", "EAGAIN")
    }))

  it("waiting for an event is interrupted at once, again and again", () =>
    Effect.gen(function*() {
      const { channel } = yield* onBoth
      for (let round = 0; round < 3; round++) {
        const fiber = yield* Effect.forkChild(CompletionChannel.next(channel), { startImmediately: true })
        yield* Effect.yieldNow
        assert.isTrue(Exit.hasInterrupts(yield* Effect.andThen(Fiber.interrupt(fiber), Fiber.await(fiber))))
      }
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
      const { channel, context } = yield* onBoth
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
      assertReason(
        yield* Effect.flip(context.verbs.getCqEvent(Resource.raw(channel))),
        "ibv_get_cq_event",
        "EAGAIN"
      )
    }))

  it("an interrupted wait loses no event, and an event that nobody got keeps no queue from going", () =>
    recorded(function*(calls) {
      const { channel, context } = yield* onBoth
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
      assertReason(
        yield* Effect.flip(context.verbs.getCqEvent(Resource.raw(channel))),
        "ibv_get_cq_event",
        "EAGAIN"
      )
    }))

  // ---------------------------------------------------------------------------
  // Extended queues
  // ---------------------------------------------------------------------------

  it("an extended queue reports what ibv_poll_cq reports by default, and goes as a queue", () =>
    recorded(function*(calls) {
      const { channel, context } = yield* onBoth
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
        if (lane.timestamps) assert.deepStrictEqual([...(yield* make).wcFlags], ["byteLen", flag])
        else assertReason(yield* Effect.flip(make), "ibv_create_cq_ex", "EOPNOTSUPP")
      }
    }))

  it("an extended queue ignores overruns where the device can", () =>
    Effect.gen(function*() {
      const make = CompletionQueue.makeExtended(yield* open, { cqe: 1, ignoreOverrun: true })
      if (lane.ignoreOverrun) yield* make
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

  itWhere(lane.experimental, "the library has no experimental resource domains")(
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

  itWhere(!lane.experimental, "its resource domains are experimental")(
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

  itWhere(lane.parentDomains, "the provider has no parent domains")(
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

  // Where there are none the refusal is a test that runs, so that no lane is without one.
  if (!lane.completionCounters) {
    it("a library or device without completion counters says EOPNOTSUPP", () =>
      Effect.gen(function*() {
        const context = yield* open
        assertReason(yield* Effect.flip(CompletionCounter.make(context)), "ibv_create_comp_cntr", "EOPNOTSUPP")
        assertReason(
          yield* Effect.flip(CompletionCounter.capabilities(context)),
          "ibv_query_comp_cntr_caps",
          "EOPNOTSUPP"
        )
      }))
  } else {
    it("completion counters are set, added to and read, both values of each on their own", () =>
      Effect.gen(function*() {
        const context = yield* open
        const { maxValue } = yield* CompletionCounter.capabilities(context)
        const counter = yield* CompletionCounter.make(context)
        const other = yield* CompletionCounter.make(context, { type: "bytes" })
        assert.strictEqual(yield* CompletionCounter.read(counter), 0n)
        yield* CompletionCounter.set(counter, 40n)
        yield* CompletionCounter.inc(counter, 2n)
        yield* CompletionCounter.setErr(counter, 6n)
        yield* CompletionCounter.incErr(counter, 1n)
        assert.strictEqual(yield* CompletionCounter.read(counter), 42n)
        assert.strictEqual(yield* CompletionCounter.readErr(counter), 7n)
        assert.strictEqual(yield* CompletionCounter.read(other), 0n)
        if (maxValue < 0xffff_ffff_ffff_ffffn) {
          const error = yield* Effect.flip(CompletionCounter.set(counter, maxValue + 1n))
          assertReason(error, "ibv_set_comp_cntr", "EINVAL")
        }
      }))

    it("a counter goes before its context and after the queue pairs that it is attached to", () =>
      recorded(function*(calls) {
        const context = yield* open
        const domain = yield* ProtectionDomain.alloc(context)
        const queue = yield* CompletionQueue.make(context, { cqe: 16 })
        const queuePair = yield* QueuePair.make(domain, { qpType: "rc", sendCq: queue, recvCq: queue })
        const scope = yield* Scope.make()
        const counter = yield* CompletionCounter.make(context).pipe(Scope.provide(scope))
        yield* CompletionCounter.attach(counter, queuePair, ["send", "recv"])
        assertReason(
          yield* Effect.flip(context.verbs.destroyCompCntr(Resource.raw(counter))),
          "ibv_destroy_comp_cntr",
          "EBUSY"
        )
        const before = (yield* calls).length
        yield* Scope.close(scope, Exit.void)
        assert.isFalse(Resource.isLive(queuePair))
        assert.deepStrictEqual(namesOf(yield* calls).slice(before), ["ibv_destroy_qp", "ibv_destroy_comp_cntr"])
      }))
  }

  // ---------------------------------------------------------------------------
  // Asynchronous events
  // ---------------------------------------------------------------------------

  it("a quiet device has no event", () =>
    Effect.gen(function*() {
      const context = yield* open
      const error = yield* Effect.flip(context.verbs.getAsyncEvent(Resource.raw(context)))
      assertReason(error, "ibv_get_async_event", "EAGAIN")
    }))

  it("waiting for an asynchronous event is interrupted at once", () =>
    Effect.gen(function*() {
      const context = yield* open
      for (let round = 0; round < 3; round++) {
        const fiber = yield* Effect.forkChild(AsyncEvents.next(context), { startImmediately: true })
        yield* Effect.yieldNow
        assert.isTrue(Exit.hasInterrupts(yield* Effect.andThen(Fiber.interrupt(fiber), Fiber.await(fiber))))
      }
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
          assert.deepStrictEqual(event, { _tag: "Port", event: "gidChange", portNum: 1 })
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
          { _tag: "Port", event: "portErr", portNum: 1 },
          { _tag: "Port", event: "portActive", portNum: 1 }
        ])
      })
  )
}
