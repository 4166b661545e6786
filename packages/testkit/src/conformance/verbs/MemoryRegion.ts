/**
 * Conformance of memory regions: of allocated memory, with every access, at an address of choice, of no memory.
 *
 * @since 0.1.0
 */
import * as NativeMemory from "@effect-rdma/core/NativeMemory"
import * as Resource from "@effect-rdma/core/Resource"
import type * as AccessFlags from "@effect-rdma/verbs/AccessFlags"
import * as MemoryRegion from "@effect-rdma/verbs/MemoryRegion"
import * as MemoryWindow from "@effect-rdma/verbs/MemoryWindow"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import { assertReason, namesOf, recorded, timesCalled, usesDeadHandle } from "../../internal/conformance.ts"
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
  const { domain, has, it } = verbsSuite(lane)

  it("a region of allocated memory has keys, an address and zeroed bytes that can be written", () =>
    Effect.gen(function*() {
      const region = yield* Effect.flatMap(
        domain,
        (domain) => MemoryRegion.alloc(domain, { length: 10_000, access: everything })
      )
      assert.strictEqual(region.bytes.length, 10_000)
      assert.strictEqual(region.length, 10_000n)
      assert.isTrue(region.bytes.every((byte) => byte === 0))
      region.bytes.fill(7)
      assert.strictEqual(region.address, NativeMemory.addressOf(region.bytes))
      assert.strictEqual(region.address % BigInt(NativeMemory.pageSize()), 0n)
      assert.deepStrictEqual(region.access, everything)
      assert.isTrue(region.lkey > 0 && region.rkey > 0 && region.handle >= 0 && region.usable)
    }))

  it("local write is the access that is not asked for", () =>
    Effect.gen(function*() {
      const region = yield* Effect.flatMap(domain, (domain) => MemoryRegion.alloc(domain, { length: 1 }))
      assert.deepStrictEqual(region.access, ["localWrite"])
      assert.strictEqual(region.rkey === 0, has("noRemoteKey"))
    }))

  it("a region without local write can be read only", () =>
    Effect.gen(function*() {
      const region = yield* Effect.flatMap(domain, (domain) =>
        MemoryRegion.alloc(domain, { length: 4096, access: ["remoteRead"] }))
      assert.isAbove(region.rkey, 0)
    }))

  it("after the release the bytes and their views are of length 0", () =>
    Effect.gen(function*() {
      const pd = yield* domain
      const [region, view] = yield* Effect.scoped(Effect.map(
        MemoryRegion.alloc(pd, { length: 4096 }),
        (region) => [region, new DataView(region.bytes.buffer, 16)] as const
      ))
      assert.strictEqual(region.bytes.length, 0)
      assert.isTrue(region.bytes.buffer.detached)
      assert.throws(() => view.getUint8(0))
    }))

  it("a released region cannot be used, and the library is not called", () =>
    recorded(function*(calls) {
      const pd = yield* domain
      const region = yield* Effect.scoped(MemoryRegion.alloc(pd, { length: 4096 }))
      const before = (yield* calls).length
      const dead = yield* usesDeadHandle(MemoryRegion.rereg(region, { access: [] }))
      assert.include(dead.message, "MemoryRegion#")
      yield* usesDeadHandle(MemoryRegion.advise(region, { advice: "prefetch" }))
      assert.strictEqual((yield* calls).length, before)
    }))

  it("regions and windows go before their domain, last made first", () =>
    recorded(function*(calls) {
      yield* Effect.scoped(Effect.gen(function*() {
        const scope = yield* Effect.scope
        const inner = yield* Scope.fork(scope)
        const pd = yield* Scope.provide(domain, inner)
        yield* MemoryRegion.alloc(pd, { length: 1 })
        yield* MemoryWindow.alloc(pd, 1)
        yield* MemoryRegion.register(pd, new Uint8Array(100))
        yield* Scope.close(inner, Exit.void)
      }))
      assert.deepStrictEqual(namesOf(yield* calls).slice(-5), [
        "ibv_dereg_mr",
        "ibv_dealloc_mw",
        "ibv_dereg_mr",
        "ibv_dealloc_pd",
        "ibv_close_device"
      ])
    }))

  it("keys of live regions are different, and a hundred regions come and go", () =>
    recorded(function*(calls) {
      const pd = yield* domain
      yield* Effect.scoped(Effect.gen(function*() {
        const regions = yield* Effect.all(
          Array.from(
            { length: 100 },
            () => MemoryRegion.alloc(pd, { length: 64, access: ["localWrite", "remoteRead"] })
          )
        )
        assert.strictEqual(new Set(regions.map(({ lkey }) => lkey)).size, 100)
        assert.strictEqual(new Set(regions.map(({ rkey }) => rkey)).size, 100)
        assert.strictEqual(new Set(regions.map(({ handle }) => handle)).size, 100)
      }))
      assert.strictEqual(timesCalled(yield* calls, "ibv_dereg_mr"), 100)
    }))

  it("memory of a region can be registered again, and the second region goes before the first", () =>
    recorded(function*(calls) {
      const pd = yield* domain
      const scope = yield* Scope.fork(yield* Effect.scope)
      const first = yield* Scope.provide(MemoryRegion.alloc(pd, { length: 8192 }), scope)
      const second = yield* MemoryRegion.register(pd, first.bytes.subarray(4096))
      assert.notStrictEqual(first.lkey, second.lkey)
      assert.strictEqual(second.address - first.address, 4096n)
      yield* Scope.close(scope, Exit.void)
      assert.isFalse(Resource.isLive(second))
      assert.strictEqual(second.bytes.length, 0)
      assert.deepStrictEqual(namesOf(yield* calls).slice(-2), ["ibv_dereg_mr", "ibv_dereg_mr"])
    }))

  it("four MiB can be registered", () =>
    Effect.gen(function*() {
      const region = yield* Effect.flatMap(domain, (domain) => MemoryRegion.alloc(domain, { length: 4 << 20 }))
      assert.strictEqual(region.length, BigInt(4 << 20))
    }))

  for (const flag of ["remoteWrite", "remoteAtomic"] as const) {
    it(`${flag} without localWrite is EINVAL with the rule, and the library is not called`, () =>
      recorded(function*(calls) {
        const pd = yield* domain
        const before = (yield* calls).length
        const error = yield* Effect.flip(MemoryRegion.alloc(pd, { length: 1, access: [flag] }))
        assertReason(error, "ibv_reg_mr", "EINVAL")
        assert.include(error.message, "need localWrite")
        assertReason(
          yield* Effect.flip(MemoryRegion.register(pd, new Uint8Array(1), { access: [flag, "remoteRead"] })),
          "ibv_reg_mr",
          "EINVAL"
        )
        assert.strictEqual((yield* calls).length, before)
      }))

    it(`the library refuses ${flag} without localWrite as EINVAL itself`, () =>
      Effect.gen(function*() {
        const pd = yield* domain
        const error = yield* Effect.flip(pd.context.verbs.regMr(Resource.raw(pd), new Uint8Array(64), [flag]))
        assertReason(error, "ibv_reg_mr", "EINVAL")
      }))
  }

  it("access for windows and relaxed ordering can be asked for", () =>
    Effect.gen(function*() {
      const pd = yield* domain
      yield* MemoryRegion.alloc(pd, { length: 4096, access: ["localWrite", "mwBind", "remoteWrite"] })
      yield* MemoryRegion.alloc(pd, { length: 4096, access: ["localWrite", "relaxedOrdering"] })
    }))

  it(
    has("onDemand") ? "pages can come on demand and be prefetched" : "pages on demand are EINVAL, advice is EOPNOTSUPP",
    () =>
      Effect.gen(function*() {
        const pd = yield* domain
        const making = MemoryRegion.alloc(pd, { length: 16_384, access: ["localWrite", "onDemand"] })
        if (!has("onDemand")) {
          assertReason(yield* Effect.flip(making), "ibv_reg_mr", "EINVAL")
          const region = yield* MemoryRegion.alloc(pd, { length: 4096 })
          const refused = yield* Effect.flip(MemoryRegion.advise(region, { advice: "prefetch" }))
          return assertReason(refused, "ibv_advise_mr", "EOPNOTSUPP")
        }
        const region = yield* making
        yield* MemoryRegion.advise(region, { advice: "prefetch" })
        yield* MemoryRegion.advise(region, { advice: "prefetchWrite", flush: true, offset: 4096, length: 4096 })
        const pinned = yield* MemoryRegion.alloc(pd, { length: 4096 })
        assertReason(
          yield* Effect.flip(MemoryRegion.advise(pinned, { advice: "prefetch", flush: true })),
          "ibv_advise_mr",
          "EINVAL"
        )
      })
  )

  it("advice for what is not in the region is EINVAL, and the library is not called", () =>
    recorded(function*(calls) {
      const region = yield* Effect.flatMap(domain, (domain) => MemoryRegion.alloc(domain, { length: 100 }))
      const advise = (offset: number, length: number) =>
        Effect.flip(MemoryRegion.advise(region, { advice: "prefetch", offset, length }))
      assertReason(yield* advise(0, 101), "ibv_advise_mr", "EINVAL")
      assertReason(yield* advise(101, 0), "ibv_advise_mr", "EINVAL")
      assert.strictEqual(timesCalled(yield* calls, "ibv_advise_mr"), 0)
    }))

  it("a region can have another address in work requests than in memory", () =>
    Effect.gen(function*() {
      const pd = yield* domain
      const region = yield* MemoryRegion.alloc(pd, { length: 4096, iova: 0x10000n, access: everything })
      assert.strictEqual(region.address, 0x10000n)
      assert.isTrue(region.lkey > 0)
    }))

  it("an address at another place within a page is EINVAL", () =>
    Effect.gen(function*() {
      const pd = yield* domain
      const error = yield* Effect.flip(MemoryRegion.alloc(pd, { length: 4096, iova: 0x10008n }))
      assertReason(error, "ibv_reg_mr_iova", "EINVAL")
      assert.include(error.message, "same place within a page")
    }))

  it(
    has("nullRegions") ? "the null region has a local key and no memory" : "a null region is EOPNOTSUPP",
    () =>
      Effect.gen(function*() {
        const making = Effect.flatMap(domain, MemoryRegion.allocNull)
        if (!has("nullRegions")) return assertReason(yield* Effect.flip(making), "ibv_alloc_null_mr", "EOPNOTSUPP")
        const region = yield* making
        assert.strictEqual(region.bytes.length, 0)
        assert.isTrue(region.lkey > 0)
      })
  )
}
