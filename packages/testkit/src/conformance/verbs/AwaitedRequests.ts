/**
 * Conformance of requests that are awaited: each gives the completion of its own request.
 *
 * @since 0.1.0
 */
import * as CompletionChannel from "@effect-rdma/verbs/CompletionChannel"
import * as CompletionQueue from "@effect-rdma/verbs/CompletionQueue"
import * as MemoryWindow from "@effect-rdma/verbs/MemoryWindow"
import * as QueuePair from "@effect-rdma/verbs/QueuePair"
import * as RemoteKey from "@effect-rdma/verbs/RemoteKey"
import * as WaitStrategy from "@effect-rdma/verbs/WaitStrategy"
import * as WorkCompletion from "@effect-rdma/verbs/WorkCompletion"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { assertBytes, pattern, setWord, wordAt } from "../../internal/conformanceBytes.ts"
import { assertTaken, within } from "../../internal/conformanceCompletions.ts"
import { dataPathSuite, remoteAccess } from "../../internal/conformanceDataPath.ts"
import { stateOf } from "../../internal/conformanceVerbs.ts"
import type * as VerbsLane from "../VerbsLane.ts"

/**
 * Registers the suite on a lane.
 *
 * @category constructors
 * @since 0.1.0
 */
export const suite = <Others = never>(lane: VerbsLane.VerbsLane<Others>): void => {
  const { connected, domain, it } = dataPathSuite(lane)

  it("a send and a receive are awaited, each by its own side", () =>
    Effect.gen(function*() {
      const { a, b } = yield* connected.rc()
      a.region.bytes.set(pattern(100))
      const [received, sent] = yield* both(
        QueuePair.recv(b.queuePair, { wrId: 7n, sgList: [b.part(0, 200)] }),
        QueuePair.send(a.queuePair, { wrId: 8n, sgList: [a.part(0, 100)] })
      )
      assert.deepInclude<object>(received, { wrId: 7n, opcode: "recv", byteLen: 100, qpNum: b.queuePair.qpNum })
      assert.deepInclude<object>(sent, { wrId: 8n, opcode: "send", qpNum: a.queuePair.qpNum })
      assertBytes(b.region.bytes.subarray(0, 100), pattern(100))
    }))

  it("an awaited send takes immediate data and inline data", () =>
    Effect.gen(function*() {
      const { a, b } = yield* connected.rc()
      const [received] = yield* both(
        QueuePair.recv(b.queuePair, { sgList: [b.part(0, 64)] }),
        QueuePair.send(a.queuePair, { inlineData: pattern(20), immData: 0xffff_ffff })
      )
      assert.deepInclude<object>(received, { byteLen: 20, immData: 0xffff_ffff })
      assertBytes(b.region.bytes.subarray(0, 20), pattern(20))
    }))

  it("an awaited write is there when it is done, and tells the peer by immediate data", () =>
    Effect.gen(function*() {
      const { a, b } = yield* connected.rc()
      a.region.bytes.set(pattern(3000))
      const written = yield* within(
        "what is awaited",
        QueuePair.rdmaWrite(a.queuePair, { sgList: [a.part(0, 3000)], remote: b.remote() })
      )
      assert.strictEqual(written.opcode, "rdmaWrite")
      assertBytes(b.region.bytes.subarray(0, 3000), pattern(3000))
      const [received] = yield* both(
        QueuePair.recv(b.queuePair, { sgList: [] }),
        QueuePair.rdmaWrite(a.queuePair, { sgList: [a.part(0, 9)], remote: b.remote(3500), immData: 5 })
      )
      assert.deepInclude<object>(received, { opcode: "recvRdmaWithImm", byteLen: 9, immData: 5 })
      assertBytes(b.region.bytes.subarray(3500, 3509), pattern(9))
    }))

  it("an awaited read is here when it is done", () =>
    Effect.gen(function*() {
      const { a, b } = yield* connected.rc()
      b.region.bytes.set(pattern(3000))
      const read = yield* within(
        "what is awaited",
        QueuePair.rdmaRead(a.queuePair, { sgList: [a.part(0, 3000)], remote: b.remote() })
      )
      assert.deepInclude<object>(read, { opcode: "rdmaRead", byteLen: 3000 })
      assertBytes(a.region.bytes.subarray(0, 3000), pattern(3000))
    }))

  it("awaited atomic operations bring the old number", () =>
    Effect.gen(function*() {
      const { a, b } = yield* connected.rc()
      setWord(b.region, 10n)
      const to = { sgList: [a.part()], remote: b.remote() }
      const added = yield* within("what is awaited", QueuePair.atomicFetchAndAdd(a.queuePair, { ...to, add: 5n }))
      assert.strictEqual(added.opcode, "fetchAdd")
      assert.strictEqual(wordAt(a.region), 10n)
      const swapped = yield* within(
        "what is awaited",
        QueuePair.atomicCmpAndSwp(a.queuePair, { ...to, compare: 15n, swap: 1n })
      )
      assert.strictEqual(swapped.opcode, "compSwap")
      assert.deepStrictEqual([wordAt(a.region), wordAt(b.region)], [15n, 1n])
    }))

  it("an awaited bind opens a window, which an awaited invalidation or a message of the peer closes", () =>
    Effect.gen(function*() {
      const { a, b } = yield* connected.rc()
      const window = yield* MemoryWindow.alloc(b.on, 2)
      const open = Effect.suspend(() =>
        QueuePair.bindMw(b.queuePair, {
          bind: { window, region: b.region, rkey: RemoteKey.increment(window.rkey), access: remoteAccess }
        })
      )
      const use = Effect.suspend(() =>
        QueuePair.rdmaWrite(a.queuePair, { sgList: [a.part()], remote: { ...b.remote(), rkey: window.rkey } })
      )
      assert.strictEqual((yield* within("what is awaited", open)).opcode, "bindMw")
      yield* within("what is awaited", use)
      const closed = yield* within("what is awaited", QueuePair.localInv(b.queuePair, { invalidateRkey: window.rkey }))
      assert.strictEqual(closed.opcode, "localInv")
      yield* within("what is awaited", open)
      const [received] = yield* both(
        QueuePair.recv(b.queuePair, { sgList: [] }),
        QueuePair.send(a.queuePair, { invalidateRkey: window.rkey })
      )
      assert.strictEqual(received.invalidatedRkey, lane.features.has("tellsInvalidation") ? window.rkey : undefined)
      const error = yield* failed(use)
      assert.deepInclude<object>(error, { request: "rdmaWrite", status: "remAccessErr" })
    }))

  it("an unreliable queue pair awaits sends and writes", () =>
    Effect.gen(function*() {
      const { a, b } = yield* connected.uc()
      a.region.bytes.set(pattern(8))
      const [received] = yield* both(
        QueuePair.recv(b.queuePair, { sgList: [] }),
        QueuePair.rdmaWrite(a.queuePair, { sgList: [a.part()], remote: b.remote(), immData: 1 })
      )
      assert.deepInclude<object>(received, { immData: 1, byteLen: 8 })
      assertBytes(b.region.bytes.subarray(0, 8), pattern(8))
    }))

  for (
    const [what, strategy] of [
      ["a channel", { _tag: "channel" }],
      ["turns", { _tag: "turn" }],
      ["spinning", { _tag: "spin", slice: "1 millis" }]
    ] as const
  ) {
    it(`two ends that wait by ${what} answer each other`, () =>
      Effect.gen(function*() {
        const on = yield* domain
        const oneQueue = Effect.gen(function*() {
          const channel = yield* CompletionChannel.make(on.context)
          const queue = yield* CompletionQueue.make(on.context, { cqe: 16, channel })
          return { sends: queue, receives: queue }
        })
        const { a, b } = yield* connected.rc({ on, a: yield* oneQueue, b: yield* oneQueue })
        const ping = Effect.gen(function*() {
          for (let round = 0; round < 20; round++) {
            setWord(a.region, BigInt(round))
            yield* both(
              QueuePair.recv(a.queuePair, { sgList: [a.part(8)] }),
              QueuePair.send(a.queuePair, { sgList: [a.part(0)] })
            )
            assert.strictEqual(wordAt(a.region, 8), BigInt(round) + 1n)
          }
        })
        const pong = Effect.gen(function*() {
          for (let round = 0; round < 20; round++) {
            yield* QueuePair.recv(b.queuePair, { sgList: [b.part(8)] })
            setWord(b.region, wordAt(b.region, 8) + 1n)
            yield* QueuePair.send(b.queuePair, { sgList: [b.part(0)] })
          }
        })
        yield* both(ping, pong).pipe(Effect.provideService(WaitStrategy.WaitStrategy, strategy))
      }))
  }

  it("more awaited requests than the queue has room for are all carried out", () =>
    Effect.gen(function*() {
      const { a, b } = yield* connected.rc({ a: { cap: { maxSendWr: 4 } } })
      const offsets = Array.from({ length: 60 }, (_, index) => index * 8)
      a.region.bytes.set(pattern(480))
      const done = yield* within(
        "what is awaited",
        Effect.forEach(
          offsets,
          (offset) =>
            QueuePair.rdmaWrite(a.queuePair, {
              wrId: BigInt(offset),
              sgList: [a.part(offset)],
              remote: b.remote(offset)
            }),
          { concurrency: "unbounded" }
        )
      )
      assert.deepStrictEqual(done.map(({ wrId }) => wrId), offsets.map(BigInt))
      assertBytes(b.region.bytes.subarray(0, 480), pattern(480))
    }))

  it("those who poll get the completions that nobody awaits, and no others", () =>
    Effect.gen(function*() {
      const { a, b } = yield* connected.rc()
      const write = { sgList: [a.part()], remote: b.remote() }
      yield* a.postSend({ opcode: "rdmaWrite", wrId: 1n, flags: ["signaled"], ...write })
      assert.strictEqual(
        (yield* within("what is awaited", QueuePair.rdmaWrite(a.queuePair, { wrId: 2n, ...write }))).wrId,
        2n
      )
      yield* a.postSend({ opcode: "rdmaWrite", wrId: 3n, flags: ["signaled"], ...write })
      assert.strictEqual(
        (yield* within("what is awaited", QueuePair.rdmaWrite(a.queuePair, { wrId: 4n, ...write }))).wrId,
        4n
      )
      yield* assertTaken(a.sends, ["1 success", "3 success"])
      assert.deepStrictEqual(yield* CompletionQueue.poll(a.sends), [])
    }))

  it("the queue pairs of one completion queue are awaited side by side", () =>
    Effect.gen(function*() {
      const on = yield* domain
      const queue = yield* CompletionQueue.make(on.context, { cqe: 64 })
      const oneQueue = { sends: queue, receives: queue }
      const pairs = yield* Effect.forEach([1, 2, 3], () => connected.rc({ on, a: oneQueue, b: oneQueue }))
      const done = yield* within(
        "what is awaited",
        Effect.forEach(
          pairs,
          ({ a, b }, index) =>
            both(
              QueuePair.recv(b.queuePair, { sgList: [b.part()] }),
              QueuePair.send(a.queuePair, { sgList: [a.part()], immData: index })
            ),
          { concurrency: "unbounded" }
        )
      )
      assert.deepStrictEqual(
        done.map(([{ immData, qpNum }]) => [immData, qpNum]),
        pairs.map(({ b }, index) => [index, b.queuePair.qpNum])
      )
    }))

  it("a request that fails tells its status, and those behind it that they were flushed", () =>
    Effect.gen(function*() {
      const { a, b } = yield* connected.rc()
      const bad = { ...b.remote(), rkey: (b.region.rkey + 0x7f) >>> 0 }
      const [refused, flushed] = yield* both(
        failed(QueuePair.rdmaRead(a.queuePair, { wrId: 3n, sgList: [a.part()], remote: bad })),
        failed(QueuePair.rdmaRead(a.queuePair, { wrId: 4n, sgList: [a.part()], remote: b.remote() }))
      )
      const { qpNum } = a.queuePair
      assert.deepInclude<object>(refused, { request: "rdmaRead", status: "remAccessErr", wrId: 3n, qpNum })
      assert.deepInclude<object>(flushed, { request: "rdmaRead", status: "wrFlushErr", wrId: 4n, qpNum })
      assert.include(refused.message, "rdmaRead")
      assert.strictEqual(yield* stateOf(a.queuePair), "err")
    }))

  it("a receive that is refused tells its status", () =>
    Effect.gen(function*() {
      const { a, b } = yield* connected.rc()
      const { receiver, sender } = lane.statuses.shortReceive
      const [received, sent] = yield* both(
        failed(QueuePair.recv(b.queuePair, { wrId: 5n, sgList: [b.part(0, 4)] })),
        failed(QueuePair.send(a.queuePair, { wrId: 6n, sgList: [a.part()] }))
      )
      assert.deepInclude<object>(received, { request: "recv", status: receiver, wrId: 5n })
      assert.deepInclude<object>(sent, { request: "send", status: sender, wrId: 6n })
    }))
}

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

const both = <A, E, R, B, E2, R2>(one: Effect.Effect<A, E, R>, other: Effect.Effect<B, E2, R2>) =>
  within("what is awaited", Effect.all([one, other], { concurrency: 2 }))

/** How a request failed that must fail. */
const failed = <E, R>(request: Effect.Effect<unknown, E | WorkCompletion.WorkCompletionError, R>) =>
  Effect.map(Effect.flip(within("what is awaited", request)), (error) => {
    if (error instanceof WorkCompletion.WorkCompletionError) return error
    return assert.fail(`expected a WorkCompletionError, got ${String(error)}`)
  })
