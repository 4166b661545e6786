/**
 * Conformance of the keys and the bounds of a request's own memory.
 *
 * @since 0.1.0
 */
import * as MemoryRegion from "@effect-rdma/verbs/MemoryRegion"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { assertBytes, pattern } from "../../internal/conformanceBytes.ts"
import { assertQuiet, assertTaken } from "../../internal/conformanceCompletions.ts"
import { dataPathSuite } from "../../internal/conformanceDataPath.ts"
import { pieceOf, remoteOpcodes, requestOf } from "../../internal/conformanceRequests.ts"
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
  const { receiveKey, sendKey, shortReceive } = lane.statuses

  for (const opcode of remoteOpcodes) {
    const status = opcode === "rdmaWrite" ? sendKey : "locProtErr"
    it(`${opcode} with a local key that is none is ${status}, and the peer stays connected`, () =>
      Effect.gen(function*() {
        const { a, b } = yield* connected.rc()
        yield* a.postSend(requestOf(opcode, wrongKey(a.region), b.remote()))
        yield* assertTaken(a.sends, [`1 ${status}`])
        assert.deepStrictEqual([yield* stateOf(a.queuePair), yield* stateOf(b.queuePair)], ["err", "rts"])
      }))

    const first = opcode === "rdmaWrite" ? sendKey : "remAccessErr"
    it(`${opcode} with two keys that are none is ${first}`, () =>
      Effect.gen(function*() {
        const { a, b } = yield* connected.rc()
        const remote = { ...b.remote(), rkey: (b.region.rkey + 0x7f) >>> 0 }
        yield* a.postSend(requestOf(opcode, wrongKey(a.region), remote))
        yield* assertTaken(a.sends, [`1 ${first}`])
      }))

    it(`${opcode} with local memory behind its region is locProtErr`, () =>
      Effect.gen(function*() {
        const { a, b } = yield* connected.rc()
        yield* a.postSend(requestOf(opcode, pieceOf(a.region, 4089, 8), b.remote()))
        yield* assertTaken(a.sends, ["1 locProtErr"])
      }))
  }

  for (const [where, offset] of [["before", -1], ["behind", 4089]] as const) {
    it(`a message from ${where} its region is locProtErr, and takes no receive`, () =>
      Effect.gen(function*() {
        const { a, b } = yield* connected.rc()
        yield* b.postRecv({ sgList: [b.part()] })
        yield* a.postSend({ opcode: "send", wrId: 1n, flags: ["signaled"], sgList: [pieceOf(a.region, offset, 8)] })
        yield* assertTaken(a.sends, ["1 locProtErr"])
        yield* assertQuiet(b.sends, b.receives)
      }))

    it(`a message for a receive ${where} its region is ${receiveKey.sender}, the receive ${receiveKey.receiver}`, () =>
      Effect.gen(function*() {
        const { a, b } = yield* connected.rc()
        yield* b.postRecv({ wrId: 2n, sgList: [pieceOf(b.region, offset, 8)] })
        yield* a.postSend({ opcode: "send", wrId: 1n, flags: ["signaled"], sgList: [a.part()] })
        yield* assertTaken(a.sends, [`1 ${receiveKey.sender}`])
        yield* assertTaken(b.receives, [`2 ${receiveKey.receiver}`])
      }))
  }

  it(`a message with a key that is none is ${sendKey}`, () =>
    Effect.gen(function*() {
      const { a, b } = yield* connected.rc()
      yield* b.postRecv({ sgList: [b.part()] })
      yield* a.postSend({ opcode: "send", wrId: 1n, flags: ["signaled"], sgList: [a.part(), wrongKey(a.region)] })
      yield* assertTaken(a.sends, [`1 ${sendKey}`])
    }))

  it(`a message that did not ask for a completion and failed has one`, () =>
    Effect.gen(function*() {
      const { a, b } = yield* connected.rc()
      yield* b.postRecv({ sgList: [b.part()] })
      yield* a.postSend(
        { opcode: "send", wrId: 1n, sgList: [wrongKey(a.region)] },
        { opcode: "send", wrId: 2n }
      )
      yield* assertTaken(a.sends, [`1 ${sendKey}`, "2 wrFlushErr"])
    }))

  it(`a message for a receive with a key that is none is ${receiveKey.sender}, the receive ${receiveKey.receiver}`, () =>
    Effect.gen(function*() {
      const { a, b } = yield* connected.rc()
      yield* b.postRecv({ wrId: 2n, sgList: [wrongKey(b.region)] })
      yield* a.postSend({ opcode: "send", wrId: 1n, flags: ["signaled"], sgList: [a.part()] })
      yield* assertTaken(a.sends, [`1 ${receiveKey.sender}`])
      yield* assertTaken(b.receives, [`2 ${receiveKey.receiver}`])
    }))

  it(`a message for a region that went meanwhile is ${receiveKey.sender}, its receive ${receiveKey.receiver}`, () =>
    Effect.gen(function*() {
      const { a, b } = yield* connected.rc()
      yield* Effect.scoped(Effect.gen(function*() {
        const region = yield* MemoryRegion.alloc(b.on, { length: 64 })
        yield* b.postRecv({ wrId: 2n, sgList: [{ region }] })
      }))
      yield* a.postSend({ opcode: "send", wrId: 1n, flags: ["signaled"], sgList: [a.part()] })
      yield* assertTaken(a.sends, [`1 ${receiveKey.sender}`])
      yield* assertTaken(b.receives, [`2 ${receiveKey.receiver}`])
    }))

  it(`a message from a region that is no more is ${sendKey}`, () =>
    Effect.gen(function*() {
      const { a, b } = yield* connected.rc()
      yield* b.postRecv({ sgList: [b.part()] })
      const piece = yield* Effect.scoped(
        Effect.map(MemoryRegion.alloc(a.on, { length: 64 }), (region) => pieceOf(region, 0, 8))
      )
      yield* a.postSend({ opcode: "send", wrId: 1n, flags: ["signaled"], sgList: [piece] })
      yield* assertTaken(a.sends, [`1 ${sendKey}`])
    }))

  it(`a message that is longer than its receive is ${shortReceive.sender}, the receive ${shortReceive.receiver}`, () =>
    Effect.gen(function*() {
      const { a, b } = yield* connected.rc()
      yield* b.postRecv({ wrId: 2n, sgList: [b.part(0, 4), b.part(8, 3)] })
      yield* a.postSend({ opcode: "send", wrId: 1n, flags: ["signaled"], sgList: [a.part()] })
      yield* assertTaken(a.sends, [`1 ${shortReceive.sender}`])
      yield* assertTaken(b.receives, [`2 ${shortReceive.receiver}`])
      assert.deepStrictEqual([yield* stateOf(a.queuePair), yield* stateOf(b.queuePair)], ["err", "err"])
    }))

  it("a receive may reach beyond its region as long as its message does not", () =>
    Effect.gen(function*() {
      const { a, b } = yield* connected.rc()
      a.region.bytes.set(pattern(8))
      yield* b.postRecv({ wrId: 2n, sgList: [pieceOf(b.region, 4088, 64), wrongKey(b.region)] })
      yield* a.postSend({ opcode: "send", wrId: 1n, flags: ["signaled"], sgList: [a.part()] })
      yield* assertTaken(a.sends, ["1 success"])
      yield* assertTaken(b.receives, ["2 success"])
      assertBytes(b.region.bytes.subarray(4088), pattern(8))
    }))

  it("a piece of no bytes may be anywhere, under any key", () =>
    Effect.gen(function*() {
      const { a, b } = yield* connected.rc()
      yield* b.postRecv({ wrId: 2n, sgList: [{ addr: 0n, length: 0, lkey: 0 }, b.part()] })
      yield* a.postSend({
        opcode: "send",
        wrId: 1n,
        flags: ["signaled"],
        sgList: [pieceOf(a.region, -1, 0), a.part(), { ...wrongKey(a.region), length: 0 }]
      })
      yield* assertTaken(a.sends, ["1 success"])
      yield* assertTaken(b.receives, ["2 success"])
    }))
}

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

const wrongKey = (region: MemoryRegion.MemoryRegion) => ({
  ...pieceOf(region, 0, 8),
  lkey: (region.lkey + 0x7f) >>> 0
})
