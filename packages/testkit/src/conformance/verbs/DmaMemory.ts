/**
 * Conformance of dma-buf descriptors, DMA handles and buffers of the library.
 *
 * @since 0.1.0
 */
import * as Resource from "@effect-rdma/core/Resource"
import * as DeviceMemory from "@effect-rdma/verbs/DeviceMemory"
import * as DmabufDescriptor from "@effect-rdma/verbs/DmabufDescriptor"
import * as DmaBuffer from "@effect-rdma/verbs/DmaBuffer"
import * as DmaHandle from "@effect-rdma/verbs/DmaHandle"
import * as MemoryRegion from "@effect-rdma/verbs/MemoryRegion"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import { assertPath, assertReason, namesOf, recorded } from "../../internal/conformance.ts"
import { verbsSuite } from "../../internal/conformanceVerbs.ts"
import type * as VerbsLane from "../VerbsLane.ts"

/**
 * Registers the suite on a lane.
 *
 * @category constructors
 * @since 0.1.0
 */
export const suite = <Others = never>(lane: VerbsLane.VerbsLane<Others>): void => {
  const { domain, has, it } = verbsSuite(lane)

  it(`a descriptor that is no dma-buf is ${has("deviceMemory") ? "EBADF" : "EOPNOTSUPP"}`, () =>
    Effect.gen(function*() {
      const pd = yield* domain
      const error = yield* Effect.flip(MemoryRegion.registerDmabuf(pd, { fd: 999_999, length: 4096 }))
      assertReason(error, "ibv_reg_dmabuf_mr", has("deviceMemory") ? "EBADF" : "EOPNOTSUPP")
      assertPath(yield* Effect.flip(MemoryRegion.registerDmabuf(pd, { fd: -1, length: 1 })), ["fd"])
    }))

  if (!has("newerMemory")) {
    it("DMA handles, buffers and exports are EOPNOTSUPP", () =>
      Effect.gen(function*() {
        const pd = yield* domain
        const { verbs } = pd.context
        assertReason(yield* Effect.flip(DmaHandle.alloc(pd.context, { cpuId: 0 })), "ibv_alloc_dmah", "EOPNOTSUPP")
        assertReason(yield* Effect.flip(DmaBuffer.alloc(pd, 4096)), "ibv_alloc_buf", "EOPNOTSUPP")
        const attributes = { length: 64n, bytes: new Uint8Array(64), access: [] } as const
        assertReason(yield* Effect.flip(verbs.regMrEx(Resource.raw(pd), attributes)), "ibv_reg_mr_ex", "EOPNOTSUPP")
      }))
  } else {
    it("a region with a DMA handle goes before it", () =>
      recorded(function*(calls) {
        const pd = yield* domain
        const scope = yield* Scope.fork(yield* Effect.scope)
        const dmaHandle = yield* Scope.provide(DmaHandle.alloc(pd.context, { cpuId: 1, tphMemType: "volatile" }), scope)
        const region = yield* MemoryRegion.alloc(pd, { length: 4096, dmaHandle })
        assertReason(
          yield* Effect.flip(pd.context.verbs.deallocDmah(Resource.raw(dmaHandle))),
          "ibv_dealloc_dmah",
          "EBUSY"
        )
        yield* Scope.close(scope, Exit.void)
        assert.isFalse(Resource.isLive(region))
        assert.strictEqual(region.bytes.length, 0)
        assert.deepStrictEqual(namesOf(yield* calls).slice(-2), ["ibv_dereg_mr", "ibv_dealloc_dmah"])
      }))

    it("a region on a buffer of the library goes before it, and the bytes with it", () =>
      recorded(function*(calls) {
        const pd = yield* domain
        const buffer = yield* Effect.scoped(Effect.gen(function*() {
          const buffer = yield* DmaBuffer.alloc(pd, 8192)
          const region = yield* MemoryRegion.registerBuffer(pd, buffer, { offset: 4096, length: 4096 })
          assert.strictEqual(region.bytes.buffer, buffer.bytes.buffer)
          assert.strictEqual(region.bytes.byteOffset - buffer.bytes.byteOffset, 4096)
          const beyond = yield* Effect.flip(MemoryRegion.registerBuffer(pd, buffer, { offset: 4097, length: 4096 }))
          assertReason(beyond, "ibv_reg_buf_mr", "EINVAL")
          return buffer
        }))
        assert.strictEqual(buffer.bytes.length, 0)
        assert.deepStrictEqual(namesOf(yield* calls).slice(-2), ["ibv_dereg_mr", "ibv_free_buf"])
      }))

    it("device memory can be exported, and registered by its descriptor", () =>
      recorded(function*(calls) {
        const pd = yield* domain
        const memory = yield* DeviceMemory.alloc(pd.context, { length: 4096 })
        yield* Effect.scoped(Effect.gen(function*() {
          const { fd } = yield* DmabufDescriptor.fromDeviceMemory(memory)
          const region = yield* MemoryRegion.registerDmabuf(pd, { fd, length: 4096 })
          assert.strictEqual(region.address, 0n)
          const beyond = yield* Effect.flip(MemoryRegion.registerDmabuf(pd, { fd, offset: 4096, length: 4096 }))
          assertReason(beyond, "ibv_reg_dmabuf_mr", "EINVAL")
        }))
        assert.deepStrictEqual(namesOf(yield* calls).slice(-2), ["ibv_dereg_mr", "close"])
      }))
  }
}
