/**
 * Conformance of device memory.
 *
 * @since 0.1.0
 */
import * as Resource from "@effect-rdma/core/Resource"
import * as DeviceMemory from "@effect-rdma/verbs/DeviceMemory"
import * as MemoryRegion from "@effect-rdma/verbs/MemoryRegion"
import * as ProtectionDomain from "@effect-rdma/verbs/ProtectionDomain"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import { assertPath, assertReason, namesOf, recorded, timesCalled, usesDeadHandle } from "../../internal/conformance.ts"
import { verbsSuite } from "../../internal/conformanceVerbs.ts"
import type * as VerbsLane from "../VerbsLane.ts"

/**
 * Registers the suite on a lane.
 *
 * @category constructors
 * @since 0.1.0
 */
export const suite = <Others = never>(lane: VerbsLane.VerbsLane<Others>): void => {
  const { domain, has, it, open } = verbsSuite(lane)

  if (!has("deviceMemory")) {
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
}
