/**
 * Conformance of who may do what to memory: the rights of a region and those that a queue pair grants.
 *
 * @since 0.1.0
 */
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { assertBytes, pattern, wordAt } from "../../internal/conformanceBytes.ts"
import { assertTaken } from "../../internal/conformanceCompletions.ts"
import { dataPathSuite, remoteAccess } from "../../internal/conformanceDataPath.ts"
import { remoteOpcodes, requestOf, rightFor } from "../../internal/conformanceRequests.ts"
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
  const { receiveKey } = lane.statuses

  for (const opcode of remoteOpcodes) {
    const right = rightFor[opcode]

    it(`${opcode} needs no right of a region but ${right}`, () =>
      Effect.gen(function*() {
        const { a, b } = yield* connected.rc({
          b: { access: right === "remoteRead" ? [right] : ["localWrite", right] },
          path: { qpAccessFlags: [right] }
        })
        yield* a.postSend(requestOf(opcode, a.part(), b.remote()))
        yield* assertTaken(a.sends, ["1 success"])
      }))

    it(`${opcode} on a region without ${right} is remAccessErr, touches nothing, and ends the connection`, () =>
      Effect.gen(function*() {
        const { a, b } = yield* connected.rc({
          b: { access: ["localWrite", ...remoteAccess.filter((one) => one !== right)] }
        })
        a.region.bytes.set(pattern(8))
        yield* a.postSend(requestOf(opcode, a.part(), b.remote()))
        yield* assertTaken(a.sends, ["1 remAccessErr"])
        assert.deepStrictEqual([yield* stateOf(a.queuePair), yield* stateOf(b.queuePair)], ["err", "err"])
        assertBytes(b.region.bytes, new Uint8Array(4096))
        assertBytes(a.region.bytes.subarray(0, 8), pattern(8))
      }))

    it(`${opcode} that the queue pair of the peer does not grant is remInvReqErr`, () =>
      Effect.gen(function*() {
        const { a, b } = yield* connected.rc({ path: { qpAccessFlags: remoteAccess.filter((one) => one !== right) } })
        yield* a.postSend(requestOf(opcode, a.part(), b.remote()))
        yield* assertTaken(a.sends, ["1 remInvReqErr"])
        assert.deepStrictEqual([yield* stateOf(a.queuePair), yield* stateOf(b.queuePair)], ["err", "err"])
        assertBytes(b.region.bytes, new Uint8Array(4096))
      }))

    if (opcode === "rdmaWrite") continue
    it(`what ${opcode} brings needs a region with localWrite: locProtErr`, () =>
      Effect.gen(function*() {
        const { a, b } = yield* connected.rc({ a: { access: [] } })
        b.region.bytes.set(pattern(8), 8)
        yield* a.postSend(requestOf(opcode, a.part(), b.remote(8)))
        yield* assertTaken(a.sends, ["1 locProtErr"])
        assert.strictEqual(yield* stateOf(a.queuePair), "err")
        assert.strictEqual(wordAt(a.region), 0n)
      }))
  }

  it("what is sent or written may come from a region without any right", () =>
    Effect.gen(function*() {
      const { a, b } = yield* connected.rc({ a: { access: [] } })
      yield* b.postRecv({ sgList: [b.part()] })
      yield* a.postSend(
        { opcode: "send", wrId: 1n, flags: ["signaled"], sgList: [a.part()] },
        { opcode: "rdmaWrite", wrId: 2n, flags: ["signaled"], sgList: [a.part()], remote: b.remote() }
      )
      yield* assertTaken(a.sends, ["1 success", "2 success"])
    }))

  it("messages arrive in a region that grants peers nothing", () =>
    Effect.gen(function*() {
      const { a, b } = yield* connected.rc({ b: { access: ["localWrite"] }, path: { qpAccessFlags: [] } })
      a.region.bytes.set(pattern(8))
      yield* b.postRecv({ wrId: 2n, sgList: [b.part()] })
      yield* a.postSend({ opcode: "send", wrId: 1n, flags: ["signaled"], sgList: [a.part()] })
      yield* assertTaken(a.sends, ["1 success"])
      yield* assertTaken(b.receives, ["2 success"])
      assertBytes(b.region.bytes.subarray(0, 8), pattern(8))
    }))

  it(`a message for a region without localWrite is ${receiveKey.sender}, its receive ${receiveKey.receiver}`, () =>
    Effect.gen(function*() {
      const { a, b } = yield* connected.rc({ b: { access: ["remoteRead"] } })
      a.region.bytes.set(pattern(8))
      yield* b.postRecv({ wrId: 2n, sgList: [b.part()] })
      yield* a.postSend({ opcode: "send", wrId: 1n, flags: ["signaled"], sgList: [a.part()] })
      yield* assertTaken(a.sends, [`1 ${receiveKey.sender}`])
      yield* assertTaken(b.receives, [`2 ${receiveKey.receiver}`])
      assertBytes(b.region.bytes.subarray(0, 8), new Uint8Array(8))
    }))

  it("a write with immediate data on a region without remoteWrite is remAccessErr", () =>
    Effect.gen(function*() {
      const { a, b } = yield* connected.rc({ b: { access: ["localWrite", "remoteRead"] } })
      yield* b.postRecv({ wrId: 2n, sgList: [] })
      yield* a.postSend({
        opcode: "rdmaWriteWithImm",
        wrId: 1n,
        flags: ["signaled"],
        immData: 1,
        sgList: [a.part()],
        remote: b.remote()
      })
      yield* assertTaken(a.sends, ["1 remAccessErr"])
    }))
}
