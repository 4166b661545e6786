/**
 * Conformance of what is imported from another context.
 *
 * @since 0.1.0
 */
import * as Resource from "@effect-rdma/core/Resource"
import * as DeviceContext from "@effect-rdma/verbs/DeviceContext"
import * as DeviceMemory from "@effect-rdma/verbs/DeviceMemory"
import * as MemoryRegion from "@effect-rdma/verbs/MemoryRegion"
import * as ProtectionDomain from "@effect-rdma/verbs/ProtectionDomain"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
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

  it("a descriptor of no device cannot be imported, and stays open", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(DeviceContext.import(999_999))
      assertReason(error, "ibv_import_device", "EBADF")
      assertPath(yield* Effect.flip(DeviceContext.import(-1)), [])
    }))

  if (!has("imports")) {
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
