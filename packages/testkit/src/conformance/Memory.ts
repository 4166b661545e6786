/**
 * What libibverbs does with memory, as tests of the scoped modules: the same on the in-memory fabric, on Soft-RoCE and on
 * hardware.
 *
 * @since 0.1.0
 */
import * as NativeMemory from "@effect-rdma/core/NativeMemory"
import * as Resource from "@effect-rdma/core/Resource"
import type * as AccessFlags from "@effect-rdma/verbs/AccessFlags"
import * as DeviceContext from "@effect-rdma/verbs/DeviceContext"
import * as MemoryRegion from "@effect-rdma/verbs/MemoryRegion"
import * as MemoryWindow from "@effect-rdma/verbs/MemoryWindow"
import * as ProtectionDomain from "@effect-rdma/verbs/ProtectionDomain"
import type * as Verbs from "@effect-rdma/verbs/Verbs"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import { assertPath, assertReason, namesOf, recorded, timesCalled, usesDeadHandle } from "../internal/conformance.ts"
import * as DeviceMemorySuite from "../internal/conformanceDeviceMemory.ts"
import * as Lane from "./Lane.ts"

/**
 * What the suite has to know of the device that it runs on. What a device lacks must be refused as `EOPNOTSUPP`.
 *
 * @category models
 * @since 0.1.0
 */
export interface MemoryLane<Others = never> extends Lane.Lane<Verbs.Verbs | Others> {
  readonly device: string
  /** Whether a region that no peer may touch has the remote key 0. */
  readonly noRemoteKey: boolean
  /** Whether it can bring in pages on demand. */
  readonly onDemand: boolean
  /** Whether it can change a region in place. */
  readonly rereg: boolean
  readonly nullRegions: boolean
  readonly deviceMemory: boolean
  /** Whether objects of another context can be imported. */
  readonly imports: boolean
  /** Whether library and provider have what came after rdma-core 44: DMA handles, buffers and exports. */
  readonly newer: boolean
}

/**
 * Registers the suite on a lane.
 *
 * @category constructors
 * @since 0.1.0
 */
export const suite = <Others = never>(lane: MemoryLane<Others>): void => {
  const it = Lane.test<Verbs.Verbs | Others>(lane)
  const open = DeviceContext.openByName(lane.device)
  const domain = Effect.flatMap(open, ProtectionDomain.alloc)
  const everything: ReadonlyArray<AccessFlags.AccessFlag> = ["localWrite", "remoteWrite", "remoteRead", "remoteAtomic"]

  // ---------------------------------------------------------------------------
  // Allocated memory
  // ---------------------------------------------------------------------------

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
      assert.strictEqual(region.rkey === 0, lane.noRemoteKey)
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

  // ---------------------------------------------------------------------------
  // Access
  // ---------------------------------------------------------------------------

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
    lane.onDemand ? "pages can come on demand and be prefetched" : "pages on demand are EINVAL, advice is EOPNOTSUPP",
    () =>
      Effect.gen(function*() {
        const pd = yield* domain
        const making = MemoryRegion.alloc(pd, { length: 16_384, access: ["localWrite", "onDemand"] })
        if (!lane.onDemand) {
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

  // ---------------------------------------------------------------------------
  // Memory of the caller
  // ---------------------------------------------------------------------------

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

  // ---------------------------------------------------------------------------
  // Addresses of choice
  // ---------------------------------------------------------------------------

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

  // ---------------------------------------------------------------------------
  // Changing a region
  // ---------------------------------------------------------------------------

  it(
    lane.rereg ? "the access of a region can be changed" : "changing a region is EOPNOTSUPP and leaves it as it was",
    () =>
      Effect.gen(function*() {
        const region = yield* Effect.flatMap(domain, (domain) => MemoryRegion.alloc(domain, { length: 4096 }))
        if (!lane.rereg) {
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

  if (lane.rereg) {
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

  // ---------------------------------------------------------------------------
  // Windows
  // ---------------------------------------------------------------------------

  for (const type of [1, 2] as const) {
    it(`a window of type ${type} has a key of its own and goes before its domain`, () =>
      recorded(function*(calls) {
        yield* Effect.scoped(Effect.gen(function*() {
          const pd = yield* domain
          const window = yield* MemoryWindow.alloc(pd, type)
          const other = yield* MemoryWindow.alloc(pd, type)
          assert.strictEqual(window.type, type)
          assert.notStrictEqual(window.rkey, other.rkey)
        }))
        assert.deepStrictEqual(namesOf(yield* calls).slice(-4, -1), [
          "ibv_dealloc_mw",
          "ibv_dealloc_mw",
          "ibv_dealloc_pd"
        ])
      }))
  }

  it("a window of another type is a SchemaError, and the library is not called", () =>
    recorded(function*(calls) {
      const pd = yield* domain
      // As from a program without types.
      const type: 1 = JSON.parse("3")
      assertPath(yield* Effect.flip(MemoryWindow.alloc(pd, type)), [])
      assert.strictEqual(timesCalled(yield* calls, "ibv_alloc_mw"), 0)
    }))

  it("the library refuses to deallocate a domain with a region or a window as EBUSY", () =>
    Effect.gen(function*() {
      const pd = yield* domain
      const { verbs } = pd.context
      const dealloc = Effect.suspend(() => verbs.deallocPd(Resource.raw(pd)))
      yield* Effect.scoped(Effect.andThen(
        MemoryRegion.alloc(pd, { length: 1 }),
        Effect.map(Effect.flip(dealloc), (error) => assertReason(error, "ibv_dealloc_pd", "EBUSY"))
      ))
      yield* Effect.scoped(Effect.andThen(
        MemoryWindow.alloc(pd, 2),
        Effect.map(Effect.flip(dealloc), (error) => assertReason(error, "ibv_dealloc_pd", "EBUSY"))
      ))
    }))

  DeviceMemorySuite.suite(lane)
}
