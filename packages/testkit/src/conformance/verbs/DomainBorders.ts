/**
 * Conformance of protection domains: what is in one is not there for queue pairs of another one.
 *
 * @since 0.1.0
 */
import * as MemoryRegion from "@effect-rdma/verbs/MemoryRegion"
import * as Effect from "effect/Effect"
import { assertBytes, pattern } from "../../internal/conformanceBytes.ts"
import { assertTaken } from "../../internal/conformanceCompletions.ts"
import { allAccess, dataPathSuite } from "../../internal/conformanceDataPath.ts"
import { remoteOf, remoteOpcodes, requestOf } from "../../internal/conformanceRequests.ts"
import type * as VerbsLane from "../VerbsLane.ts"

/**
 * Registers the suite on a lane.
 *
 * @category constructors
 * @since 0.1.0
 */
export const suite = <Others = never>(lane: VerbsLane.VerbsLane<Others>): void => {
  const { connected, domain, it, twoDomains } = dataPathSuite(lane)
  const { receiveKey, sendKey } = lane.statuses

  const foreign = Effect.gen(function*() {
    const [on, other] = yield* twoDomains
    const ends = yield* connected.rc({ on })
    return { ...ends, region: yield* MemoryRegion.alloc(other, { length: 64, access: allAccess }) }
  })

  for (const opcode of remoteOpcodes) {
    it(`${opcode} on a region of another domain of the peer is remAccessErr`, () =>
      Effect.gen(function*() {
        const { a, region } = yield* foreign
        yield* a.postSend(requestOf(opcode, a.part(), remoteOf(region)))
        yield* assertTaken(a.sends, ["1 remAccessErr"])
        assertBytes(region.bytes, new Uint8Array(64))
      }))

    const status = opcode === "rdmaWrite" ? sendKey : "locProtErr"
    it(`${opcode} with a region of another domain here is ${status}`, () =>
      Effect.gen(function*() {
        const { a, b, region } = yield* foreign
        b.region.bytes.set(pattern(8), 8)
        yield* a.postSend(requestOf(opcode, { region, length: 8 }, b.remote(8)))
        yield* assertTaken(a.sends, [`1 ${status}`])
        assertBytes(region.bytes, new Uint8Array(64))
      }))
  }

  it(`a message from a region of another domain is ${sendKey}`, () =>
    Effect.gen(function*() {
      const { a, b, region } = yield* foreign
      yield* b.postRecv({ sgList: [b.part(0, 64)] })
      yield* a.postSend({ opcode: "send", wrId: 1n, flags: ["signaled"], sgList: [{ region }] })
      yield* assertTaken(a.sends, [`1 ${sendKey}`])
    }))

  it(`a message for a region of another domain is ${receiveKey.sender}, its receive ${receiveKey.receiver}`, () =>
    Effect.gen(function*() {
      const { a, b, region } = yield* foreign
      a.region.bytes.set(pattern(64))
      yield* b.postRecv({ wrId: 2n, sgList: [{ region }] })
      yield* a.postSend({ opcode: "send", wrId: 1n, flags: ["signaled"], sgList: [a.part(0, 64)] })
      yield* assertTaken(a.sends, [`1 ${receiveKey.sender}`])
      yield* assertTaken(b.receives, [`2 ${receiveKey.receiver}`])
      assertBytes(region.bytes, new Uint8Array(64))
    }))

  it("ends of two domains, each with its own regions, reach each other", () =>
    Effect.gen(function*() {
      const [on, other] = yield* twoDomains
      const { a, b } = yield* connected.rc({ on, b: { on: other } })
      for (const opcode of remoteOpcodes) {
        yield* a.postSend(requestOf(opcode, a.part(), b.remote()))
        yield* assertTaken(a.sends, ["1 success"])
      }
    }))

  it("ends of two contexts reach each other", () =>
    Effect.gen(function*() {
      const { a, b } = yield* connected.rc({ on: yield* domain, b: { on: yield* domain } })
      a.region.bytes.set(pattern(3000))
      yield* a.postSend({ opcode: "rdmaWrite", flags: ["signaled"], sgList: [a.part(0, 3000)], remote: b.remote(9) })
      yield* assertTaken(a.sends, ["0 success"])
      assertBytes(b.region.bytes.subarray(9, 3009), pattern(3000))
    }))
}
