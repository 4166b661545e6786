/**
 * Conformance of protection domains: what is in one is not there for queue pairs of another one.
 *
 * @since 0.1.0
 */
import * as MemoryRegion from "@effect-rdma/verbs/MemoryRegion"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import {
  allAccess,
  assertBytes,
  connectedSuite,
  pattern,
  remoteOf,
  remoteOpcodes,
  requestOf
} from "../../internal/conformanceConnected.ts"
import type * as VerbsLane from "../VerbsLane.ts"

/**
 * Registers the suite on a lane.
 *
 * @category constructors
 * @since 0.1.0
 */
export const suite = <Others = never>(lane: VerbsLane.VerbsLane<Others>): void => {
  const { connected, domain, it, twoDomains } = connectedSuite(lane)
  const { receiveKey, sendKey } = lane.statuses

  const foreign = Effect.gen(function*() {
    const [on, other] = yield* twoDomains
    const ends = yield* connected.rc({ a: { on } })
    return { ...ends, region: yield* MemoryRegion.alloc(other, { length: 64, access: allAccess }) }
  })

  for (const opcode of remoteOpcodes) {
    it(`${opcode} on a region of another domain of the peer is remAccessErr`, () =>
      Effect.gen(function*() {
        const { a, region } = yield* foreign
        yield* a.send(requestOf(opcode, a.part(), remoteOf(region)))
        assert.deepStrictEqual(yield* a.told(1), ["1 remAccessErr"])
        assertBytes(region.bytes, new Uint8Array(64))
      }))

    const status = opcode === "rdmaWrite" ? sendKey : "locProtErr"
    it(`${opcode} with a region of another domain here is ${status}`, () =>
      Effect.gen(function*() {
        const { a, b, region } = yield* foreign
        b.region.bytes.set(pattern(8), 8)
        yield* a.send(requestOf(opcode, { region, length: 8 }, b.remote(8)))
        assert.deepStrictEqual(yield* a.told(1), [`1 ${status}`])
        assertBytes(region.bytes, new Uint8Array(64))
      }))
  }

  it(`a message from a region of another domain is ${sendKey}`, () =>
    Effect.gen(function*() {
      const { a, b, region } = yield* foreign
      yield* b.receive({ sgList: [b.part(0, 64)] })
      yield* a.send({ opcode: "send", wrId: 1n, flags: ["signaled"], sgList: [{ region }] })
      assert.deepStrictEqual(yield* a.told(1), [`1 ${sendKey}`])
    }))

  it(`a message for a region of another domain is ${receiveKey.sender}, its receive ${receiveKey.receiver}`, () =>
    Effect.gen(function*() {
      const { a, b, region } = yield* foreign
      a.region.bytes.set(pattern(64))
      yield* b.receive({ wrId: 2n, sgList: [{ region }] })
      yield* a.send({ opcode: "send", wrId: 1n, flags: ["signaled"], sgList: [a.part(0, 64)] })
      assert.deepStrictEqual(yield* a.told(1), [`1 ${receiveKey.sender}`])
      assert.deepStrictEqual(yield* b.told(1), [`2 ${receiveKey.receiver}`])
      assertBytes(region.bytes, new Uint8Array(64))
    }))

  it("ends of two domains, each with its own regions, reach each other", () =>
    Effect.gen(function*() {
      const [on, other] = yield* twoDomains
      const { a, b } = yield* connected.rc({ a: { on }, b: { on: other } })
      for (const opcode of remoteOpcodes) {
        yield* a.send(requestOf(opcode, a.part(), b.remote()))
        assert.deepStrictEqual(yield* a.told(1), ["1 success"])
      }
    }))

  it("ends of two contexts reach each other", () =>
    Effect.gen(function*() {
      const { a, b } = yield* connected.rc({ a: { on: yield* domain }, b: { on: yield* domain } })
      a.region.bytes.set(pattern(3000))
      yield* a.send({ opcode: "rdmaWrite", flags: ["signaled"], sgList: [a.part(0, 3000)], remote: b.remote(9) })
      assert.deepStrictEqual(yield* a.told(1), ["0 success"])
      assertBytes(b.region.bytes.subarray(9, 3009), pattern(3000))
    }))
}
