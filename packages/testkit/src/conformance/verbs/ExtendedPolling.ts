/**
 * Conformance of extended completion queues with the completions of messages.
 *
 * @since 0.1.0
 */
import * as AddressHandle from "@effect-rdma/verbs/AddressHandle"
import * as CompletionQueue from "@effect-rdma/verbs/CompletionQueue"
import type * as ExtendedCompletion from "@effect-rdma/verbs/ExtendedCompletion"
import * as QueuePair from "@effect-rdma/verbs/QueuePair"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { put } from "../../internal/conformanceBytes.ts"
import { assertQuiet, assertTaken, nextEvent, within } from "../../internal/conformanceCompletions.ts"
import { addressed, dataPathSuite } from "../../internal/conformanceDataPath.ts"
import type * as VerbsLane from "../VerbsLane.ts"

/**
 * Registers the suite on a lane.
 *
 * @category constructors
 * @since 0.1.0
 */
export const suite = <Others = never>(lane: VerbsLane.VerbsLane<Others>): void => {
  const { connected, datagramsOn, domain, headerBytes, it } = dataPathSuite(lane)

  it("a poll reports of a message what its receiver must know", () =>
    Effect.gen(function*() {
      const on = yield* domain
      const queue = yield* CompletionQueue.makeExtended(on.context, { cqe: 16 })
      const { a, b } = yield* connected.rc({ on, b: { receives: queue } })
      yield* b.postRecv({ wrId: 1n, sgList: [b.part(0, 64)] })
      yield* a.postSend({ opcode: "sendWithImm", immData: 77, sgList: [put(a, "hello")] })
      const [received] = yield* takeExtended(queue, 1)
      assert.deepInclude<object>(received ?? {}, {
        wrId: 1n,
        status: "success",
        opcode: "recv",
        byteLen: 5,
        immData: 77,
        qpNum: b.queuePair.qpNum
      })
      assert.strictEqual((received?.wcFlags ?? 0) & 2, 2)
    }))

  it("a poll reports where a datagram came from", () =>
    Effect.gen(function*() {
      const on = yield* domain
      const queue = yield* CompletionQueue.makeExtended(on.context, { cqe: 16 })
      const [a, b] = [yield* datagramsOn(on), yield* datagramsOn(on, { receives: queue })]
      const ah = yield* AddressHandle.make(on, lane.loop)
      yield* b.postRecv({ wrId: 1n, sgList: [b.part(0, 64)] })
      yield* QueuePair.send(a.queuePair, { to: addressed(ah, b), sgList: [put(a, "hello")], immData: 5 })
      const [received] = yield* takeExtended(queue, 1)
      assert.deepInclude<object>(received ?? {}, {
        status: "success",
        byteLen: headerBytes + 5,
        immData: 5,
        srcQp: a.queuePair.qpNum,
        qpNum: b.queuePair.qpNum
      })
      assert.strictEqual((received?.wcFlags ?? 0) & 1, lane.roce === undefined ? 0 : 1)
    }))

  it("a poll reports what a send was, and to whom it belongs", () =>
    Effect.gen(function*() {
      const on = yield* domain
      const sends = yield* CompletionQueue.makeExtended(on.context, { cqe: 16 })
      const { a, b } = yield* connected.rc({ on, a: { sends } })
      yield* b.postRecv({ sgList: [b.part(0, 64)] })
      const common = { flags: ["signaled"], sgList: [put(a, "12345678")], remote: b.remote() } as const
      yield* a.postSend({ ...common, opcode: "send", wrId: 1n }, { ...common, opcode: "rdmaWrite", wrId: 2n }, {
        ...common,
        opcode: "rdmaRead",
        wrId: 3n
      }, { ...common, opcode: "atomicFetchAndAdd", add: 1n, wrId: 4n })
      const taken = yield* takeExtended(sends, 4)
      const { qpNum } = a.queuePair
      assert.deepStrictEqual(taken.map(({ opcode, qpNum, status, wrId }) => ({ wrId, status, opcode, qpNum })), [
        { wrId: 1n, status: "success", opcode: "send", qpNum },
        { wrId: 2n, status: "success", opcode: "rdmaWrite", qpNum },
        { wrId: 3n, status: "success", opcode: "rdmaRead", qpNum },
        { wrId: 4n, status: "success", opcode: "fetchAdd", qpNum }
      ])
    }))

  it("a queue that was not asked for a field does not have it", () =>
    Effect.gen(function*() {
      const on = yield* domain
      const queue = yield* CompletionQueue.makeExtended(on.context, { cqe: 16, wcFlags: ["byteLen"] })
      const { a, b } = yield* connected.rc({ on, b: { receives: queue } })
      yield* b.postRecv({ wrId: 1n, sgList: [b.part(0, 64)] })
      yield* QueuePair.send(a.queuePair, { sgList: [put(a, "hello")], immData: 77 })
      const [received] = yield* takeExtended(queue, 1)
      const { byteLen, immData, qpNum, srcQp, wrId } = received ?? assert.fail("none")
      assert.deepStrictEqual({ byteLen, immData, qpNum, srcQp, wrId }, {
        byteLen: 5,
        immData: undefined,
        qpNum: undefined,
        srcQp: undefined,
        wrId: 1n
      })
    }))

  it("a failure reports its status", () =>
    Effect.gen(function*() {
      const on = yield* domain
      const queue = yield* CompletionQueue.makeExtended(on.context, { cqe: 16 })
      const { b } = yield* connected.rc({ on, b: { receives: queue } })
      yield* b.postRecv({ wrId: 1n, sgList: [] }, { wrId: 2n, sgList: [] })
      yield* QueuePair.toErr(b.queuePair)
      const taken = yield* takeExtended(queue, 2)
      assert.deepStrictEqual(taken.map(({ qpNum, status, wrId }) => ({ wrId, status, qpNum })), [
        { wrId: 1n, status: "wrFlushErr", qpNum: b.queuePair.qpNum },
        { wrId: 2n, status: "wrFlushErr", qpNum: b.queuePair.qpNum }
      ])
    }))

  it("a poll stops where it is told to, and leaves the rest to the next one, of whichever kind", () =>
    Effect.gen(function*() {
      const on = yield* domain
      const queue = yield* CompletionQueue.makeExtended(on.context, { cqe: 16 })
      const { a, b } = yield* connected.rc({ on, b: { receives: queue } })
      const wrIds = [1n, 2n, 3n, 4n, 5n]
      yield* b.postRecv(...wrIds.map((wrId) => ({ wrId, sgList: [] })))
      yield* Effect.forEach(wrIds, () => QueuePair.send(a.queuePair, {}))
      yield* Effect.sleep("50 millis")
      const taken: Array<bigint> = []
      const polled = yield* CompletionQueue.pollExtended(queue, ({ wrId }) => taken.push(wrId) < 2)
      assert.deepStrictEqual([polled, taken], [2, [1n, 2n]])
      yield* assertTaken(queue, ["3 success", "4 success", "5 success"])
      yield* assertQuiet(queue)
    }))

  it("many queue pairs on one extended queue", () =>
    Effect.gen(function*() {
      const on = yield* domain
      const queue = yield* CompletionQueue.makeExtended(on.context, { cqe: 64 })
      const pairs = yield* Effect.forEach([0, 1, 2, 3], () => connected.rc({ on, b: { receives: queue } }))
      const wrIds = [1n, 2n, 3n, 4n, 5n, 6n, 7n, 8n]
      for (const { a, b } of pairs) {
        yield* b.postRecv(...wrIds.map((wrId) => ({ wrId, sgList: [] })))
        yield* a.postSend(...wrIds.map(() => ({ opcode: "send" } as const)))
      }
      const taken = yield* takeExtended(queue, 32)
      for (const { b } of pairs) {
        const own = taken.filter(({ qpNum }) => qpNum === b.queuePair.qpNum)
        assert.deepStrictEqual(own.map(({ wrId }) => wrId), wrIds)
      }
    }))

  it("what is awaited does not come to who polls an extended queue", () =>
    Effect.gen(function*() {
      const on = yield* domain
      const queue = yield* CompletionQueue.makeExtended(on.context, { cqe: 16 })
      const { a, b } = yield* connected.rc({ on, a: { sends: queue, receives: queue } })
      yield* b.postRecv({ sgList: [] }, { sgList: [] })
      yield* a.postSend({ opcode: "send", wrId: 1n, flags: ["signaled"] })
      const sent = yield* within("the awaited send", QueuePair.send(a.queuePair, { wrId: 2n }))
      assert.strictEqual(sent.wrId, 2n)
      yield* assertTaken(queue, ["1 success"])
    }))

  it("an extended queue that overflows tells of it, for sends and for receives", () =>
    Effect.gen(function*() {
      const on = yield* domain
      for (const kind of ["sends", "receives"] as const) {
        const queue = yield* CompletionQueue.makeExtended(on.context, { cqe: 3 })
        const { a, b } = yield* connected.rc({ on, [kind === "sends" ? "a" : "b"]: { [kind]: queue } })
        yield* b.postRecv(...Array.from({ length: 8 }, () => ({ sgList: [] })))
        yield* a.postSend(...Array.from({ length: 5 }, () => ({ opcode: "send", flags: ["signaled"] } as const)))
        assert.strictEqual(yield* nextEvent(on.context, queue), "cqErr")
        assert.isAtMost(yield* CompletionQueue.pollExtended(queue, () => true), queue.cqe)
      }
    }))
}

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

/** Polls until so many were read. */
const takeExtended = (queue: CompletionQueue.ExtendedCompletionQueue, count: number) =>
  Effect.suspend(() => {
    const taken: Array<ExtendedCompletion.ExtendedCompletion> = []
    const poll = CompletionQueue.pollExtended(queue, (completion) => taken.push(completion) < count)
    return within(
      `${count} completions`,
      Effect.repeat(Effect.andThen(Effect.yieldNow, poll), {
        until: () => taken.length >= count
      })
    ).pipe(Effect.as(taken))
  })
