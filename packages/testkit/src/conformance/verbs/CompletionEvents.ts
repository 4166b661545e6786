/**
 * Conformance of the events of completion queues: for which completions there is one, and for which none.
 *
 * @since 0.1.0
 */
import * as Resource from "@effect-rdma/core/Resource"
import * as AddressHandle from "@effect-rdma/verbs/AddressHandle"
import * as CompletionChannel from "@effect-rdma/verbs/CompletionChannel"
import * as CompletionQueue from "@effect-rdma/verbs/CompletionQueue"
import type * as SendBatch from "@effect-rdma/verbs/operations/SendBatch"
import * as QueuePair from "@effect-rdma/verbs/QueuePair"
import type * as WorkRequest from "@effect-rdma/verbs/WorkRequest"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { assertReason } from "../../internal/conformance.ts"
import { assertTaken, take, takeOne, within } from "../../internal/conformanceCompletions.ts"
import { addressed, dataPathSuite } from "../../internal/conformanceDataPath.ts"
import type * as VerbsLane from "../VerbsLane.ts"

/**
 * Registers the suite on a lane.
 *
 * @category constructors
 * @since 0.1.0
 */
export const suite = <Others = never>(lane: VerbsLane.VerbsLane<Others>): void => {
  const { connected, datagramsOn, domain, has, it, itWhere } = dataPathSuite(lane)

  /** A connection whose sender has a queue with events for its sends, and whose receiver one for its receives. */
  const withEvents = Effect.gen(function*() {
    const on = yield* domain
    const channel = yield* CompletionChannel.make(on.context)
    const sends = yield* CompletionQueue.make(on.context, { cqe: 64, channel })
    const receives = yield* CompletionQueue.make(on.context, { cqe: 64, channel })
    const { a, b } = yield* connected.rc({ on, a: { sends }, b: { receives } })
    yield* b.postRecv(...Array.from({ length: 8 }, () => ({ sgList: [b.part()] })))
    const send = (...flags: ReadonlyArray<SendBatch.SendFlag>) => a.postSend({ opcode: "send", flags })
    return { a, b, channel, send }
  })

  type Kind = (sgList: ReadonlyArray<WorkRequest.Sge>, remote: SendBatch.Remote) => WorkRequest.SendRequest
  const flags = ["signaled"] as const
  const kinds: { readonly [name: string]: Kind } = {
    send: (sgList) => ({ opcode: "send", flags, sgList }),
    rdmaWrite: (sgList, remote) => ({ opcode: "rdmaWrite", flags, sgList, remote }),
    rdmaRead: (sgList, remote) => ({ opcode: "rdmaRead", flags, sgList, remote }),
    atomicFetchAndAdd: (sgList, remote) => ({ opcode: "atomicFetchAndAdd", flags, sgList, remote, add: 1n }),
    atomicCmpAndSwp: (sgList, remote) => ({ opcode: "atomicCmpAndSwp", flags, sgList, remote, compare: 0n, swap: 1n })
  }
  for (const [name, kind] of Object.entries(kinds)) {
    it(`the completion of ${name} gives the event of its queue`, () =>
      Effect.gen(function*() {
        const { a, b, channel } = yield* withEvents
        yield* CompletionQueue.requestNotification(a.sends)
        yield* a.postSend(kind([a.part()], b.remote()))
        assert.strictEqual(yield* nextOf(channel), a.sends)
        yield* takeOne(a.sends)
      }))
  }

  it("a send that is not signaled gives no event to its sender", () =>
    Effect.gen(function*() {
      const { a, b, channel, send } = yield* withEvents
      yield* CompletionQueue.requestNotification(a.sends)
      yield* send()
      yield* takeOne(b.receives)
      yield* assertNoEvent(channel)
    }))

  it("one request gives one event, however many completions follow, and the next request another one", () =>
    Effect.gen(function*() {
      const { b, channel, send } = yield* withEvents
      yield* CompletionQueue.requestNotification(b.receives)
      for (let count = 0; count < 3; count++) yield* send()
      assert.strictEqual(yield* nextOf(channel), b.receives)
      yield* take(b.receives, 3)
      yield* assertNoEvent(channel)
      yield* CompletionQueue.requestNotification(b.receives)
      yield* assertNoEvent(channel)
      yield* send()
      assert.strictEqual(yield* nextOf(channel), b.receives)
    }))

  it("without a request there is no event", () =>
    Effect.gen(function*() {
      const { a, b, channel, send } = yield* withEvents
      yield* send("signaled", "solicited")
      yield* takeOne(a.sends)
      yield* takeOne(b.receives)
      yield* assertNoEvent(channel)
    }))

  it("what was in the queue before the request gives no event", () =>
    Effect.gen(function*() {
      const { b, channel, send } = yield* withEvents
      yield* send()
      yield* Effect.sleep("50 millis")
      yield* CompletionQueue.requestNotification(b.receives)
      yield* assertNoEvent(channel)
      yield* send()
      assert.strictEqual(yield* nextOf(channel), b.receives)
      yield* take(b.receives, 2)
    }))

  it("asked for any, a message gives an event whether it is solicited or not", () =>
    Effect.gen(function*() {
      const { b, channel, send } = yield* withEvents
      for (const flags of [[], ["solicited"]] as const) {
        yield* CompletionQueue.requestNotification(b.receives)
        yield* send(...flags)
        assert.strictEqual(yield* nextOf(channel), b.receives)
        yield* takeOne(b.receives)
      }
    }))

  it("asked for solicited ones, only a solicited message gives an event", () =>
    Effect.gen(function*() {
      const { b, channel, send } = yield* withEvents
      yield* CompletionQueue.requestNotification(b.receives, { solicitedOnly: true })
      yield* send()
      yield* takeOne(b.receives)
      yield* assertNoEvent(channel)
      yield* send("solicited")
      assert.strictEqual(yield* nextOf(channel), b.receives)
      yield* takeOne(b.receives)
    }))

  it("a solicited datagram gives an event to who asked for solicited ones", () =>
    Effect.gen(function*() {
      const on = yield* domain
      const channel = yield* CompletionChannel.make(on.context)
      const receives = yield* CompletionQueue.make(on.context, { cqe: 16, channel })
      const [a, b] = [yield* datagramsOn(on), yield* datagramsOn(on, { receives })]
      const to = addressed(yield* AddressHandle.make(on, lane.loop), b)
      yield* b.postRecv(...[1n, 2n].map((wrId) => ({ wrId, sgList: [b.part(0, 64)] })))
      yield* CompletionQueue.requestNotification(receives, { solicitedOnly: true })
      yield* QueuePair.send(a.queuePair, { to })
      yield* takeOne(receives)
      yield* assertNoEvent(channel)
      yield* QueuePair.send(a.queuePair, { to, flags: ["solicited"] })
      assert.strictEqual(yield* nextOf(channel), receives)
      yield* takeOne(receives)
    }))

  it("a request for any after one for solicited ones counts", () =>
    Effect.gen(function*() {
      const { b, channel, send } = yield* withEvents
      yield* CompletionQueue.requestNotification(b.receives, { solicitedOnly: true })
      yield* CompletionQueue.requestNotification(b.receives)
      yield* send()
      assert.strictEqual(yield* nextOf(channel), b.receives)
      yield* takeOne(b.receives)
    }))

  it("a request for solicited ones does not take back one for any", () =>
    Effect.gen(function*() {
      const { b, channel, send } = yield* withEvents
      yield* CompletionQueue.requestNotification(b.receives)
      yield* CompletionQueue.requestNotification(b.receives, { solicitedOnly: true })
      yield* send()
      assert.strictEqual(yield* nextOf(channel), b.receives)
      yield* takeOne(b.receives)
    }))

  it("several requests are one", () =>
    Effect.gen(function*() {
      const { b, channel, send } = yield* withEvents
      for (let count = 0; count < 4; count++) yield* CompletionQueue.requestNotification(b.receives)
      yield* send()
      yield* send()
      assert.strictEqual(yield* nextOf(channel), b.receives)
      yield* take(b.receives, 2)
      yield* assertNoEvent(channel)
    }))

  it("two queues on one channel give an event each, which names its queue", () =>
    Effect.gen(function*() {
      const { a, b, channel, send } = yield* withEvents
      yield* CompletionQueue.requestNotification(a.sends)
      yield* CompletionQueue.requestNotification(b.receives)
      yield* send("signaled")
      const queues = new Set([yield* nextOf(channel), yield* nextOf(channel)])
      assert.deepStrictEqual(queues, new Set([a.sends, b.receives]))
      yield* assertNoEvent(channel)
      yield* takeOne(a.sends)
      yield* takeOne(b.receives)
    }))

  it("events of twenty queues wait on one channel until they are read", () =>
    Effect.gen(function*() {
      const on = yield* domain
      const channel = yield* CompletionChannel.make(on.context)
      const pairs = yield* Effect.forEach(Array.from({ length: 20 }), () =>
        Effect.gen(function*() {
          const receives = yield* CompletionQueue.make(on.context, { cqe: 4, channel })
          return yield* connected.rc({ on, b: { receives } })
        }))
      for (const { a, b } of pairs) {
        yield* CompletionQueue.requestNotification(b.receives)
        yield* b.postRecv({ sgList: [] })
        yield* QueuePair.send(a.queuePair, {})
      }
      const told = yield* Effect.forEach(pairs, () => nextOf(channel))
      assert.strictEqual(new Set(told).size, 20)
      for (const { b } of pairs) yield* takeOne(b.receives)
      yield* assertNoEvent(channel)
    }))

  it("a flushed receive gives an event", () =>
    Effect.gen(function*() {
      const { b, channel } = yield* withEvents
      yield* CompletionQueue.requestNotification(b.receives)
      yield* QueuePair.toErr(b.queuePair)
      assert.strictEqual(yield* nextOf(channel), b.receives)
      assert.strictEqual((yield* take(b.receives, 8)).every(({ status }) => status === "wrFlushErr"), true)
    }))

  itWhere(has("failureEvents"), "the provider looks at the wish of the sender alone")(
    "asked for solicited ones, a send that failed gives an event",
    () =>
      Effect.gen(function*() {
        const { a, channel } = yield* withEvents
        yield* CompletionQueue.requestNotification(a.sends, { solicitedOnly: true })
        yield* QueuePair.toErr(a.queuePair)
        yield* a.postSend({ opcode: "send", wrId: 1n })
        assert.strictEqual(yield* nextOf(channel), a.sends)
        yield* assertTaken(a.sends, ["1 wrFlushErr"])
      })
  )

  it("a queue that was resized still gives the event that was asked for before", () =>
    Effect.gen(function*() {
      const { b, channel, send } = yield* withEvents
      yield* CompletionQueue.requestNotification(b.receives)
      yield* CompletionQueue.resize(b.receives, 200)
      yield* send()
      assert.strictEqual(yield* nextOf(channel), b.receives)
      yield* takeOne(b.receives)
    }))
}

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

const assertNoEvent = (channel: CompletionChannel.CompletionChannel) =>
  Effect.gen(function*() {
    yield* Effect.sleep("30 millis")
    const event = channel.context.verbs.getCqEvent(Resource.raw(channel))
    assertReason(yield* Effect.flip(event), "ibv_get_cq_event", "EAGAIN")
  })

const nextOf = (channel: CompletionChannel.CompletionChannel) => within("an event", CompletionChannel.next(channel))
