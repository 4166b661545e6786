/**
 * Conformance of connected queue pairs without acknowledgements: what does not arrive is dropped, and the connection stays.
 *
 * @since 0.1.0
 */
import * as MemoryRegion from "@effect-rdma/verbs/MemoryRegion"
import * as ProtectionDomain from "@effect-rdma/verbs/ProtectionDomain"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { assertBytes, pattern } from "../../internal/conformanceBytes.ts"
import { assertQuiet, assertTaken, take, takeOne } from "../../internal/conformanceCompletions.ts"
import { allAccess, dataPathSuite, type End, type PairOptions } from "../../internal/conformanceDataPath.ts"
import { pieceOf, remoteOf } from "../../internal/conformanceRequests.ts"
import { stateOf } from "../../internal/conformanceVerbs.ts"
import type * as VerbsLane from "../VerbsLane.ts"

/**
 * Registers the suite on a lane.
 *
 * @category constructors
 * @since 0.1.0
 */
export const suite = <Others = never>(lane: VerbsLane.VerbsLane<Others>): void => {
  const { connected, it } = dataPathSuite(lane)
  const { sendKey } = lane.statuses

  /** What `lose` sends succeeds here, is not seen there, and what is sent afterwards arrives. */
  const isDropped = (
    lose: (a: End, b: End) => Effect.Effect<unknown, unknown, Scope.Scope>,
    options: PairOptions = {}
  ) =>
    Effect.gen(function*() {
      const { a, b } = yield* connected.uc(options)
      a.region.bytes.set(pattern(64))
      yield* lose(a, b)
      yield* assertTaken(a.sends, ["1 success"])
      yield* b.postRecv({ wrId: 3n, sgList: [b.part(1024, 64)] })
      yield* Effect.sleep("20 millis")
      yield* a.postSend({ opcode: "send", wrId: 2n, flags: ["signaled"], sgList: [a.part(0, 64)] })
      yield* assertTaken(a.sends, ["2 success"])
      const arrived = yield* takeOne(b.receives)
      assert.deepInclude<object>(arrived, { byteLen: 64 })
      assertBytes(b.region.bytes.subarray(0, 1024), new Uint8Array(1024))
      assert.deepStrictEqual([yield* stateOf(a.queuePair), yield* stateOf(b.queuePair)], ["rts", "rts"])
    })

  const first = { wrId: 1n, flags: ["signaled"] } as const

  it("a message without a receive is dropped", () =>
    isDropped((a) => a.postSend({ ...first, opcode: "send", sgList: [a.part()] })))

  it("a message of many packets without a receive is dropped", () =>
    isDropped((a) => a.postSend({ ...first, opcode: "send", sgList: [a.part(0, 4096)] })))

  it("a write with immediate data without a receive is dropped, and tells nothing", () =>
    Effect.gen(function*() {
      const { a, b } = yield* connected.uc()
      yield* a.postSend({
        ...first,
        opcode: "rdmaWriteWithImm",
        immData: 1,
        sgList: [a.part()],
        remote: b.remote(2048)
      })
      yield* assertTaken(a.sends, ["1 success"])
      yield* assertQuiet(b.sends, b.receives)
    }))

  it("a write by a key that is none is dropped", () =>
    isDropped((a, b) =>
      a.postSend({
        ...first,
        opcode: "rdmaWrite",
        sgList: [a.part(0, 64)],
        remote: { ...b.remote(), rkey: (b.region.rkey + 0x7f) >>> 0 }
      })
    ))

  it("a write behind the region is dropped", () =>
    isDropped((a, b) => a.postSend({ ...first, opcode: "rdmaWrite", sgList: [a.part(0, 64)], remote: b.remote(4090) })))

  it("a write on a region without remoteWrite is dropped", () =>
    isDropped(
      (a, b) => a.postSend({ ...first, opcode: "rdmaWrite", sgList: [a.part(0, 64)], remote: b.remote() }),
      { b: { access: ["localWrite"] } }
    ))

  it("a write that the queue pair of the peer does not grant is dropped", () =>
    isDropped(
      (a, b) => a.postSend({ ...first, opcode: "rdmaWrite", sgList: [a.part(0, 64)], remote: b.remote() }),
      { path: { qpAccessFlags: [] } }
    ))

  it("a write on a region of another domain is dropped", () =>
    isDropped((a, b) =>
      Effect.gen(function*() {
        const other = yield* ProtectionDomain.alloc(b.on.context)
        const region = yield* MemoryRegion.alloc(other, { length: 64, access: allAccess })
        yield* a.postSend({ ...first, opcode: "rdmaWrite", sgList: [a.part(0, 64)], remote: remoteOf(region) })
      })
    ))

  it("messages that find a receive arrive, and those before them that found none do not", () =>
    Effect.gen(function*() {
      const { a, b } = yield* connected.uc()
      for (const wrId of [1n, 2n]) yield* a.postSend({ ...first, opcode: "sendWithImm", immData: Number(wrId) })
      yield* take(a.sends, 2)
      yield* Effect.sleep("20 millis")
      yield* b.postRecv({ wrId: 9n, sgList: [] })
      yield* a.postSend({ ...first, opcode: "sendWithImm", immData: 3 })
      assert.deepInclude<object>(yield* takeOne(b.receives), { wrId: 9n, immData: 3 })
    }))

  it(`a message with a local key that is none is ${sendKey}, and ends the sender`, () =>
    Effect.gen(function*() {
      const { a, b } = yield* connected.uc()
      const piece = { ...pieceOf(a.region, 0, 8), lkey: (a.region.lkey + 0x7f) >>> 0 }
      yield* a.postSend({ ...first, opcode: "send", sgList: [piece] })
      yield* assertTaken(a.sends, [`1 ${sendKey}`])
      // SQE, but ERR on Soft-RoCE.
      assert.notStrictEqual(yield* stateOf(a.queuePair), "rts")
      assert.strictEqual(yield* stateOf(b.queuePair), "rts")
    }))
}
