/** Room in the rings, and what a post refuses: partial posts, states, pieces, inline data. */
import { Resource } from "@effect-rdma/core"
import { CompletionQueue, QueuePair, QueuePairInitAttributes, SendBatch } from "@effect-rdma/verbs"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { assertReason } from "../src/internal/conformance.ts"
import { connected, devices, outcome, request, run, side, text, textAt, toRtr, toRts } from "./dataPath.ts"
import { assertMisuse } from "./observe.ts"

const many = (count: number, flags: ReadonlyArray<"signaled">) =>
  Array.from({ length: count }, (_, index) => request(BigInt(index), "send", { flags }))

for (const device of devices) {
  const isRxe = device === "rxe0"
  describe(`rings of ${device}`, () => {
    it.effect("the request beyond the room is ENOMEM, and those before it are under way", () =>
      run(Effect.gen(function*() {
        const { a, b } = yield* connected(device, {
          a: { cap: { maxSendWr: 3, maxRecvWr: 3 } },
          pathA: { rnrRetry: 7 }
        })
        const room = isRxe ? 3 : 4
        assert.strictEqual(outcome(a.postSend(...many(9, ["signaled"]))), `${room} ENOMEM`)
        const receives = Array.from({ length: 9 }, (_, index) => ({ wrId: BigInt(index), sgList: [] }))
        assert.strictEqual(outcome(a.postRecv(...receives)), `${room} ENOMEM`)
        b.postRecv({ wrId: 1n, sgList: [] })
        assert.strictEqual(outcome(a.postSend(request(9n, "send"))), "0 ENOMEM")
      })))

    it.effect("room is free when the device is done on rxe, and when that was polled on mlx5", () =>
      run(Effect.gen(function*() {
        const { a, b } = yield* connected(device, { a: { cap: { maxSendWr: 4 } }, b: { cap: { maxRecvWr: 4 } } })
        const room = isRxe ? 7 : 4
        const write = (wrId: bigint, flags: ReadonlyArray<"signaled">) =>
          request(wrId, "rdmaWrite", { flags, sgList: [a.piece()], remote: b.remote() })
        // Only the completion of the last one frees those before it.
        for (let round = 0; round < 3; round++) {
          for (let index = 1; index < room; index++) assert.strictEqual(outcome(a.postSend(write(0n, []))), "1")
          assert.strictEqual(outcome(a.postSend(write(1n, ["signaled"]))), "1")
          if (!isRxe) assert.strictEqual(outcome(a.postSend(write(2n, []))), "0 ENOMEM")
          assert.deepStrictEqual(a.statuses(), ["1 success"])
        }
        const receive = { wrId: 1n, sgList: [] }
        for (let index = 0; index < room; index++) assert.strictEqual(outcome(b.postRecv(receive)), "1")
        a.postSend(request(1n, "send"))
        assert.strictEqual(outcome(b.postRecv(receive)), isRxe ? "1" : "0 ENOMEM")
        b.poll()
        assert.strictEqual(outcome(b.postRecv(receive)), isRxe ? "0 ENOMEM" : "1")
      })))

    it.effect("too many pieces and too much inline data", () =>
      run(Effect.gen(function*() {
        const { a } = yield* connected(device)
        const pieces = Array.from({ length: 5 }, () => a.piece())
        const refused = isRxe ? "EINVAL" : "ENOMEM"
        assert.strictEqual(outcome(a.postSend(request(1n, "send", { sgList: pieces }))), `0 ${refused}`)
        const inlineData = new Uint8Array(65)
        assert.strictEqual(outcome(a.postSend(request(1n, "send", { inlineData }))), `0 ${refused}`)
        assert.strictEqual(outcome(a.postRecv({ wrId: 1n, sgList: pieces })), "0 EINVAL")
        assert.strictEqual(yield* a.state, "rts")
      })))

    it.effect("inline data is copied by the post", () =>
      run(Effect.gen(function*() {
        const { a, b } = yield* connected(device)
        b.postRecv({ wrId: 1n, sgList: [b.piece(0, 10)] })
        yield* QueuePair.modify(a.pair, { qpState: "sqd" })
        const inlineData = text("before")
        a.postSend(request(1n, "send", { inlineData }))
        inlineData.set(text("after!"))
        yield* QueuePair.modify(a.pair, { qpState: "rts" })
        a.postSend(request(2n, "rdmaWrite", { remote: b.remote() }))
        assert.strictEqual(textAt(b, 0, 6), "before")
      })))

    it.effect("a post before RTS: rxe says EINVAL though it keeps it, mlx5 keeps it", () =>
      run(Effect.gen(function*() {
        const { a, b } = yield* connected(device)
        yield* QueuePair.toReset(a.pair)
        assert.strictEqual(outcome(a.postRecv({ wrId: 1n, sgList: [] })), isRxe ? "0 EINVAL" : "1")
        yield* toRtr(a, { host: "host-b", qpNum: b.pair.qpNum })
        assert.strictEqual(outcome(a.postRecv({ wrId: 1n, sgList: [] })), "1")
        const posted = a.postSend(request(1n, "send"))
        assert.strictEqual(outcome(posted), isRxe ? "0 EINVAL" : "1")
        b.postRecv({ wrId: 1n, sgList: [] }, { wrId: 2n, sgList: [] })
        yield* toRts(a)
        assert.deepStrictEqual(a.statuses(), isRxe ? [] : ["1 success"])
        a.postSend(request(2n, "send"))
        assert.deepStrictEqual(a.statuses(), isRxe ? ["1 success", "2 success"] : ["2 success"])
      })))

    it.effect("receives in ERR are flushed: on rxe only when it goes there again", () =>
      run(Effect.gen(function*() {
        const { a } = yield* connected(device)
        yield* QueuePair.toErr(a.pair)
        assert.strictEqual(outcome(a.postRecv({ wrId: 1n, sgList: [] })), "1")
        assert.deepStrictEqual(a.statuses(), isRxe ? [] : ["1 wrFlushErr"])
        yield* QueuePair.toErr(a.pair)
        assert.deepStrictEqual(a.statuses(), isRxe ? ["1 wrFlushErr"] : [])
      })))

    it.effect("RESET drops what was posted; what was not polled stays on rxe, and goes on mlx5", () =>
      run(Effect.gen(function*() {
        const { a, b } = yield* connected(device)
        b.postRecv({ wrId: 1n, sgList: [] }, { wrId: 2n, sgList: [] })
        a.postSend(request(1n, "send"))
        yield* QueuePair.toReset(b.pair)
        assert.deepStrictEqual(b.statuses(), isRxe ? ["1 success"] : [])
        yield* toRtr(b, { host: "host-a", qpNum: a.pair.qpNum })
        const receives = Array.from({ length: 40 }, () => ({ wrId: 3n, sgList: [] }))
        assert.strictEqual(outcome(b.postRecv(...receives)), isRxe ? "31 ENOMEM" : "16 ENOMEM")
      })))

    it.effect("every send tells when the queue pair was made so", () =>
      run(Effect.gen(function*() {
        const { a, b } = yield* connected(device, { a: { sqSigAll: true } })
        a.postSend(request(1n, "rdmaWrite", { flags: [], sgList: [a.piece()], remote: b.remote() }))
        assert.deepStrictEqual(a.statuses(), ["1 success"])
      })))

    it.effect("what a type cannot do is locQpOpErr", () =>
      run(Effect.gen(function*() {
        const { a, b } = yield* connected(device, { a: { qpType: "uc" }, b: { qpType: "uc" } })
        a.postSend(request(1n, "rdmaRead", { sgList: [a.piece()], remote: b.remote() }))
        assert.deepStrictEqual(a.statuses(), ["1 locQpOpErr"])
        assert.strictEqual(yield* a.state, isRxe ? "err" : "sqe")
        const inlineData = new Uint8Array(8).fill(7)
        const reliable = yield* connected(device)
        reliable.a.postSend(request(1n, "atomicWrite", { inlineData, remote: reliable.b.remote() }))
        assert.deepStrictEqual(reliable.a.statuses(), [isRxe ? "1 locQpOpErr" : "1 success"])
        assert.strictEqual(reliable.b.region.bytes[7], isRxe ? 0 : 7)
      })))

    it.effect("atomics work on eight bytes and give what was there", () =>
      run(Effect.gen(function*() {
        const { a, b } = yield* connected(device)
        const there = new DataView(b.region.bytes.buffer, b.region.bytes.byteOffset)
        const here = new DataView(a.region.bytes.buffer, a.region.bytes.byteOffset)
        there.setBigUint64(8, 0xffff_ffff_ffff_ffffn, true)
        const common = { sgList: [a.piece()], remote: b.remote(8) }
        a.postSend(request(1n, "atomicFetchAndAdd", { ...common, compareAdd: 3n }))
        assert.strictEqual(here.getBigUint64(0, true), 0xffff_ffff_ffff_ffffn)
        assert.strictEqual(there.getBigUint64(8, true), 2n)
        a.postSend(request(2n, "atomicCmpAndSwp", { ...common, compareAdd: 1n, swap: 9n }))
        assert.strictEqual(there.getBigUint64(8, true), 2n)
        a.postSend(request(3n, "atomicCmpAndSwp", { ...common, compareAdd: 2n, swap: 9n }))
        assert.strictEqual(there.getBigUint64(8, true), 9n)
        assert.deepStrictEqual(
          a.poll().map((completion) => completion.status === "success" && [completion.opcode, completion.byteLen]),
          [["fetchAdd", 8], ["compSwap", 8], ["compSwap", 8]]
        )
        const misplaced = a.postSend(
          request(4n, "atomicFetchAndAdd", { ...common, remote: b.remote(4), compareAdd: 1n })
        )
        assert.strictEqual(outcome(misplaced), isRxe ? "0 EINVAL" : "1")
        assert.deepStrictEqual(a.statuses(), isRxe ? [] : ["4 remInvReqErr"])
      })))

    it.effect("a batch takes the same way", () =>
      run(Effect.gen(function*() {
        const { a, b } = yield* connected(device)
        const queue = yield* CompletionQueue.make(a.context, { cqe: 16 })
        const pair = yield* QueuePair.makeExtended(a.domain, {
          qpType: "rc",
          sendCq: queue,
          recvCq: queue,
          cap: { maxSendWr: 4, maxSendSge: 2, maxInlineData: 16 },
          sendOpsFlags: QueuePairInitAttributes.SendOperation.literals.filter((flag) =>
            flag !== "tso" && flag !== "flush"
          )
        })
        const extended = { ...a, pair }
        yield* toRtr(extended, { host: "host-b", qpNum: b.pair.qpNum })
        yield* toRts(extended)
        yield* QueuePair.toReset(b.pair)
        yield* toRtr(b, { host: "host-a", qpNum: pair.qpNum })
        b.postRecv({ wrId: 1n, sgList: [b.piece(0, 64)] }, { wrId: 2n, sgList: [b.piece(64, 64)] })
        a.region.bytes.set(text("one two "))
        yield* SendBatch.post(pair, (batch) => {
          batch.sendImm({ wrId: 1n, flags: ["signaled"] }, 5)
          batch.setSgeList([a.piece(0, 4), a.piece(4, 4)])
          batch.rdmaRead({ wrId: 2n, flags: ["signaled"] }, b.remote(0))
          batch.setSge(a.piece(100, 8))
        })
        assert.strictEqual(textAt(a, 100, 8), "one two ")
        const { completions } = a.dataPath.pollCq(Resource.raw(queue), 9)
        assert.deepStrictEqual(completions.map(({ status }) => status), ["success", "success"])
        assert.deepStrictEqual(b.statuses(), ["1 success"])
        // On the seam: SendBatch counts for itself.
        const five = a.context.verbs.wrComplete(Resource.raw(pair), (batch) => {
          for (let index = 0; index < (isRxe ? 8 : 5); index++) {
            batch.send({ wrId: 9n, flags: [] })
            batch.setSge(a.piece())
          }
        })
        assertReason(yield* Effect.flip(five), "ibv_wr_complete", isRxe ? "ENOSPC" : "ENOMEM")
        // rxe of 44.0 forgets the flag: its kernel takes the bytes for a piece.
        yield* SendBatch.post(pair, (batch) => {
          batch.send({ wrId: 3n, flags: ["signaled"] })
          batch.setInlineData(text("inline"))
        })
        const [inline] = yield* CompletionQueue.poll(queue)
        assert.strictEqual(inline?.status, isRxe ? "locQpOpErr" : "success")
      })))
  })
}

describe("misuse of the data path", () => {
  it.effect("a dead queue pair, queue or address handle is a misuse", () =>
    run(Effect.gen(function*() {
      const { a, b } = yield* connected("rxe0")
      const dead = yield* Effect.scoped(Effect.map(side("rxe0"), ({ pair, queue }) => ({
        qp: Resource.raw(pair),
        cq: Resource.raw(queue)
      })))
      const { dataPath } = a
      yield* assertMisuse(Effect.sync(() => dataPath.postSend(dead.qp, [])), "ibv_post_send", /was a QueuePair/)
      yield* assertMisuse(Effect.sync(() => dataPath.postRecv(dead.qp, [])), "ibv_post_recv", /was a QueuePair/)
      yield* assertMisuse(Effect.sync(() => dataPath.pollCq(dead.cq, 1)), "ibv_poll_cq", /was a CompletionQueue/)
      yield* assertMisuse(
        Effect.sync(() => dataPath.pollCq(Resource.raw(b.queue), 1)),
        "ibv_poll_cq",
        /never given out/
      )
      const ud = yield* side("rxe0", { qpType: "ud" })
      yield* assertMisuse(Effect.sync(() => ud.postSend(request(1n, "send"))), "ibv_post_send", /without an address/)
    })))
})
