/**
 * Conformance of memory regions of the caller's own memory.
 *
 * @since 0.1.0
 */
import * as NativeMemory from "@effect-rdma/core/NativeMemory"
import * as MemoryRegion from "@effect-rdma/verbs/MemoryRegion"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { assertPath, assertReason, recorded } from "../../internal/conformance.ts"
import { verbsSuite } from "../../internal/conformanceVerbs.ts"
import type * as VerbsLane from "../VerbsLane.ts"

/**
 * Registers the suite on a lane.
 *
 * @category constructors
 * @since 0.1.0
 */
export const suite = <Others = never>(lane: VerbsLane.VerbsLane<Others>): void => {
  const { domain, it } = verbsSuite(lane)

  it("memory of the caller is registered where it is, and stays the caller's", () =>
    Effect.gen(function*() {
      const bytes = new Uint8Array(5000).fill(9).subarray(100, 4100)
      const pd = yield* domain
      const region = yield* Effect.scoped(
        Effect.map(MemoryRegion.register(pd, bytes, { access: ["remoteRead"] }), (region) => {
          assert.strictEqual(region.bytes, bytes)
          assert.strictEqual(region.address, NativeMemory.addressOf(bytes))
          assert.strictEqual(region.length, 4000n)
          return region
        })
      )
      assert.strictEqual(region.bytes, bytes)
      assert.isTrue(bytes.every((byte) => byte === 9))
    }))

  it("the buffer of registered memory cannot be detached", () =>
    Effect.gen(function*() {
      const pd = yield* domain
      const bytes = new Uint8Array(4096)
      yield* MemoryRegion.register(pd, bytes)
      assert.throws(() => structuredClone(bytes.buffer, { transfer: [bytes.buffer] }))
      assert.throws(() => bytes.buffer.transfer())
      assert.strictEqual(bytes.length, 4096)
    }))

  it("two parts of one buffer are two regions", () =>
    Effect.gen(function*() {
      const pd = yield* domain
      const arena = new Uint8Array(8192)
      const first = yield* MemoryRegion.register(pd, arena.subarray(0, 4096))
      const second = yield* MemoryRegion.register(pd, arena.subarray(4096))
      assert.strictEqual(second.address - first.address, 4096n)
    }))

  it("memory that does not stay in place is a SchemaError, and the library is not called", () =>
    recorded(function*(calls) {
      const pd = yield* domain
      const before = (yield* calls).length
      const refused: ReadonlyArray<readonly [Uint8Array, string]> = [
        [new Uint8Array(new SharedArrayBuffer(64)), "SharedArrayBuffer"],
        [new Uint8Array(new ArrayBuffer(64, { maxByteLength: 128 })), "resizable"],
        [new Uint8Array(0), "at least one"],
        [Buffer.from("from the pool"), "Buffer.alloc"]
      ]
      for (const [bytes, why] of refused) {
        const error = yield* Effect.flip(MemoryRegion.register(pd, bytes))
        assertPath(error, [])
        assert.include(error.message, why)
      }
      yield* MemoryRegion.register(pd, Buffer.alloc(13))
      assert.strictEqual((yield* calls).length, before + 1)
    }))

  it("lengths and addresses that no C field can hold are a SchemaError with their path", () =>
    recorded(function*(calls) {
      const pd = yield* domain
      const before = (yield* calls).length
      for (const length of [0, -1, 1.5, Number.NaN, 2 ** 53]) {
        assertPath(yield* Effect.flip(MemoryRegion.alloc(pd, { length })), ["length"])
      }
      for (const iova of [-1n, 1n << 64n]) {
        assertPath(yield* Effect.flip(MemoryRegion.alloc(pd, { length: 1, iova })), ["iova"])
      }
      assertPath(
        yield* Effect.flip(MemoryRegion.alloc(pd, { length: 1, access: ["localWrite", "localWrite"] })),
        ["access"]
      )
      assert.strictEqual((yield* calls).length, before)
    }))

  it("more memory than there is is ENOMEM of mmap", () =>
    Effect.gen(function*() {
      const pd = yield* domain
      const error = yield* Effect.flip(MemoryRegion.alloc(pd, { length: 2 ** 52 }))
      assertReason(error, "mmap", "ENOMEM")
    }))
}
