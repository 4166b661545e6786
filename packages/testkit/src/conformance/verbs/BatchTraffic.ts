/**
 * Conformance of batches on connected queue pairs: each kind of request moves what it says.
 *
 * @since 0.1.0
 */
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { assertReason } from "../../internal/conformance.ts"
import { assertBytes, pattern, setWord, wordAt } from "../../internal/conformanceBytes.ts"
import { assertQuiet, assertTaken, takeOne } from "../../internal/conformanceCompletions.ts"
import { dataPathSuite } from "../../internal/conformanceDataPath.ts"
import type * as VerbsLane from "../VerbsLane.ts"

/**
 * Registers the suite on a lane.
 *
 * @category constructors
 * @since 0.1.0
 */
export const suite = <Others = never>(lane: VerbsLane.VerbsLane<Others>): void => {
  const { batching, has, it, itWhere } = dataPathSuite(lane)

  const itIsWhole = itWhere(has("wholeBatches"), "the provider loses inline data and lengths of pieces")
  const one = { wrId: 1n, flags: ["signaled"] } as const

  it("a batch sends a message", () =>
    Effect.gen(function*() {
      const { a, b, batch, piece } = yield* batching
      yield* b.postRecv({ wrId: 2n, sgList: [b.part(0, 4096)] })
      yield* batch((batch) => {
        batch.send(one)
        batch.setSge(piece(3, 2000))
      })
      assert.deepInclude<object>(yield* takeOne(a.sends), { wrId: 1n, opcode: "send" })
      assert.deepInclude<object>(yield* takeOne(b.receives), {
        wrId: 2n,
        opcode: "recv",
        byteLen: 2000,
        immData: undefined
      })
      assertBytes(b.region.bytes.subarray(0, 2000), pattern(4096).subarray(3, 2003))
    }))

  it("a batch sends a message with immediate data", () =>
    Effect.gen(function*() {
      const { a, b, batch, piece } = yield* batching
      yield* b.postRecv({ wrId: 2n, sgList: [b.part(0, 64)] })
      yield* batch((batch) => {
        batch.sendImm(one, 0xa1b2_c3d4)
        batch.setSge(piece())
      })
      assert.deepInclude<object>(yield* takeOne(a.sends), { wrId: 1n, opcode: "send" })
      assert.deepInclude<object>(yield* takeOne(b.receives), { opcode: "recv", byteLen: 8, immData: 0xa1b2_c3d4 })
      assertBytes(b.region.bytes.subarray(0, 8), pattern(8))
    }))

  it("a batch sends empty messages", () =>
    Effect.gen(function*() {
      const { a, b, batch, piece } = yield* batching
      yield* b.postRecv({ wrId: 1n, sgList: [] }, { wrId: 2n, sgList: [b.part()] })
      yield* batch((batch) => {
        batch.send(one)
        batch.setSgeList([])
        batch.send({ ...one, wrId: 2n })
        batch.setSge(piece(0, 0))
      })
      yield* assertTaken(a.sends, ["1 success", "2 success"])
      assert.deepInclude<object>(yield* takeOne(b.receives), { wrId: 1n, byteLen: 0 })
      assert.deepInclude<object>(yield* takeOne(b.receives), { wrId: 2n, byteLen: 0 })
    }))

  itIsWhole("a batch sends inline data, and writes it", () =>
    Effect.gen(function*() {
      const { a, b, batch } = yield* batching
      yield* b.postRecv({ sgList: [b.part(0, 64)] })
      yield* batch((batch) => {
        batch.send(one)
        batch.setInlineData(pattern(33, 9))
      })
      yield* assertTaken(a.sends, ["1 success"])
      assert.strictEqual((yield* takeOne(b.receives)).byteLen, 33)
      assertBytes(b.region.bytes.subarray(0, 33), pattern(33, 9))
      yield* batch((batch) => {
        batch.rdmaWrite({ ...one, wrId: 2n }, b.remote(100))
        batch.setInlineData(pattern(64, 3))
      })
      yield* assertTaken(a.sends, ["2 success"])
      assertBytes(b.region.bytes.subarray(100, 164), pattern(64, 3))
    }))

  it("a batch sends several pieces as one message", () =>
    Effect.gen(function*() {
      const { a, b, batch, piece } = yield* batching
      yield* b.postRecv({ sgList: [b.part(0, 64)] })
      yield* batch((batch) => {
        batch.send(one)
        batch.setSgeList([piece(100, 6), piece(200, 6)])
      })
      yield* assertTaken(a.sends, ["1 success"])
      assert.strictEqual((yield* takeOne(b.receives)).byteLen, 12)
      const source = pattern(4096)
      assertBytes(b.region.bytes.subarray(0, 12), Buffer.concat([source.subarray(100, 106), source.subarray(200, 206)]))
    }))

  itIsWhole("pieces of a batch may be of any lengths", () =>
    Effect.gen(function*() {
      const { a, b, batch, piece } = yield* batching
      yield* b.postRecv({ sgList: [b.part(0, 64)] })
      yield* batch((batch) => {
        batch.send(one)
        batch.setSgeList([piece(100, 5), piece(0, 0), piece(200, 6)])
      })
      yield* assertTaken(a.sends, ["1 success"])
      assert.strictEqual((yield* takeOne(b.receives)).byteLen, 11)
      const source = pattern(4096)
      assertBytes(b.region.bytes.subarray(0, 11), Buffer.concat([source.subarray(100, 105), source.subarray(200, 206)]))
    }))

  it("a batch writes", () =>
    Effect.gen(function*() {
      const { a, b, batch, piece } = yield* batching
      yield* batch((batch) => {
        batch.rdmaWrite({ wrId: 1n }, b.remote(1000))
        batch.setSge(piece(1, 3000))
        batch.rdmaWrite({ ...one, wrId: 2n }, b.remote(0))
        batch.setSgeList([piece(0, 32), piece(64, 32)])
      })
      assert.deepInclude<object>(yield* takeOne(a.sends), { wrId: 2n, opcode: "rdmaWrite" })
      assertBytes(b.region.bytes.subarray(1000, 4000), pattern(4096).subarray(1, 3001))
      const source = pattern(4096)
      assertBytes(b.region.bytes.subarray(0, 64), Buffer.concat([source.subarray(0, 32), source.subarray(64, 96)]))
      yield* assertQuiet(a.sends, a.receives)
    }))

  it("a batch writes with immediate data", () =>
    Effect.gen(function*() {
      const { a, b, batch, piece } = yield* batching
      yield* b.postRecv({ wrId: 2n, sgList: [] })
      yield* batch((batch) => {
        batch.rdmaWriteImm(one, b.remote(16), 0x0a0b_0c0d)
        batch.setSge(piece(0, 100))
      })
      assert.deepInclude<object>(yield* takeOne(a.sends), { wrId: 1n, opcode: "rdmaWrite" })
      assert.deepInclude<object>(yield* takeOne(b.receives), {
        opcode: "recvRdmaWithImm",
        byteLen: 100,
        immData: 0x0a0b_0c0d
      })
      assertBytes(b.region.bytes.subarray(16, 116), pattern(100))
    }))

  it("a batch writes nothing and reads nothing", () =>
    Effect.gen(function*() {
      const { a, b, batch } = yield* batching
      yield* batch((batch) => {
        batch.rdmaWrite(one, b.remote())
        batch.setSgeList([])
        batch.rdmaRead({ ...one, wrId: 2n }, b.remote())
        batch.setSgeList([])
      })
      yield* assertTaken(a.sends, ["1 success", "2 success"])
      assertBytes(b.region.bytes, new Uint8Array(4096))
    }))

  it("a batch reads", () =>
    Effect.gen(function*() {
      const { a, b, batch, piece } = yield* batching
      b.region.bytes.set(pattern(4096, 5))
      yield* batch((batch) => {
        batch.rdmaRead(one, b.remote(7))
        batch.setSgeList([piece(0, 1000), piece(3000, 1000)])
      })
      assert.deepInclude<object>(yield* takeOne(a.sends), { wrId: 1n, opcode: "rdmaRead", byteLen: 2000 })
      const { bytes } = a.region
      assertBytes(
        Buffer.concat([bytes.subarray(0, 1000), bytes.subarray(3000, 4000)]),
        pattern(4096, 5).subarray(7, 2007)
      )
    }))

  it("a batch compares and swaps", () =>
    Effect.gen(function*() {
      const { a, b, batch, piece } = yield* batching
      setWord(b.region, 0xfedc_ba98_7654_3210n, 8)
      yield* batch((batch) => {
        batch.atomicCmpSwp(one, b.remote(8), 0xfedc_ba98_7654_3210n, 0x0123_4567_89ab_cdefn)
        batch.setSge(piece(0))
        batch.atomicCmpSwp({ ...one, wrId: 2n }, b.remote(8), 0n, 1n)
        batch.setSge(piece(8))
      })
      assert.deepInclude<object>(yield* takeOne(a.sends), { wrId: 1n, opcode: "compSwap" })
      yield* assertTaken(a.sends, ["2 success"])
      assert.deepStrictEqual(
        [wordAt(a.region, 0), wordAt(a.region, 8), wordAt(b.region, 8)],
        [0xfedc_ba98_7654_3210n, 0x0123_4567_89ab_cdefn, 0x0123_4567_89ab_cdefn]
      )
    }))

  it("a batch adds", () =>
    Effect.gen(function*() {
      const { a, b, batch, piece } = yield* batching
      setWord(b.region, 0xffff_ffffn)
      yield* batch((batch) => {
        batch.atomicFetchAdd(one, b.remote(), 0x1_0000_0001n)
        batch.setSge(piece(16))
      })
      assert.deepInclude<object>(yield* takeOne(a.sends), { wrId: 1n, opcode: "fetchAdd" })
      assert.deepStrictEqual([wordAt(a.region, 16), wordAt(b.region)], [0xffff_ffffn, 0x2_0000_0000n])
    }))

  it("an atomic operation of a batch that is not at a multiple of eight is remInvReqErr", () =>
    Effect.gen(function*() {
      const { a, b, batch, piece } = yield* batching
      yield* batch((batch) => {
        batch.atomicFetchAdd(one, b.remote(4), 1n)
        batch.setSge(piece())
      })
      yield* assertTaken(a.sends, ["1 remInvReqErr"])
      assertBytes(b.region.bytes, new Uint8Array(4096))
    }))

  it("requests of one batch, and those before and after it, keep their order", () =>
    Effect.gen(function*() {
      const { a, b, batch, piece } = yield* batching
      const write = { opcode: "rdmaWrite", flags: ["signaled"], sgList: [a.part(64, 64)], remote: b.remote() } as const
      yield* a.postSend({ ...write, wrId: 0n })
      yield* batch((batch) => {
        batch.rdmaWrite(one, b.remote())
        batch.setSge(piece(0, 64))
        batch.rdmaRead({ ...one, wrId: 2n }, b.remote())
        batch.setSge(piece(1000, 64))
      })
      yield* a.postSend({ ...write, wrId: 3n })
      yield* assertTaken(a.sends, ["0 success", "1 success", "2 success", "3 success"])
      assertBytes(a.region.bytes.subarray(1000, 1064), pattern(64))
      assertBytes(b.region.bytes.subarray(0, 64), pattern(4096).subarray(64, 128))
    }))

  it("nothing of an aborted batch moves", () =>
    Effect.gen(function*() {
      const { a, b, batch, piece } = yield* batching
      const error = yield* Effect.flip(batch((batch) => {
        batch.rdmaWrite(one, b.remote())
        batch.setSge(piece())
        batch.rdmaWrite(one, b.remote())
      }))
      assertReason(error, "ibv_wr_rdma_write", "EINVAL")
      yield* batch((batch) => {
        batch.rdmaWrite({ ...one, wrId: 2n }, b.remote(8))
        batch.setSge(piece())
      })
      yield* assertTaken(a.sends, ["2 success"])
      assertBytes(b.region.bytes.subarray(0, 16), Buffer.concat([new Uint8Array(8), pattern(8)]))
      yield* assertQuiet(a.sends, a.receives)
    }))

  it("a request of a batch by a key that is none is remAccessErr, and the rest of the batch is flushed", () =>
    Effect.gen(function*() {
      const { a, b, batch, piece } = yield* batching
      yield* batch((batch) => {
        batch.rdmaWrite(one, { ...b.remote(), rkey: (b.region.rkey + 0x7f) >>> 0 })
        batch.setSge(piece())
        batch.send({ ...one, wrId: 2n })
        batch.setSge(piece())
      })
      yield* assertTaken(a.sends, ["1 remAccessErr", "2 wrFlushErr"])
    }))
}
