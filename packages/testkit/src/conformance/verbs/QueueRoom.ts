/**
 * Conformance of the room of send and receive queues: what finds none, and how it comes back.
 *
 * @since 0.1.0
 */
import * as CompletionQueue from "@effect-rdma/verbs/CompletionQueue"
import * as QueuePair from "@effect-rdma/verbs/QueuePair"
import type { VerbsError } from "@effect-rdma/verbs/VerbsError"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { assertReason, recorded, timesCalled } from "../../internal/conformance.ts"
import { assertQuiet, assertTaken, take, within } from "../../internal/conformanceCompletions.ts"
import { dataPathSuite, type End } from "../../internal/conformanceDataPath.ts"
import { postReceives, postSends } from "../../internal/conformanceRequests.ts"
import type * as VerbsLane from "../VerbsLane.ts"

/**
 * Registers the suite on a lane.
 *
 * @category constructors
 * @since 0.1.0
 */
export const suite = <Others = never>(lane: VerbsLane.VerbsLane<Others>): void => {
  const { connected, domain, has, it, itWhere } = dataPathSuite(lane)

  it("more sends than the queue was made for are ENOMEM before any call, and none is posted", () =>
    recorded(function*(calls) {
      const { a } = yield* connected.rc()
      const { maxSendWr } = a.queuePair.cap
      assertFull(yield* Effect.flip(sends(a, maxSendWr + 1)), "ibv_post_send", `made for ${maxSendWr}`)
      assert.strictEqual(timesCalled(yield* calls, "ibv_post_send"), 0)
      yield* assertQuiet(a.sends)
    }))

  it("a queue full of sends that wait is ENOMEM until one has completed", () =>
    Effect.gen(function*() {
      const { a, b } = yield* connected.rc()
      const { maxSendWr } = a.queuePair.cap
      yield* sends(a, maxSendWr)
      assertFull(yield* Effect.flip(sends(a, 1)), "ibv_post_send", "poll the completions")
      yield* receives(b, 1)
      yield* assertTaken(a.sends, ["0 success"])
      yield* sends(a, 1)
      assertFull(yield* Effect.flip(sends(a, 1)), "ibv_post_send", "poll the completions")
    }))

  it("a queue full of sends that will tell nothing is ENOMEM, and the message says what to do", () =>
    Effect.gen(function*() {
      const { a, b } = yield* connected.rc()
      const { maxSendWr } = a.queuePair.cap
      yield* receives(b, maxSendWr)
      yield* a.postSend(...Array.from({ length: maxSendWr }, () => ({ opcode: "send" } as const)))
      yield* Effect.sleep("50 millis")
      assertFull(yield* Effect.flip(sends(a, 1)), "ibv_post_send", "signal one")
      const awaited = yield* Effect.flip(QueuePair.send(a.queuePair, {}))
      if (awaited._tag !== "VerbsError") return assert.fail(awaited.message)
      assertFull(awaited, "ibv_post_send", "signal one")
    }))

  it("one that is signaled at the end frees all before it, many times around", () =>
    Effect.gen(function*() {
      const { a, b } = yield* connected.rc()
      const { maxSendWr } = a.queuePair.cap
      const write = { opcode: "rdmaWrite", remote: b.remote(), sgList: [a.part()] } as const
      for (let round = 0; round < 5; round++) {
        yield* a.postSend(...Array.from({ length: maxSendWr - 1 }, () => write), {
          ...write,
          wrId: BigInt(round),
          flags: ["signaled"]
        })
        yield* assertTaken(a.sends, [`${round} success`])
      }
    }))

  it("one in the middle frees those before it only", () =>
    Effect.gen(function*() {
      const { a, b } = yield* connected.rc()
      const { maxSendWr } = a.queuePair.cap
      const write = { opcode: "rdmaWrite", remote: b.remote(), sgList: [a.part()] } as const
      yield* a.postSend(...Array.from(
        { length: maxSendWr },
        (_, index) => index === 3 ? { ...write, flags: ["signaled"] } as const : write
      ))
      yield* take(a.sends, 1)
      assertFull(yield* Effect.flip(sends(a, 5)), "ibv_post_send", "signal one")
      yield* a.postSend(...Array.from({ length: 4 }, () => write))
    }))

  it("more receives than there is room for are ENOMEM, and none is posted", () =>
    Effect.gen(function*() {
      const { a, b } = yield* connected.rc()
      const { maxRecvWr } = b.queuePair.cap
      assertFull(yield* Effect.flip(receives(b, maxRecvWr + 1)), "ibv_post_recv", `made for ${maxRecvWr}`)
      yield* receives(b, maxRecvWr - 1)
      assertFull(yield* Effect.flip(receives(b, 2)), "ibv_post_recv", "poll the completions")
      yield* receives(b, 1)
      assertFull(yield* Effect.flip(receives(b, 1)), "ibv_post_recv", "poll the completions")
      yield* QueuePair.send(a.queuePair, {})
      yield* assertTaken(b.receives, ["0 success"])
      yield* receives(b, 1)
    }))

  it("completions that were taken for others but not polled count against the room", () =>
    Effect.gen(function*() {
      const on = yield* domain
      const queue = yield* CompletionQueue.make(on.context, { cqe: 64 })
      const { a, b } = yield* connected.rc({ on, a: { sends: queue } })
      const { maxSendWr } = a.queuePair.cap
      yield* receives(b, 16)
      yield* sends(a, maxSendWr - 1)
      // Takes all from the device, and keeps them for who polls.
      yield* within("the awaited send", QueuePair.rdmaWrite(a.queuePair, { remote: b.remote(), sgList: [a.part()] }))
      assertFull(yield* Effect.flip(sends(a, 2)), "ibv_post_send", "must be polled first")
      yield* take(queue, maxSendWr - 1)
      yield* sends(a, 2)
    }))

  it("awaited sends wait for room, however many there are", () =>
    Effect.gen(function*() {
      const { a, b } = yield* connected.rc()
      const count = 3 * a.queuePair.cap.maxSendWr
      const writes = Array.from({ length: count }, (_, index) => {
        a.region.bytes[index] = index
        return QueuePair.rdmaWrite(a.queuePair, {
          wrId: BigInt(index),
          sgList: [a.part(index, 1)],
          remote: b.remote(index)
        })
      })
      const done = yield* within("all writes", Effect.all(writes, { concurrency: "unbounded" }))
      assert.deepStrictEqual(done.map(({ wrId }) => Number(wrId)), Array.from({ length: count }, (_, index) => index))
      assert.deepStrictEqual(
        Array.from(b.region.bytes.subarray(0, count)),
        Array.from({ length: count }, (_, index) => index)
      )
    }))

  it("an awaited send that waits for room goes on when others are polled, and can be interrupted", () =>
    Effect.gen(function*() {
      const { a, b } = yield* connected.rc()
      yield* sends(a, a.queuePair.cap.maxSendWr)
      const [stays, goes] = [
        yield* Effect.forkChild(QueuePair.send(a.queuePair, { wrId: 99n }), { startImmediately: true }),
        yield* Effect.forkChild(QueuePair.send(a.queuePair, { wrId: 98n }), { startImmediately: true })
      ]
      yield* Effect.sleep("20 millis")
      yield* within("the interruption", Fiber.interrupt(goes))
      yield* receives(b, 16)
      yield* take(b.receives, 16)
      yield* receives(b, 1)
      assert.strictEqual((yield* within("the send", Fiber.join(stays))).wrId, 99n)
      yield* take(a.sends, a.queuePair.cap.maxSendWr)
    }))

  it("no requests are nothing to post", () =>
    Effect.gen(function*() {
      const { a } = yield* connected.rc()
      yield* a.postSend()
      yield* a.postRecv()
      yield* assertQuiet(a.sends, a.receives)
    }))

  it("more pieces than the queues were made for are EINVAL, and what came with them is not posted", () =>
    Effect.gen(function*() {
      const { a, b } = yield* connected.rc()
      const { maxRecvSge, maxSendSge } = a.queuePair.cap
      const tooMany = a.postSend({ opcode: "send", flags: ["signaled"] }, {
        opcode: "send",
        sgList: many(a, maxSendSge + 1)
      })
      assertReason(yield* Effect.flip(tooMany), "ibv_post_send", "EINVAL")
      const receive = b.postRecv({ sgList: [] }, { sgList: many(b, maxRecvSge + 1) })
      assertReason(yield* Effect.flip(receive), "ibv_post_recv", "EINVAL")
      yield* assertQuiet(a.sends)
      yield* receives(b, 1)
      yield* QueuePair.send(a.queuePair, { sgList: many(a, maxSendSge) })
      yield* assertTaken(b.receives, ["0 success"])
    }))

  itWhere(has("checkedAtomics"), "the device tells of a misplaced atomic by a completion")(
    "when the provider refuses one, those before it are posted, the error counts them, and the room is right",
    () =>
      Effect.gen(function*() {
        const { a, b } = yield* connected.rc()
        const add = { opcode: "atomicFetchAndAdd", add: 1n, flags: ["signaled"], sgList: [a.part()] } as const
        const error = yield* Effect.flip(
          a.postSend({ ...add, wrId: 1n, remote: b.remote() }, { ...add, wrId: 2n, remote: b.remote() }, {
            ...add,
            wrId: 3n,
            remote: b.remote(3)
          }, { ...add, wrId: 4n, remote: b.remote() })
        )
        assertReason(error, "ibv_post_send", "EINVAL")
        assert.strictEqual(error.input["posted"], 2)
        yield* assertTaken(a.sends, ["1 success", "2 success"])
        yield* assertQuiet(a.sends)
        yield* sends(a, a.queuePair.cap.maxSendWr)
      })
  )

  it("many queue pairs fill their queues at once, and every message arrives", () =>
    Effect.gen(function*() {
      const on = yield* domain
      const queues = {
        sends: yield* CompletionQueue.make(on.context, { cqe: 512 }),
        receives: yield* CompletionQueue.make(on.context, { cqe: 512 })
      }
      const pairs = yield* Effect.forEach(Array.from({ length: 20 }), () =>
        connected.rc({ on, a: { sends: queues.sends }, b: { receives: queues.receives } }))
      for (const { b } of pairs) {
        yield* receives(b, 16)
      }
      for (const { a } of pairs) {
        yield* sends(a, a.queuePair.cap.maxSendWr > 16 ? 16 : a.queuePair.cap.maxSendWr)
      }
      for (const queue of [queues.sends, queues.receives]) {
        const taken = yield* take(queue, 320)
        assert.isTrue(taken.every(({ status }) =>
          status === "success"
        ))
      }
    }))
}

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

const assertFull = (error: VerbsError, call: string, hint: string): void => {
  assertReason(error, call, "ENOMEM")
  assert.include(error.message, hint)
}

const many = (self: End, count: number) => Array.from({ length: count }, () => self.part(0, 1))

const sends = (self: End, count: number) => postSends(self, ...numbers(count))
const receives = (self: End, count: number) => postReceives(self, ...numbers(count))

const numbers = (count: number) => Array.from({ length: count }, (_, index) => BigInt(index))
