/**
 * What the fabric knows of memory, beyond the conformance suite: limits, unplugged devices, misuse of the seam, and the
 * snapshot that a data path reads.
 */
import { Pointer, Resource } from "@effect-rdma/core"
import { Fabric, FabricMisuse, Faults, LeakCheck, Topology } from "@effect-rdma/testkit"
import {
  DeviceContext,
  DeviceMemory,
  DmaBuffer,
  MemoryRegion,
  MemoryWindow,
  ProtectionDomain,
  Verbs
} from "@effect-rdma/verbs"
import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit, Scope } from "effect"
import { markAsUntransferable } from "node:worker_threads"

// Without the types of a browser.
declare const WebAssembly: {
  readonly Memory: new(options: { readonly initial: number }) => { readonly buffer: ArrayBuffer }
}

const domainOf = (device: string) => Effect.flatMap(DeviceContext.openByName(device), ProtectionDomain.alloc)

const limited = (provider: "rxe" | "mlx5") => {
  const device = provider === "rxe" ? Topology.softRoce("d0", 1) : Topology.connectX("d0", 1)
  const attributes = { ...device.attributes, maxMr: 2, maxMw: 2 }
  return Fabric.layerFrom({ hosts: [{ name: "host-a", devices: [{ ...device, attributes }] }] })
}

const bytesOfRegion = (pd: ProtectionDomain.ProtectionDomain) =>
  Effect.map(MemoryRegion.alloc(pd, { length: 4096 }), ({ bytes }) => bytes)

const bytesOfBuffer = (pd: ProtectionDomain.ProtectionDomain) =>
  Effect.map(DmaBuffer.alloc(pd, 4096), ({ bytes }) => bytes)

const misuseOf = (exit: Exit.Exit<unknown, unknown>): string => {
  const defect = Exit.isFailure(exit) ? exit.cause.reasons.find(Cause.isDieReason)?.defect : undefined
  if (defect instanceof FabricMisuse.FabricMisuse) return defect.message
  return assert.fail(`expected FabricMisuse, got ${String(defect)}`)
}

describe("memory of the fabric", () => {
  for (const [provider, windows] of [["rxe", "EINVAL"], ["mlx5", "ENOMEM"]] as const) {
    it.effect(`${provider} has so many regions and windows and no more, and they come back`, () =>
      Effect.gen(function*() {
        const pd = yield* domainOf("d0")
        const fill = Effect.gen(function*() {
          yield* MemoryRegion.alloc(pd, { length: 1 })
          yield* MemoryRegion.alloc(pd, { length: 1 })
          const region = yield* Effect.flip(MemoryRegion.alloc(pd, { length: 1 }))
          assert.deepInclude(region, { call: "ibv_reg_mr" })
          assert.include(region.message, "ENOMEM")
          yield* MemoryWindow.alloc(pd, 1)
          yield* MemoryWindow.alloc(pd, 2)
          assert.include((yield* Effect.flip(MemoryWindow.alloc(pd, 2))).message, windows)
        })
        yield* Effect.scoped(fill)
        yield* Effect.scoped(fill)
      }).pipe(Effect.provide(limited(provider))))
  }

  it.effect("device memory runs out as ENOMEM and comes back", () =>
    Effect.gen(function*() {
      const context = yield* DeviceContext.openByName("mlx5_0")
      const all = DeviceMemory.alloc(context, { length: 0x4_0000 })
      yield* Effect.scoped(Effect.andThen(
        all,
        Effect.map(Effect.flip(DeviceMemory.alloc(context, { length: 64 })), (error) =>
          assert.include(error.message, "ENOMEM"))
      ))
      yield* all
    }).pipe(Effect.provide(Fabric.layer)))

  it.effect("after an unplug everything is EIO, and the scope closes without a failure", () =>
    LeakCheck.check(Effect.gen(function*() {
      const pd = yield* domainOf("mlx5_0")
      const region = yield* MemoryRegion.alloc(pd, { length: 4096 })
      yield* MemoryWindow.alloc(pd, 1)
      const memory = yield* DeviceMemory.alloc(pd.context, { length: 64 })
      yield* MemoryRegion.registerDeviceMemory(pd, memory, { length: 64 })
      yield* MemoryRegion.registerBuffer(pd, yield* DmaBuffer.alloc(pd, 64), { length: 64 })
      yield* Effect.flatMap(Fabric.Fabric, (fabric) => fabric.unplug("host-a", "mlx5_0"))
      for (
        const attempt of [
          Effect.asVoid(MemoryRegion.alloc(pd, { length: 1 })),
          Effect.asVoid(MemoryWindow.alloc(pd, 1)),
          Effect.asVoid(DeviceMemory.alloc(pd.context, { length: 64 })),
          MemoryRegion.rereg(region, { access: [] })
        ]
      ) {
        assert.include((yield* Effect.flip(attempt)).message, "EIO")
      }
    })).pipe(Effect.provide(Fabric.layer)))

  it.effect("a deregistration that fails keeps the bytes, one of EIO too", () =>
    Effect.gen(function*() {
      for (const errno of ["EBUSY", "EIO"] as const) {
        let region: MemoryRegion.MemoryRegion | undefined
        const exit = yield* Effect.exit(
          Effect.scoped(Effect.gen(function*() {
            region = yield* Effect.flatMap(domainOf("rxe0"), (pd) => MemoryRegion.alloc(pd, { length: 4096 }))
          })).pipe(Faults.inject([{ call: "ibv_dereg_mr", nth: 1, errno }]))
        )
        // The domain is refused too: the region is still there.
        assert.isTrue(Exit.isFailure(exit))
        assert.strictEqual(region?.bytes.length, 4096)
      }
    }).pipe(Effect.provide(Fabric.layer)))

  it.effect("memory of a region that EIO left behind outlives its owner", () =>
    Effect.gen(function*() {
      for (const ownerOf of [bytesOfRegion, bytesOfBuffer]) {
        let bytes = new Uint8Array(0)
        const exit = yield* Effect.exit(
          Effect.scoped(Effect.gen(function*() {
            const pd = yield* domainOf("mlx5_0")
            bytes = yield* ownerOf(pd)
            yield* MemoryRegion.register(pd, bytes)
          })).pipe(Faults.inject([{ call: "ibv_dereg_mr", nth: 1, errno: "EIO" }]))
        )
        assert.isTrue(Exit.isFailure(exit))
        assert.strictEqual(bytes.length, 4096)
      }
    }).pipe(Effect.provide(Fabric.layer)))

  it.effect("a buffer that somebody else can detach is refused before any call", () =>
    Effect.gen(function*() {
      const pd = yield* domainOf("rxe0")
      const marked = new ArrayBuffer(64)
      markAsUntransferable(marked)
      for (const buffer of [new WebAssembly.Memory({ initial: 1 }).buffer, marked]) {
        const error = yield* Effect.flip(MemoryRegion.register(pd, new Uint8Array(buffer)))
        assert.include(error.message, "only its maker can detach")
      }
    }).pipe(Effect.provide(Fabric.layer)))

  it.effect("memory that cannot be registered is given back", () =>
    Effect.gen(function*() {
      const pd = yield* domainOf("rxe0")
      const before = (yield* Effect.flatMap(Fabric.Fabric, (fabric) => fabric.objects)).length
      const refused = yield* Effect.flip(MemoryRegion.alloc(pd, { length: 1, access: ["onDemand"] }))
      assert.include(refused.message, "EINVAL")
      assert.strictEqual((yield* Effect.flatMap(Fabric.Fabric, (fabric) => fabric.objects)).length, before)
    }).pipe(Effect.provide(Fabric.layer)))

  it.effect("bytes that somebody transferred away are not unmapped, and the exit tells it", () =>
    Effect.gen(function*() {
      const exit = yield* Effect.exit(Effect.scoped(Effect.gen(function*() {
        const region = yield* Effect.flatMap(domainOf("rxe0"), (pd) => MemoryRegion.alloc(pd, { length: 4096 }))
        assert.throws(() => structuredClone(region.bytes, { transfer: [region.bytes.buffer] }))
        assert.strictEqual(region.bytes.buffer.transfer().byteLength, 4096)
      })))
      assert.isTrue(Exit.isFailure(exit))
      assert.include(Exit.isFailure(exit) ? Cause.pretty(exit.cause) : "", "stay mapped")
    }).pipe(Effect.provide(Fabric.layer)))

  it.effect("two changes of one region at once end in its last domain", () =>
    Effect.gen(function*() {
      const context = yield* DeviceContext.openByName("mlx5_0")
      const scopes = yield* Effect.all([Scope.make(), Scope.make(), Scope.make()])
      const [first, second, third] = yield* Effect.forEach(
        scopes,
        (scope) => Scope.provide(ProtectionDomain.alloc(context), scope)
      )
      if (first === undefined || second === undefined || third === undefined) return assert.fail("three domains")
      const region = yield* MemoryRegion.alloc(first, { length: 1 })
      yield* Effect.all(
        [MemoryRegion.rereg(region, { domain: second }), MemoryRegion.rereg(region, { domain: third })],
        { concurrency: "unbounded" }
      )
      assert.strictEqual(region.domain, third)
      yield* Scope.close(scopes[0], Exit.void)
      yield* Scope.close(scopes[1], Exit.void)
      assert.isTrue(Resource.isLive(region))
      yield* Scope.close(scopes[2], Exit.void)
      assert.isFalse(Resource.isLive(region))
    }).pipe(Effect.provide(Fabric.layer)))

  it.effect("what C does not survive is FabricMisuse", () =>
    Effect.gen(function*() {
      const verbs = yield* Verbs.Verbs
      const pd = yield* domainOf("mlx5_0")
      const region = yield* MemoryRegion.alloc(pd, { length: 64 })
      const memory = yield* DeviceMemory.alloc(pd.context, { length: 64 })
      const buffer = yield* DmaBuffer.alloc(pd, 64)
      yield* MemoryRegion.registerBuffer(pd, buffer, { length: 64 })
      assert.include(misuseOf(yield* Effect.exit(verbs.deregMr(Pointer.make(0x40n)))), "no live ibv_mr")
      assert.include(misuseOf(yield* Effect.exit(verbs.deallocMw(Pointer.make(Resource.raw(pd))))), "not a ibv_mw")
      assert.include(misuseOf(yield* Effect.exit(verbs.freeBuf(Resource.raw(buffer)))), "is left")
      assert.include(misuseOf(yield* Effect.exit(verbs.unimportPd(Resource.raw(pd)))), "not imported")
      assert.include(misuseOf(yield* Effect.exit(verbs.unimportMr(Resource.raw(region).mr))), "not imported")
      assert.include(misuseOf(yield* Effect.exit(verbs.unimportDm(Resource.raw(memory)))), "not imported")
    }).pipe(Effect.provide(Fabric.layer)))
})
