/**
 * Conformance of memory regions that change in place.
 *
 * @since 0.1.0
 */
import * as NativeMemory from "@effect-rdma/core/NativeMemory"
import * as Resource from "@effect-rdma/core/Resource"
import type * as AccessFlags from "@effect-rdma/verbs/AccessFlags"
import * as MemoryRegion from "@effect-rdma/verbs/MemoryRegion"
import * as ProtectionDomain from "@effect-rdma/verbs/ProtectionDomain"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import { assertPath, assertReason, namesOf, recorded, timesCalled } from "../../internal/conformance.ts"
import { verbsSuite } from "../../internal/conformanceVerbs.ts"
import type * as VerbsLane from "../VerbsLane.ts"

const everything: ReadonlyArray<AccessFlags.AccessFlag> = ["localWrite", "remoteWrite", "remoteRead", "remoteAtomic"]

/**
 * Registers the suite on a lane.
 *
 * @category constructors
 * @since 0.1.0
 */
export const suite = <Others = never>(lane: VerbsLane.VerbsLane<Others>): void => {
  const { domain, has, it, open } = verbsSuite(lane)

  it(
    has("rereg") ? "the access of a region can be changed" : "changing a region is EOPNOTSUPP and leaves it as it was",
    () =>
      Effect.gen(function*() {
        const region = yield* Effect.flatMap(domain, (domain) => MemoryRegion.alloc(domain, { length: 4096 }))
        if (!has("rereg")) {
          const error = yield* Effect.flip(MemoryRegion.rereg(region, { access: everything }))
          assertReason(error, "ibv_rereg_mr", "EOPNOTSUPP")
          assert.include(error.message, "code IBV_REREG_MR_ERR_CMD")
          assert.deepStrictEqual(region.access, ["localWrite"])
          return assert.isTrue(region.usable)
        }
        yield* MemoryRegion.rereg(region, { access: everything })
        assert.deepStrictEqual(region.access, everything)
        assert.isAbove(region.rkey, 0)
      })
  )

  it("a change that every kernel refuses, or none, is EINVAL before the call", () =>
    recorded(function*(calls) {
      const pd = yield* domain
      const region = yield* MemoryRegion.alloc(pd, { length: 4096 })
      const rereg = (changes: Parameters<typeof MemoryRegion.rereg>[1]) =>
        Effect.flip(MemoryRegion.rereg(region, changes))
      assertReason(yield* rereg({ access: ["remoteWrite"] }), "ibv_rereg_mr", "EINVAL")
      assertReason(yield* rereg({}), "ibv_rereg_mr", "EINVAL")
      assertReason(yield* rereg({ domain: pd }), "ibv_rereg_mr", "EINVAL")
      assertReason(yield* rereg({ domain: yield* domain }), "ibv_rereg_mr", "EINVAL")
      assertReason(yield* rereg({ bytes: region.bytes.subarray(1) }), "ibv_rereg_mr", "EINVAL")
      assertPath(yield* rereg({ bytes: new Uint8Array(0) }), [])
      assert.strictEqual(timesCalled(yield* calls, "ibv_rereg_mr"), 0)
    }))

  if (has("rereg")) {
    it("other memory takes the place of memory that the region owned, which stays for the regions on it", () =>
      Effect.gen(function*() {
        const pd = yield* domain
        const bytes = new Uint8Array(8192)
        const [owned, other] = yield* Effect.scoped(Effect.gen(function*() {
          const region = yield* MemoryRegion.alloc(pd, { length: 4096 })
          const owned = region.bytes
          const other = yield* MemoryRegion.register(pd, owned)
          yield* MemoryRegion.rereg(region, { bytes })
          assert.strictEqual(owned.length, 4096)
          assert.strictEqual(region.bytes, bytes)
          assert.strictEqual(region.address, NativeMemory.addressOf(bytes))
          assert.strictEqual(region.length, 8192n)
          return [owned, other] as const
        }))
        assert.isFalse(Resource.isLive(other))
        assert.strictEqual(owned.length, 0)
        assert.strictEqual(bytes.length, 8192)
      }))

    it("a region that moved to another domain goes with that one", () =>
      recorded(function*(calls) {
        const context = yield* open
        const first = yield* Scope.fork(yield* Effect.scope)
        const second = yield* Scope.fork(yield* Effect.scope)
        const from = yield* Scope.provide(ProtectionDomain.alloc(context), first)
        const to = yield* Scope.provide(ProtectionDomain.alloc(context), second)
        const region = yield* MemoryRegion.alloc(from, { length: 4096 })
        yield* MemoryRegion.rereg(region, { domain: to })
        assert.strictEqual(region.domain, to)
        yield* Scope.close(first, Exit.void)
        assert.isTrue(Resource.isLive(region))
        assert.strictEqual(timesCalled(yield* calls, "ibv_dereg_mr"), 0)
        yield* Scope.close(second, Exit.void)
        assert.isFalse(Resource.isLive(region))
        assert.deepStrictEqual(namesOf(yield* calls).slice(-2), ["ibv_dereg_mr", "ibv_dealloc_pd"])
      }))
  }
}
