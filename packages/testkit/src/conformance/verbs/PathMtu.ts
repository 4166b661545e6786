/**
 * Conformance of messages, writes and reads of every length around the MTU of a path.
 *
 * @since 0.1.0
 */
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { assertBytes, pattern } from "../../internal/conformanceBytes.ts"
import { assertTaken, takeOne } from "../../internal/conformanceCompletions.ts"
import { dataPathSuite } from "../../internal/conformanceDataPath.ts"
import type * as VerbsLane from "../VerbsLane.ts"

/**
 * Registers the suite on a lane.
 *
 * @category constructors
 * @since 0.1.0
 */
export const suite = <Others = never>(lane: VerbsLane.VerbsLane<Others>): void => {
  const { connected, it } = dataPathSuite(lane)

  // Every active port carries these.
  for (const pathMtu of [256, 512, 1024] as const) {
    for (const qpType of ["rc", "uc"] as const) {
      it(`${qpType}: an MTU of ${pathMtu} carries messages and writes of any length`, () =>
        Effect.gen(function*() {
          const { a, b } = yield* connected[qpType]({ path: { pathMtu } })
          for (const [index, length] of lengthsAround(pathMtu).entries()) {
            const message = pattern(length, index)
            a.region.bytes.set(message, 1)
            b.region.bytes.fill(0)
            yield* b.postRecv({ sgList: [b.part(2, length)] }, { sgList: [] })
            yield* a.postSend({ opcode: "send", wrId: 1n, flags: ["signaled"], sgList: [a.part(1, length)] })
            yield* assertTaken(a.sends, ["1 success"])
            assert.strictEqual((yield* takeOne(b.receives)).byteLen, length)
            assertBytes(b.region.bytes.subarray(2, 2 + length), message)
            b.region.bytes.fill(0)
            yield* a.postSend({
              opcode: "rdmaWriteWithImm",
              wrId: 2n,
              flags: ["signaled"],
              immData: length,
              sgList: [a.part(1, length)],
              remote: b.remote(3)
            })
            yield* assertTaken(a.sends, ["2 success"])
            assert.deepInclude<object>(yield* takeOne(b.receives), { byteLen: length, immData: length })
            assertBytes(b.region.bytes.subarray(3, 3 + length), message)
          }
        }))
    }

    it(`an MTU of ${pathMtu} carries reads of any length`, () =>
      Effect.gen(function*() {
        const { a, b } = yield* connected.rc({ path: { pathMtu } })
        for (const [index, length] of lengthsAround(pathMtu).entries()) {
          const message = pattern(length, index)
          b.region.bytes.set(message, 3)
          a.region.bytes.fill(0)
          yield* a.postSend({
            opcode: "rdmaRead",
            flags: ["signaled"],
            sgList: [a.part(5, length)],
            remote: b.remote(3)
          })
          assert.strictEqual((yield* takeOne(a.sends)).byteLen, length)
          assertBytes(a.region.bytes.subarray(5, 5 + length), message)
          assert.strictEqual(a.region.bytes[5 + length], 0)
        }
      }))
  }
}

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

const lengthsAround = (mtu: number): ReadonlyArray<number> => [0, 1, mtu - 1, mtu, mtu + 1, 2 * mtu, 3 * mtu + 17]
