/**
 * Conformance of messages that arrive in shared receive queues.
 *
 * @since 0.1.0
 */
import * as AddressHandle from "@effect-rdma/verbs/AddressHandle"
import * as MemoryRegion from "@effect-rdma/verbs/MemoryRegion"
import * as ProtectionDomain from "@effect-rdma/verbs/ProtectionDomain"
import * as QueuePair from "@effect-rdma/verbs/QueuePair"
import * as SharedReceiveQueue from "@effect-rdma/verbs/SharedReceiveQueue"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { put, textIn } from "../../internal/conformanceBytes.ts"
import {
  assertQuiet,
  assertTaken,
  nextEvent,
  outcomes,
  take,
  takeOne,
  within
} from "../../internal/conformanceCompletions.ts"
import { addressed, dataPathSuite } from "../../internal/conformanceDataPath.ts"
import { stateOf } from "../../internal/conformanceVerbs.ts"
import type * as VerbsLane from "../VerbsLane.ts"

/**
 * Registers the suite on a lane.
 *
 * @category constructors
 * @since 0.1.0
 */
export const suite = <Others = never>(lane: VerbsLane.VerbsLane<Others>): void => {
  const { connected, datagramsOn, domain, has, headerBytes, it, itWhere, onOneQueue, open } = dataPathSuite(lane)

  it("messages of many queue pairs take the receives in their order, and each receiver is told of its own", () =>
    Effect.gen(function*() {
      const { pairs, receive, srq, textOf } = yield* onOneQueue(4)
      yield* SharedReceiveQueue.postRecv(srq, [receive(0n), receive(1n), receive(2n), receive(3n)])
      for (const [index, { a, b }] of pairs.entries()) {
        yield* QueuePair.send(a.queuePair, { sgList: [put(a, `from ${index}`)] })
        const received = yield* takeOne(b.receives)
        assert.deepInclude<object>(received, { wrId: BigInt(index), byteLen: 6, qpNum: b.queuePair.qpNum })
        assert.strictEqual(textOf(received.wrId, 6), `from ${index}`)
      }
    }))

  it("messages of many at once: every one arrives once", () =>
    Effect.gen(function*() {
      const { pairs, receive, srq, textOf } = yield* onOneQueue(4)
      yield* SharedReceiveQueue.postRecv(srq, Array.from({ length: 16 }, (_, index) => receive(BigInt(index))))
      yield* Effect.forEach(pairs, ({ a }, index) =>
        Effect.forEach([0, 1, 2, 3], (number) => {
          const piece = put(a, `${index} ${number}`, 64 * number)
          return QueuePair.send(a.queuePair, { sgList: [piece] })
        }, { discard: true }), { concurrency: "unbounded", discard: true })
      const came: Array<string> = []
      for (const [index, { b }] of pairs.entries()) {
        const texts = (yield* take(b.receives, 4)).map(({ wrId }) => textOf(wrId, 3))
        assert.deepStrictEqual(texts, [0, 1, 2, 3].map((number) => `${index} ${number}`))
        came.push(...texts)
      }
      assert.strictEqual(new Set(came).size, 16)
    }))

  it("a write with immediate data takes a receive, and a plain one none", () =>
    Effect.gen(function*() {
      const { pairs, receive, srq } = yield* onOneQueue(2)
      yield* SharedReceiveQueue.postRecv(srq, [receive(10n), receive(11n)])
      for (const [index, { a, b }] of pairs.entries()) {
        const request = { sgList: [put(a, "written")], remote: b.remote() }
        yield* QueuePair.rdmaWrite(a.queuePair, request)
        yield* QueuePair.rdmaWrite(a.queuePair, { ...request, immData: 70 + index })
        const received = yield* takeOne(b.receives)
        assert.deepInclude<object>(received, {
          wrId: BigInt(10 + index),
          opcode: "recvRdmaWithImm",
          immData: 70 + index,
          byteLen: 7
        })
        assert.strictEqual(textIn(b, 7), "written")
      }
    }))

  it("a message is scattered over the pieces of its receive", () =>
    Effect.gen(function*() {
      const { first: { a, b }, srq } = yield* onOneQueue(1)
      yield* SharedReceiveQueue.postRecv(srq, [{ sgList: [b.part(0, 3), b.part(100, 64)] }])
      yield* QueuePair.send(a.queuePair, { sgList: [put(a, "one two")] })
      assert.strictEqual((yield* takeOne(b.receives)).byteLen, 7)
      assert.strictEqual(textIn(b, 3) + textIn(b, 4, 100), "one two")
    }))

  it("datagrams arrive in a shared queue", () =>
    Effect.gen(function*() {
      const on = yield* domain
      const srq = yield* SharedReceiveQueue.make(on, { maxWr: 4 })
      const a = yield* datagramsOn(on)
      const receivers = [yield* datagramsOn(on, { srq }), yield* datagramsOn(on, { srq })] as const
      const ah = yield* AddressHandle.make(on, lane.loop)
      yield* SharedReceiveQueue.postRecv(
        srq,
        [0, 1].map((index) => ({
          wrId: BigInt(index),
          sgList: [receivers[0].part(100 * index, 100)]
        }))
      )
      for (const [index, receiver] of receivers.entries()) {
        yield* QueuePair.send(a.queuePair, { to: addressed(ah, receiver), sgList: [put(a, `to ${index}`)] })
        const { srcQp, wrId } = yield* takeOne(receiver.receives)
        assert.deepStrictEqual([wrId, srcQp], [BigInt(index), a.queuePair.qpNum])
        assert.strictEqual(textIn(receivers[0], 4, 100 * index + headerBytes), `to ${index}`)
      }
    }))

  it("without a receive the sender waits, and one that is posted later takes the message", () =>
    Effect.gen(function*() {
      const { first: { a, b }, receive, srq, textOf } = yield* onOneQueue(1)
      yield* a.postSend({ opcode: "send", wrId: 1n, flags: ["signaled"], sgList: [put(a, "patient")] })
      yield* assertQuiet(a.sends, b.receives)
      yield* SharedReceiveQueue.postRecv(srq, [receive(2n)])
      yield* assertTaken(b.receives, ["2 success"])
      yield* assertTaken(a.sends, ["1 success"])
      assert.strictEqual(textOf(2n, 7), "patient")
    }))

  it("without a receive a sender with a limit ends with rnrRetryExcErr", () =>
    Effect.gen(function*() {
      const { first: { a, b } } = yield* onOneQueue(1, 4, { rnrRetry: 1, minRnrTimer: 1 })
      yield* a.postSend({ opcode: "send", wrId: 1n })
      yield* assertTaken(a.sends, ["1 rnrRetryExcErr"])
      assert.strictEqual(yield* stateOf(a.queuePair), "err")
      assert.strictEqual(yield* stateOf(b.queuePair), "rts")
    }))

  it("a queue pair in ERR leaves the receives to the others", () =>
    Effect.gen(function*() {
      const { pairs: [broken, well], receive, srq } = yield* onOneQueue(2)
      if (broken === undefined || well === undefined) return assert.fail()
      yield* SharedReceiveQueue.postRecv(srq, [receive(1n)])
      yield* QueuePair.toErr(broken.b.queuePair)
      yield* assertQuiet(broken.b.receives)
      yield* QueuePair.send(well.a.queuePair, { sgList: [put(well.a, "mine")] })
      yield* assertTaken(well.b.receives, ["1 success"])
    }))

  it("a queue pair that is destroyed leaves the receives to the others", () =>
    Effect.gen(function*() {
      const on = yield* domain
      const srq = yield* SharedReceiveQueue.make(on, { maxWr: 4 })
      const { a, b } = yield* connected.rc({ on, b: { srq } })
      yield* SharedReceiveQueue.postRecv(srq, [1n, 2n].map((wrId) => ({ wrId, sgList: [b.part(0, 64)] })))
      yield* Effect.scoped(Effect.gen(function*() {
        const other = yield* connected.rc({ on, b: { srq } })
        yield* QueuePair.send(other.a.queuePair, {})
        yield* assertTaken(other.b.receives, ["1 success"])
      }))
      yield* QueuePair.send(a.queuePair, {})
      yield* assertTaken(b.receives, ["2 success"])
    }))

  itWhere(has("queuePairEvents"), "the device has no such event")(
    "a queue pair on a shared queue tells in ERR that it takes no more receives",
    () =>
      Effect.gen(function*() {
        const { first: { b } } = yield* onOneQueue(1)
        yield* QueuePair.toErr(b.queuePair)
        assert.strictEqual(yield* nextEvent(b.on.context, b.queuePair), "qpLastWqeReached")
      })
  )

  for (const isRight of [true, false]) {
    it(`the memory of a receive is ${isRight ? "" : "not "}of the domain where the provider looks: that of the queue or of the queue pair`, () =>
      Effect.gen(function*() {
        const context = yield* open
        const [own, other] = [yield* ProtectionDomain.alloc(context), yield* ProtectionDomain.alloc(context)]
        const srq = yield* SharedReceiveQueue.make(other, { maxWr: 4 })
        const region = yield* MemoryRegion.alloc(has("sharedQueueDomain") === isRight ? other : own, {
          length: 4096,
          access: ["localWrite"]
        })
        const { a, b } = yield* connected.rc({ on: own, b: { srq } })
        yield* SharedReceiveQueue.postRecv(srq, [{ wrId: 1n, sgList: [{ region }] }])
        yield* a.postSend({ opcode: "send", wrId: 2n, flags: ["signaled"], sgList: [put(a, "across")] })
        const { receiver, sender } = isRight ? { receiver: "success", sender: "success" } : lane.statuses.receiveKey
        yield* assertTaken(a.sends, [`2 ${sender}`])
        yield* assertTaken(b.receives, [`1 ${receiver}`])
        const arrived = new TextDecoder().decode(region.bytes.subarray(0, 6))
        assert.strictEqual(arrived, isRight ? "across" : "\0".repeat(6))
      }))
  }

  it("a message that is longer than its receive ends both queue pairs, and leaves the queue to the others", () =>
    Effect.gen(function*() {
      const { pairs: [broken, well], receive, srq } = yield* onOneQueue(2)
      if (broken === undefined || well === undefined) return assert.fail()
      yield* SharedReceiveQueue.postRecv(srq, [receive(1n, 4), receive(2n)])
      yield* broken.a.postSend({ opcode: "send", wrId: 3n, sgList: [put(broken.a, "too long")] })
      const ends = lane.statuses.shortReceive
      yield* assertTaken(broken.a.sends, [`3 ${ends.sender}`])
      yield* assertTaken(broken.b.receives, [`1 ${ends.receiver}`])
      yield* QueuePair.send(well.a.queuePair, { sgList: [put(well.a, "still well")] })
      assert.deepStrictEqual(outcomes(yield* take(well.b.receives, 1)), ["2 success"])
    }))

  it("fibers that send and post at the same time lose nothing", () =>
    Effect.gen(function*() {
      const { pairs, receive, srq } = yield* onOneQueue(4, 8)
      const rounds = Array.from({ length: 12 })
      const sending = Effect.forEach(pairs, ({ a }) =>
        Effect.forEach(rounds, () => QueuePair.send(a.queuePair, {}), { discard: true }), { concurrency: "unbounded" })
      const receiving = Effect.forEach(pairs, ({ b }) =>
        Effect.forEach(rounds, () =>
          Effect.gen(function*() {
            yield* takeOne(b.receives)
            yield* SharedReceiveQueue.postRecv(srq, [receive(1n)])
          }), { discard: true }), { concurrency: "unbounded" })
      yield* SharedReceiveQueue.postRecv(
        srq,
        Array.from({ length: 8 }, () =>
          receive(0n))
      )
      yield* within("all messages", Effect.all([sending, receiving], { concurrency: "unbounded" }))
      yield* assertQuiet(...pairs.flatMap(({ a, b }) => [a.sends, b.receives]))
    }))
}
