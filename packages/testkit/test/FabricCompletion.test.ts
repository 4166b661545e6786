import * as Pointer from "@effect-rdma/core/Pointer"
import { ReleaseError } from "@effect-rdma/core/ReleaseError"
import * as Resource from "@effect-rdma/core/Resource"
import * as Fabric from "@effect-rdma/testkit/Fabric"
import * as Faults from "@effect-rdma/testkit/Faults"
import * as LeakCheck from "@effect-rdma/testkit/LeakCheck"
import * as Topology from "@effect-rdma/testkit/Topology"
import * as AsyncEvent from "@effect-rdma/verbs/AsyncEvent"
import * as AsyncEvents from "@effect-rdma/verbs/AsyncEvents"
import * as CompletionChannel from "@effect-rdma/verbs/CompletionChannel"
import * as CompletionCounter from "@effect-rdma/verbs/CompletionCounter"
import * as CompletionQueue from "@effect-rdma/verbs/CompletionQueue"
import * as DeviceContext from "@effect-rdma/verbs/DeviceContext"
import type * as ExtendedCompletion from "@effect-rdma/verbs/ExtendedCompletion"
import { Verbs } from "@effect-rdma/verbs/Verbs"
import { assert, describe, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { assertReason } from "../src/internal/conformance.ts"
import { assertMisuse } from "./observe.ts"

const assertRefused = <A, E extends Parameters<typeof assertReason>[0], R>(
  run: Effect.Effect<A, E, R>,
  call: string,
  reason: Parameters<typeof assertReason>[2]
) => Effect.map(Effect.flip(run), (error) => assertReason(error, call, reason))

const completion = (wrId: bigint, more: Partial<Fabric.Completion> = {}): Fabric.Completion => ({
  wrId,
  status: "success",
  vendorErr: 0,
  ...more
})

const run = (program: Effect.Effect<void, unknown, Fabric.Fabric | Fabric.Seams | Scope.Scope>) =>
  LeakCheck.check(program).pipe(Effect.provide(Fabric.layer))

const onRoce = Effect.gen(function*() {
  const fabric = yield* Fabric.Fabric
  const context = yield* DeviceContext.openByName("rxe0")
  const channel = yield* CompletionChannel.make(context)
  const queue = yield* CompletionQueue.makeExtended(context, { cqe: 3, channel })
  return {
    fabric,
    context,
    channel,
    queue,
    complete: (completion: Fabric.Completion) => fabric.complete("host-a", Resource.raw(queue), completion)
  }
})

const noEvent = (channel: CompletionChannel.CompletionChannel) =>
  assertRefused(
    Effect.suspend(() => channel.context.verbs.getCqEvent(Resource.raw(channel))),
    "ibv_get_cq_event",
    "EAGAIN"
  )

describe("Fabric: completions", () => {
  it.effect("a queue gives one event for each request, at the completion after it", () =>
    run(Effect.gen(function*() {
      const { channel, complete, queue } = yield* onRoce
      yield* complete(completion(1n))
      yield* CompletionQueue.requestNotification(queue)
      yield* noEvent(channel)
      const fiber = yield* Effect.forkChild(CompletionChannel.next(channel), { startImmediately: true })
      yield* complete(completion(2n))
      assert.strictEqual(yield* Fiber.join(fiber), queue)
      yield* complete(completion(3n))
      yield* noEvent(channel)
    })))

  for (const device of ["rxe0", "mlx5_0"]) {
    it.effect(`a solicited event comes for a solicited completion, and for one that failed but on rxe: ${device}`, () =>
      run(Effect.gen(function*() {
        const fabric = yield* Fabric.Fabric
        const context = yield* DeviceContext.openByName(device)
        const channel = yield* CompletionChannel.make(context)
        const queue = yield* CompletionQueue.make(context, { cqe: 7, channel })
        const complete = (completion: Fabric.Completion) => fabric.complete("host-a", Resource.raw(queue), completion)
        yield* CompletionQueue.requestNotification(queue, { solicitedOnly: true })
        yield* complete(completion(1n))
        yield* noEvent(channel)
        yield* complete(completion(2n, { solicited: true }))
        assert.strictEqual(yield* CompletionChannel.next(channel), queue)
        yield* CompletionQueue.requestNotification(queue, { solicitedOnly: true })
        yield* complete(completion(3n, { status: "wrFlushErr" }))
        if (device === "rxe0") yield* noEvent(channel)
        else assert.strictEqual(yield* CompletionChannel.next(channel), queue)
      })))
  }

  it.effect("a solicited request does not take back one for any completion", () =>
    run(Effect.gen(function*() {
      const { channel, complete, queue } = yield* onRoce
      yield* CompletionQueue.requestNotification(queue)
      yield* CompletionQueue.requestNotification(queue, { solicitedOnly: true })
      yield* complete(completion(1n))
      assert.strictEqual(yield* CompletionChannel.next(channel), queue)
    })))

  it.effect("events of several queues on a channel each name their queue", () =>
    run(Effect.gen(function*() {
      const { channel, context, fabric } = yield* onRoce
      const queues = yield* Effect.forEach([1, 2, 3], (cqe) => CompletionQueue.make(context, { cqe, channel }))
      for (const queue of queues) yield* CompletionQueue.requestNotification(queue)
      for (const queue of queues.toReversed()) {
        yield* fabric.complete("host-a", Resource.raw(queue), completion(0n))
      }
      const named = yield* Effect.forEach(queues, () => CompletionChannel.next(channel))
      assert.deepStrictEqual(named, queues.toReversed())
    })))

  it.effect("the events of a queue go with it", () =>
    run(Effect.gen(function*() {
      const { channel, context, fabric } = yield* onRoce
      yield* Effect.scoped(Effect.gen(function*() {
        const queue = yield* CompletionQueue.make(context, { cqe: 1, channel })
        yield* CompletionQueue.requestNotification(queue)
        yield* fabric.complete("host-a", Resource.raw(queue), completion(0n))
      }))
      yield* noEvent(channel)
      assert.strictEqual(channel.events.queues.size, 1)
    })))

  it.effect("many who wait share the events", () =>
    run(Effect.gen(function*() {
      const { channel, complete, queue } = yield* onRoce
      const fibers = yield* Effect.forEach([1, 2, 3], () =>
        Effect.forkChild(CompletionChannel.next(channel), { startImmediately: true }))
      for (const wrId of [1n, 2n, 3n]) {
        yield* CompletionQueue.requestNotification(queue)
        yield* complete(completion(wrId))
      }
      for (const fiber of fibers) {
        assert.strictEqual(yield* Fiber.join(fiber), queue)
      }
      yield* noEvent(channel)
    })))

  it.effect("a poll gives what the queue was made to report, and takes what it gave", () =>
    run(Effect.gen(function*() {
      const { complete, queue } = yield* onRoce
      yield* complete(
        completion(1n, { opcode: "recv", byteLen: 5, qpNum: 17, immData: 7, wcFlags: 2, completionTs: 9n })
      )
      yield* complete(completion(2n, { status: "locProtErr", vendorErr: 3, qpNum: 17, byteLen: 1 }))
      yield* complete(completion(3n))
      const seen: Array<ExtendedCompletion.ExtendedCompletion> = []
      assert.strictEqual(yield* CompletionQueue.pollExtended(queue, (completion) => seen.push(completion) < 2), 2)
      assert.deepStrictEqual(seen, [
        {
          wrId: 1n,
          status: "success",
          vendorErr: 0,
          qpNum: 17,
          opcode: "recv",
          wcFlags: 2,
          immData: 7,
          byteLen: 5,
          srcQp: 0,
          slid: 0,
          sl: 0,
          dlidPathBits: 0
        },
        { wrId: 2n, status: "locProtErr", vendorErr: 3, qpNum: 17 }
      ])
      const exit = yield* Effect.exit(CompletionQueue.pollExtended(queue, () => {
        throw new Error("broken")
      }))
      assert.isTrue(Exit.hasDies(exit))
      assert.strictEqual(yield* CompletionQueue.pollExtended(queue, () => true), 0)
    })))

  it.effect("a poll ends after as many as the queue holds, however fast more arrive", () =>
    run(Effect.gen(function*() {
      const { complete, queue } = yield* onRoce
      const runSync = Effect.runSyncWith(yield* Effect.context<never>())
      yield* complete(completion(0n))
      const seen: Array<bigint> = []
      const poll = CompletionQueue.pollExtended(queue, ({ wrId }) => {
        runSync(complete(completion(wrId + 1n)))
        return seen.push(wrId) > 0
      })
      assert.strictEqual(yield* poll, queue.cqe)
      assert.strictEqual(seen.length, queue.cqe)
      assert.strictEqual(yield* CompletionQueue.pollExtended(queue, () => true), 1)
    })))

  it.effect("a queue that was not made for it is EINVAL of ibv_start_poll", () =>
    run(Effect.gen(function*() {
      const { context } = yield* onRoce
      const plain = yield* CompletionQueue.make(context, { cqe: 1 })
      // @ts-expect-error code without types can pass it
      assertReason(yield* Effect.flip(CompletionQueue.pollExtended(plain, () => true)), "ibv_start_poll", "EINVAL")
    })))

  it.effect("a poll within a poll of the same queue takes what the outer one has not", () =>
    run(Effect.gen(function*() {
      const { complete, queue } = yield* onRoce
      for (const wrId of [1n, 2n, 3n]) yield* complete(completion(wrId))
      const runSync = Effect.runSyncWith(yield* Effect.context<never>())
      const inner = CompletionQueue.pollExtended(queue, ({ wrId }) => wrId !== 2n)
      assert.strictEqual(yield* CompletionQueue.pollExtended(queue, () => runSync(inner) > 0), 2)
      assert.strictEqual(yield* CompletionQueue.pollExtended(queue, () => true), 0)
    })))

  it.effect("one completion too many breaks the queue: cqErr on its context", () =>
    run(Effect.gen(function*() {
      const { complete, context, queue } = yield* onRoce
      const other = yield* DeviceContext.openByName("rxe0")
      for (const wrId of [1n, 2n, 3n, 4n]) yield* complete(completion(wrId))
      const event = yield* AsyncEvents.next(context)
      assert.deepStrictEqual(event, { _tag: "CompletionQueue", event: "cqErr", pointer: Resource.raw(queue) })
      assert.isTrue(AsyncEvent.concerns(event, queue))
      for (const raised of [context, other]) {
        yield* assertRefused(
          raised.verbs.getAsyncEvent(Resource.raw(raised)),
          "ibv_get_async_event",
          "EAGAIN"
        )
      }
    })))

  it.effect("a full queue does not shrink below what is in it", () =>
    run(Effect.gen(function*() {
      const { complete, queue } = yield* onRoce
      for (const wrId of [1n, 2n, 3n]) yield* complete(completion(wrId))
      yield* assertRefused(CompletionQueue.resize(queue, 2), "ibv_resize_cq", "EINVAL")
      assert.strictEqual(yield* CompletionQueue.resize(queue, 4), 7)
    })))

  it.effect("moderation beyond what the adapter counts is EINVAL", () =>
    run(Effect.gen(function*() {
      const queue = yield* CompletionQueue.make(yield* DeviceContext.openByName("mlx5_0"), { cqe: 3 })
      yield* CompletionQueue.modify(queue, { cqCount: 0xffff, cqPeriod: 0xfff })
      yield* assertRefused(CompletionQueue.modify(queue, { cqCount: 1, cqPeriod: 0x1000 }), "ibv_modify_cq", "EINVAL")
    })))

  it.effect("a device has no more queues than maxCq: ENOMEM", () =>
    Effect.gen(function*() {
      const context = yield* DeviceContext.openByName("rxe0")
      const first = yield* Scope.fork(yield* Effect.scope)
      yield* CompletionQueue.make(context, { cqe: 1 }).pipe(Scope.provide(first))
      yield* CompletionQueue.makeExtended(context, { cqe: 1 })
      yield* assertRefused(CompletionQueue.make(context, { cqe: 1 }), "ibv_create_cq", "ENOMEM")
      yield* Scope.close(first, Exit.void)
      yield* CompletionQueue.make(context, { cqe: 1 })
    }).pipe(
      Effect.scoped,
      Effect.provide(Fabric.layerFrom({
        hosts: [{ name: "only", devices: [{ ...Topology.softRoce("rxe0", 1), attributes: { maxCq: 2 } }] }]
      }))
    ))

  it.effect("closing a context reclaims its channels and queues", () =>
    Effect.gen(function*() {
      const { openDevice, ...verbs } = yield* Verbs
      const { devices } = yield* verbs.getDeviceList
      const [device] = devices
      assert(device !== undefined)
      const context = yield* openDevice(device.pointer)
      const channel = yield* verbs.createCompChannel(context)
      const { cq } = yield* verbs.createCq(context, { cqe: 1, compVector: 0, cqContext: 0, channel })
      yield* verbs.closeDevice(context)
      const fabric = yield* Fabric.Fabric
      assert.deepStrictEqual((yield* fabric.objects).map(({ kind }) => kind), ["DeviceList"])
      yield* assertMisuse(verbs.destroyCq(cq), "ibv_destroy_cq", /was a CompletionQueue/)
      yield* assertMisuse(verbs.destroyCompChannel(channel), "ibv_destroy_comp_channel", /was a CompletionChannel/)
    }).pipe(Effect.provide(Fabric.layer)))

  it.effect("a queue of one context on a channel of another is a misuse", () =>
    run(Effect.gen(function*() {
      const { channel, context } = yield* onRoce
      const other = yield* DeviceContext.openByName("rxe0")
      yield* assertMisuse(
        context.verbs.createCq(Resource.raw(other), {
          cqe: 1,
          compVector: 0,
          cqContext: 0,
          channel: Resource.raw(channel)
        }),
        "ibv_create_cq",
        /different contexts/
      )
    })))

  it.effect("polling a plain queue as an extended one is a misuse, and so is a completion of nothing", () =>
    run(Effect.gen(function*() {
      const { context, fabric } = yield* onRoce
      const queue = yield* CompletionQueue.make(context, { cqe: 1 })
      yield* assertMisuse(
        context.verbs.startPoll(Resource.raw(queue), [], () => true),
        "ibv_start_poll",
        /not an extended/
      )
      yield* assertMisuse(
        fabric.complete("host-a", Pointer.make(1n), completion(1n)),
        "Fabric.complete",
        /never given out/
      )
      yield* assertMisuse(
        fabric.raise("host-a", "rxe0", { _tag: "QueuePair", event: "qpFatal", pointer: Pointer.make(1n) }),
        "Fabric.raise",
        /nothing on a context/
      )
      yield* assertMisuse(
        fabric.raise("host-a", "none", { _tag: "Device", event: "deviceFatal" }),
        "Fabric.raise",
        /no device none/
      )
    })))

  it.effect("a queue that could not be destroyed keeps its channel, and both are told", () =>
    Effect.gen(function*() {
      const injection = yield* Faults.start([{ call: "ibv_destroy_cq", nth: 1, errno: "EBUSY" }])
      const exit = yield* Effect.exit(Faults.injectInto(injection)(Effect.scoped(Effect.asVoid(onRoce))))
      const failures = Exit.isFailure(exit)
        ? exit.cause.reasons.filter(Cause.isDieReason).map(({ defect }) => defect)
        : []
      assert.deepStrictEqual(
        failures.map((failure) => failure instanceof ReleaseError ? failure.call : failure),
        ["ibv_destroy_cq", "ibv_destroy_comp_channel"]
      )
    }).pipe(Effect.provide(Fabric.layer)))
})

describe("Fabric: asynchronous events", () => {
  it.effect("an event of a port goes to every context of the device, and to no other", () =>
    run(Effect.gen(function*() {
      const fabric = yield* Fabric.Fabric
      const contexts = [yield* DeviceContext.openByName("rxe0"), yield* DeviceContext.openByName("rxe0")]
      const other = yield* DeviceContext.openByName("mlx5_0")
      const event = { _tag: "Port", event: "lidChange", portNum: 1 } as const
      yield* fabric.raise("host-a", "rxe0", event)
      for (const context of contexts) assert.deepStrictEqual(yield* AsyncEvents.next(context), event)
      yield* assertRefused(other.verbs.getAsyncEvent(Resource.raw(other)), "ibv_get_async_event", "EAGAIN")
    })))

  it.effect("events come in order, and wake who waits", () =>
    run(Effect.gen(function*() {
      const fabric = yield* Fabric.Fabric
      const context = yield* DeviceContext.openByName("rxe0")
      const names = ["portErr", "portActive", "gidChange", "pkeyChange"] as const
      const fiber = yield* Effect.forkChild(
        Stream.runCollect(Stream.take(AsyncEvents.stream(context), names.length)),
        { startImmediately: true }
      )
      for (const event of names) {
        yield* fabric.raise("host-a", "rxe0", { _tag: "Port", event, portNum: 1 })
        yield* Effect.yieldNow
      }
      assert.deepStrictEqual(Array.from(yield* Fiber.join(fiber), ({ event }) => event), [...names])
    })))

  it.effect("an event of an object that is gone never comes", () =>
    run(Effect.gen(function*() {
      const { context, fabric } = yield* onRoce
      yield* Effect.scoped(Effect.gen(function*() {
        const queue = yield* CompletionQueue.make(context, { cqe: 1 })
        yield* fabric.raise("host-a", "rxe0", {
          _tag: "CompletionQueue",
          event: "cqErr",
          pointer: Resource.raw(queue)
        })
      }))
      const fiber = yield* Effect.forkChild(AsyncEvents.next(context), { startImmediately: true })
      yield* Effect.yieldNow
      yield* fabric.raise("host-a", "rxe0", { _tag: "Port", event: "portErr", portNum: 1 })
      assert.strictEqual((yield* Fiber.join(fiber)).event, "portErr")
    })))

  it.effect("an unplugged device says deviceFatal, and then EIO for ever", () =>
    run(Effect.gen(function*() {
      const { channel, context, fabric, queue } = yield* onRoce
      yield* CompletionQueue.requestNotification(queue)
      const onChannel = yield* Effect.forkChild(Effect.flip(CompletionChannel.next(channel)), {
        startImmediately: true
      })
      const onContext = yield* Effect.forkChild(AsyncEvents.next(context), { startImmediately: true })
      yield* Effect.yieldNow
      yield* fabric.unplug("host-a", "rxe0")
      assert.deepStrictEqual(yield* Fiber.join(onContext), { _tag: "Device", event: "deviceFatal" })
      assert.strictEqual((yield* Fiber.join(onChannel)).reason._tag, "EIO")
      for (let round = 0; round < 2; round++) {
        yield* assertRefused(AsyncEvents.next(context), "ibv_get_async_event", "EIO")
        yield* assertRefused(CompletionChannel.next(channel), "ibv_get_cq_event", "EIO")
      }
      yield* assertRefused(CompletionQueue.requestNotification(queue), "ibv_req_notify_cq", "EIO")
      yield* assertRefused(CompletionQueue.resize(queue, 5), "ibv_resize_cq", "EIO")
      yield* assertRefused(CompletionQueue.make(context, { cqe: 1 }), "ibv_create_cq", "EIO")
      yield* assertRefused(CompletionChannel.make(context), "ibv_create_comp_channel", "EIO")
      assert.strictEqual(yield* CompletionQueue.pollExtended(queue, () => true), 0)
    })))

  it("every number is one event and the other way round", () => {
    for (const [event, eventType] of AsyncEvent.eventTypes) {
      const read = AsyncEvent.fromNative({ eventType, element: 0x7f00_0000_0001n, portNum: 1 })
      assert.strictEqual(read.event, event)
      assert.notStrictEqual(AsyncEvent.format(read), "unknown")
    }
    assert.strictEqual(AsyncEvent.eventTypes.size, 21)
    for (const eventType of [-1, 21, 77]) {
      assert.deepStrictEqual(AsyncEvent.fromNative({ eventType, element: 1n, portNum: 1 }), {
        _tag: "Unknown",
        event: "unknown",
        eventType
      })
    }
    assert.strictEqual(AsyncEvent.fromNative({ eventType: 1, element: 0n, portNum: 0 })._tag, "Unknown")
  })

  it.effect.prop(
    "any order of completions, requests and polls loses none: an event comes when one was asked for and one came after",
    [Schema.Array(Schema.Literals(["complete", "request", "poll"])).check(Schema.isMaxLength(40))],
    ([steps]) =>
      run(Effect.gen(function*() {
        const { channel, context, fabric } = yield* onRoce
        const queue = yield* CompletionQueue.makeExtended(context, { cqe: 63, channel })
        let armed = false
        let events = 0
        let polled = 0
        let completed = 0
        for (const step of steps) {
          if (step === "request") {
            yield* CompletionQueue.requestNotification(queue)
            armed = true
          } else if (step === "complete") {
            yield* fabric.complete("host-a", Resource.raw(queue), completion(BigInt(completed++)))
            events += armed ? 1 : 0
            armed = false
          } else {
            yield* CompletionQueue.pollExtended(queue, ({ wrId }) => {
              assert.strictEqual(wrId, BigInt(polled++))
              return true
            })
          }
        }
        for (let event = 0; event < events; event++) assert.strictEqual(yield* CompletionChannel.next(channel), queue)
        yield* noEvent(channel)
        yield* CompletionQueue.pollExtended(queue, () => {
          polled++
          return true
        })
        assert.strictEqual(polled, completed)
      }))
  )
})

describe("Fabric: completion counters", () => {
  it.effect("there are so many, and they come back; they count around, and go with the device", () =>
    run(Effect.gen(function*() {
      const context = yield* DeviceContext.openByName("mlx5_0")
      const { maxCounters, maxValue } = yield* CompletionCounter.capabilities(context)
      const all = Effect.forEach(Array.from({ length: maxCounters }), () => CompletionCounter.make(context))
      yield* Effect.scoped(Effect.andThen(
        all,
        assertRefused(CompletionCounter.make(context), "ibv_create_comp_cntr", "ENOMEM")
      ))
      const [counter] = yield* all
      if (counter === undefined) return assert.fail("there are none")
      yield* CompletionCounter.set(counter, maxValue)
      yield* CompletionCounter.inc(counter, 2n)
      assert.strictEqual(yield* CompletionCounter.read(counter), 1n)
      yield* assertRefused(CompletionCounter.incErr(counter, maxValue + 1n), "ibv_inc_err_comp_cntr", "EINVAL")
      yield* Effect.flatMap(Fabric.Fabric, (fabric) => fabric.unplug("host-a", "mlx5_0"))
      yield* assertRefused(CompletionCounter.read(counter), "ibv_read_comp_cntr", "EIO")
      yield* assertRefused(CompletionCounter.make(context), "ibv_create_comp_cntr", "EIO")
    })))
})
