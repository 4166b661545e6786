/**
 * The part of the conformance suite for memory that is not of the process: of the device, of the library, of another
 * subsystem, and what is imported.
 *
 * @since 0.1.0
 */
import * as Resource from "@effect-rdma/core/Resource"
import * as DeviceContext from "@effect-rdma/verbs/DeviceContext"
import * as DeviceMemory from "@effect-rdma/verbs/DeviceMemory"
import * as DmabufDescriptor from "@effect-rdma/verbs/DmabufDescriptor"
import * as DmaBuffer from "@effect-rdma/verbs/DmaBuffer"
import * as DmaHandle from "@effect-rdma/verbs/DmaHandle"
import * as MemoryRegion from "@effect-rdma/verbs/MemoryRegion"
import * as ProtectionDomain from "@effect-rdma/verbs/ProtectionDomain"
import type * as Verbs from "@effect-rdma/verbs/Verbs"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import * as Lane from "../conformance/Lane.ts"
import type { MemoryLane } from "../conformance/Memory.ts"
import { assertPath, assertReason, namesOf, recorded, timesCalled, usesDeadHandle } from "./conformance.ts"

export const suite = <Others>(lane: MemoryLane<Others>): void => {
  const it = Lane.test<Verbs.Verbs | Others>(lane)
  const open = DeviceContext.openByName(lane.device)
  const domain = Effect.flatMap(open, ProtectionDomain.alloc)

  it(
    lane.nullRegions ? "the null region has a local key and no memory" : "a null region is EOPNOTSUPP",
    () =>
      Effect.gen(function*() {
        const making = Effect.flatMap(domain, MemoryRegion.allocNull)
        if (!lane.nullRegions) return assertReason(yield* Effect.flip(making), "ibv_alloc_null_mr", "EOPNOTSUPP")
        const region = yield* making
        assert.strictEqual(region.bytes.length, 0)
        assert.isTrue(region.lkey > 0)
      })
  )

  // ---------------------------------------------------------------------------
  // Device memory
  // ---------------------------------------------------------------------------

  if (!lane.deviceMemory) {
    it("device memory is EOPNOTSUPP and leaves nothing", () =>
      recorded(function*(calls) {
        const error = yield* Effect.flip(Effect.flatMap(open, (context) => DeviceMemory.alloc(context, { length: 64 })))
        assertReason(error, "ibv_alloc_dm", "EOPNOTSUPP")
        assert.strictEqual(timesCalled(yield* calls, "ibv_free_dm"), 0)
      }))
  } else {
    it("what is copied to device memory comes back from it", () =>
      Effect.gen(function*() {
        const memory = yield* Effect.flatMap(open, (context) => DeviceMemory.alloc(context, { length: 256 }))
        const bytes = Uint8Array.from({ length: 64 }, (_, index) => index)
        yield* DeviceMemory.memcpyTo(memory, 128, bytes)
        assert.deepStrictEqual(yield* DeviceMemory.memcpyFrom(memory, 128, 64), bytes)
        assert.strictEqual(memory.length, 256)
      }))

    it("a copy beyond device memory is EFAULT, one of half a word EINVAL", () =>
      Effect.gen(function*() {
        const memory = yield* Effect.flatMap(open, (context) => DeviceMemory.alloc(context, { length: 64 }))
        assertReason(yield* Effect.flip(DeviceMemory.memcpyFrom(memory, 60, 8)), "ibv_memcpy_from_dm", "EFAULT")
        assertReason(
          yield* Effect.flip(DeviceMemory.memcpyTo(memory, 64, new Uint8Array(4))),
          "ibv_memcpy_to_dm",
          "EFAULT"
        )
        assertReason(
          yield* Effect.flip(DeviceMemory.memcpyTo(memory, 2, new Uint8Array(4))),
          "ibv_memcpy_to_dm",
          "EINVAL"
        )
        assertPath(yield* Effect.flip(DeviceMemory.memcpyFrom(memory, -1, 8)), [])
        assertPath(yield* Effect.flip(DeviceMemory.memcpyFrom(memory, 0, 0)), [])
      }))

    it("more device memory than the device has is EINVAL", () =>
      Effect.gen(function*() {
        const context = yield* open
        assertReason(
          yield* Effect.flip(DeviceMemory.alloc(context, { length: 2 ** 40 })),
          "ibv_alloc_dm",
          "EINVAL"
        )
      }))

    it("a region on device memory counts from 0 and goes before it, whichever scope closes first", () =>
      recorded(function*(calls) {
        const context = yield* open
        const scope = yield* Scope.fork(yield* Effect.scope)
        const memory = yield* Scope.provide(DeviceMemory.alloc(context, { length: 256 }), scope)
        const pd = yield* ProtectionDomain.alloc(context)
        const region = yield* MemoryRegion.registerDeviceMemory(pd, memory, { offset: 64, length: 128 })
        assert.strictEqual(region.address, 0n)
        assert.strictEqual(region.length, 128n)
        assert.deepStrictEqual(region.access, ["localWrite", "zeroBased"])
        assertReason(yield* Effect.flip(context.verbs.freeDm(Resource.raw(memory))), "ibv_free_dm", "EBUSY")
        yield* Scope.close(scope, Exit.void)
        assert.isFalse(Resource.isLive(region))
        assert.deepStrictEqual(namesOf(yield* calls).slice(-2), ["ibv_dereg_mr", "ibv_free_dm"])
        yield* usesDeadHandle(DeviceMemory.memcpyFrom(memory, 0, 4))
      }))

    it("a region beyond device memory is EINVAL, and so is one of another context's", () =>
      Effect.gen(function*() {
        const pd = yield* domain
        const memory = yield* DeviceMemory.alloc(pd.context, { length: 64 })
        const other = yield* Effect.flatMap(open, (context) => DeviceMemory.alloc(context, { length: 64 }))
        for (const [memory_, part] of [[memory, { offset: 60, length: 8 }], [other, { length: 64 }]] as const) {
          const error = yield* Effect.flip(MemoryRegion.registerDeviceMemory(pd, memory_, part))
          assertReason(error, "ibv_reg_dm_mr", "EINVAL")
        }
      }))
  }

  // ---------------------------------------------------------------------------
  // Descriptors, DMA handles, buffers
  // ---------------------------------------------------------------------------

  it(`a descriptor that is no dma-buf is ${lane.deviceMemory ? "EBADF" : "EOPNOTSUPP"}`, () =>
    Effect.gen(function*() {
      const pd = yield* domain
      const error = yield* Effect.flip(MemoryRegion.registerDmabuf(pd, { fd: 999_999, length: 4096 }))
      assertReason(error, "ibv_reg_dmabuf_mr", lane.deviceMemory ? "EBADF" : "EOPNOTSUPP")
      assertPath(yield* Effect.flip(MemoryRegion.registerDmabuf(pd, { fd: -1, length: 1 })), ["fd"])
    }))

  if (!lane.newer) {
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

  // ---------------------------------------------------------------------------
  // Imports
  // ---------------------------------------------------------------------------

  it("a descriptor of no device cannot be imported, and stays open", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(DeviceContext.import(999_999))
      assertReason(error, "ibv_import_device", "EBADF")
      assertPath(yield* Effect.flip(DeviceContext.import(-1)), [])
    }))

  if (!lane.imports) {
    it("imports are EOPNOTSUPP and leave nothing", () =>
      Effect.gen(function*() {
        const pd = yield* domain
        const fd = yield* DeviceContext.commandDescriptor(pd.context)
        const handle = yield* ProtectionDomain.handle(pd)
        assertReason(yield* Effect.flip(DeviceContext.import(fd)), "ibv_import_device", "EOPNOTSUPP")
        assertReason(yield* Effect.flip(ProtectionDomain.import(pd.context, handle)), "ibv_import_pd", "EOPNOTSUPP")
        assertReason(yield* Effect.flip(MemoryRegion.import(pd, 0)), "ibv_import_mr", "EOPNOTSUPP")
        assertReason(yield* Effect.flip(DeviceMemory.import(pd.context, 0)), "ibv_import_dm", "EOPNOTSUPP")
      }))
  } else {
    it("a context, a domain, a region and device memory can be imported, and are left to their makers", () =>
      recorded(function*(calls) {
        const pd = yield* domain
        const region = yield* MemoryRegion.alloc(pd, { length: 4096, access: ["localWrite", "remoteRead"] })
        const memory = yield* DeviceMemory.alloc(pd.context, { length: 64 })
        yield* DeviceMemory.memcpyTo(memory, 0, new Uint8Array([1, 2, 3, 4]))
        const before = (yield* calls).length
        yield* Effect.scoped(Effect.gen(function*() {
          const context = yield* Effect.flatMap(DeviceContext.commandDescriptor(pd.context), DeviceContext.import)
          assert.strictEqual(context.name, lane.device)
          const imported = yield* ProtectionDomain.import(context, yield* ProtectionDomain.handle(pd))
          const same = yield* MemoryRegion.import(imported, region.handle)
          assert.deepStrictEqual([same.lkey, same.rkey, same.length], [region.lkey, region.rkey, region.length])
          assert.strictEqual(same.bytes.length, 0)
          yield* MemoryRegion.alloc(imported, { length: 4096 })
          const shared = yield* DeviceMemory.import(context, memory.handle)
          assert.isUndefined(shared.length)
          assert.deepStrictEqual(yield* DeviceMemory.memcpyFrom(shared, 0, 4), new Uint8Array([1, 2, 3, 4]))
        }))
        assert.deepStrictEqual(namesOf((yield* calls).slice(before)).slice(-5), [
          "ibv_unimport_dm",
          "ibv_dereg_mr",
          "ibv_unimport_mr",
          "ibv_unimport_pd",
          "ibv_close_device"
        ])
        assert.isTrue(Resource.isLive(region))
      }))

    it("a handle that nobody has is ENOENT", () =>
      Effect.gen(function*() {
        const pd = yield* domain
        const context = yield* Effect.flatMap(DeviceContext.commandDescriptor(pd.context), DeviceContext.import)
        assertReason(yield* Effect.flip(ProtectionDomain.import(context, 0xffff)), "ibv_import_pd", "ENOENT")
        assertReason(yield* Effect.flip(DeviceMemory.import(context, 0xffff)), "ibv_import_dm", "ENOENT")
        assertPath(yield* Effect.flip(ProtectionDomain.import(context, 2 ** 32)), [])
      }))
  }
}
