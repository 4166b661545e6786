/**
 * Conformance of batches that bind and invalidate memory windows.
 *
 * @since 0.1.0
 */
import * as MemoryWindow from "@effect-rdma/verbs/MemoryWindow"
import * as RemoteKey from "@effect-rdma/verbs/RemoteKey"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { assertBytes, pattern, setWord, wordAt } from "../../internal/conformanceBytes.ts"
import { assertTaken, takeOne } from "../../internal/conformanceCompletions.ts"
import { dataPathSuite, remoteAccess } from "../../internal/conformanceDataPath.ts"
import { requestOf } from "../../internal/conformanceRequests.ts"
import type * as VerbsLane from "../VerbsLane.ts"

/**
 * Registers the suite on a lane.
 *
 * @category constructors
 * @since 0.1.0
 */
export const suite = <Others = never>(lane: VerbsLane.VerbsLane<Others>): void => {
  const { batching, has, it } = dataPathSuite(lane)
  const one = { wrId: 1n, flags: ["signaled"] } as const

  it("a batch binds a window, which has the key from then on, and invalidates it", () =>
    Effect.gen(function*() {
      const { a, b, batch } = yield* batching
      const window = yield* MemoryWindow.alloc(a.on, 2)
      const bind = { mr: a.region, addr: a.region.address + 8n, length: 64n, access: remoteAccess }
      for (const round of [1, 2]) {
        const rkey = RemoteKey.increment(window.rkey)
        yield* batch((batch) => batch.bindMw(one, window, rkey, bind))
        assert.deepInclude<object>(yield* takeOne(a.sends), { wrId: 1n, opcode: "bindMw" })
        assert.strictEqual(window.rkey, rkey)
        setWord(a.region, BigInt(round), 8)
        yield* b.postSend(requestOf("atomicFetchAndAdd", b.part(), { ...a.remote(8), rkey }))
        yield* assertTaken(b.sends, ["1 success"])
        assert.strictEqual(wordAt(b.region), BigInt(round))
        yield* batch((batch) => batch.localInv({ ...one, wrId: 2n }, rkey))
        assert.deepInclude<object>(yield* takeOne(a.sends), { wrId: 2n, opcode: "localInv" })
      }
      yield* b.postSend(requestOf("rdmaRead", b.part(), { ...a.remote(8), rkey: window.rkey }))
      yield* assertTaken(b.sends, ["1 remAccessErr"])
    }))

  for (
    const [where, addr, length] of [
      ["begins before", -1n, 8n],
      ["ends behind", 4000n, 97n]
    ] as const
  ) {
    it(`a bind of a batch that ${where} its region is mwBindErr`, () =>
      Effect.gen(function*() {
        const { a, batch } = yield* batching
        const window = yield* MemoryWindow.alloc(a.on, 2)
        yield* batch((batch) =>
          batch.bindMw(one, window, RemoteKey.increment(window.rkey), {
            mr: a.region,
            addr: a.region.address + addr,
            length,
            access: remoteAccess
          })
        )
        yield* assertTaken(a.sends, ["1 mwBindErr"])
      }))
  }

  it("a message of a batch invalidates a window of the peer", () =>
    Effect.gen(function*() {
      const { a, b, batch, piece } = yield* batching
      const window = yield* MemoryWindow.alloc(b.on, 2)
      const rkey = RemoteKey.increment(window.rkey)
      yield* b.postSend({
        opcode: "bindMw",
        flags: ["signaled"],
        bind: { window, region: b.region, rkey, access: remoteAccess }
      })
      yield* assertTaken(b.sends, ["0 success"])
      yield* b.postRecv({ wrId: 2n, sgList: [b.part()] })
      yield* batch((batch) => {
        batch.sendInv(one, rkey)
        batch.setSge(piece())
      })
      yield* assertTaken(a.sends, ["1 success"])
      assert.deepInclude<object>(yield* takeOne(b.receives), {
        wrId: 2n,
        byteLen: 8,
        invalidatedRkey: has("tellsInvalidation") ? rkey : undefined
      })
      assertBytes(b.region.bytes.subarray(0, 8), pattern(8))
    }))
}
