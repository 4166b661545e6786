/** Handles that live too long, or are used too late. */
import { Resource } from "@effect-rdma/core"
import { LeakCheck } from "@effect-rdma/testkit"
import {
  AddressHandle,
  AddressHandleAttributes,
  DeviceContext,
  MemoryRegion,
  ProtectionDomain
} from "@effect-rdma/verbs"
import { Context, Deferred, Effect, Exit, Layer, Ref, Schema, Scope } from "effect"
import { address, context, domain, rawDomain, type SeededBug } from "./world.ts"

const register = (domain: ProtectionDomain.ProtectionDomain) => MemoryRegion.alloc(domain, { length: 64, access: [] })

const decodeAddress = Schema.decodeEffect(AddressHandleAttributes.AddressHandleAttributes)

/** What an application makes its requests with. */
class Registrar extends Context.Service<Registrar, {
  readonly region: Effect.Effect<MemoryRegion.MemoryRegion, unknown, Scope.Scope>
}>()("Registrar") {}

const serving = (
  regionOf: (
    domain: ProtectionDomain.ProtectionDomain,
    scopeOfLayer: Scope.Scope
  ) => Registrar["Service"]["region"]
) => {
  const layer = Layer.effect(
    Registrar,
    Effect.gen(function*() {
      return { region: regionOf(yield* domain, yield* Effect.scope) }
    })
  )
  const request = Effect.flatMap(Registrar, ({ region }) => region)
  return LeakCheck.check(request).pipe(Effect.provide(layer))
}

export const lifetimes: ReadonlyArray<SeededBug> = [
  {
    name: "a resource goes into a scope that nobody closes",
    faulty: Effect.gen(function*() {
      const longer = yield* Scope.make()
      yield* Scope.provide(context, longer)
    }),
    corrected: Effect.acquireUseRelease(Scope.make(), (longer) => Scope.provide(context, longer), Scope.close),
    kind: "leak",
    report: /DeviceContext#\d+ \(ibv_open_device at .*world\.ts:\d+:\d+\)[^]*a scope that is still open/
  },
  {
    name: "a scope is closed only when all goes well",
    faulty: Effect.gen(function*() {
      const longer = yield* Scope.make()
      const opened = yield* Scope.provide(context, longer)
      yield* DeviceContext.query(opened)
      yield* Scope.close(longer, Exit.void)
    }),
    corrected: Effect.scoped(Effect.flatMap(context, DeviceContext.query)),
    kind: "leak",
    report: /DeviceContext#/
  },
  {
    name: "a layer captures its scope, and each request adds to it",
    faulty: serving((domain, scopeOfLayer) => Scope.provide(register(domain), scopeOfLayer)),
    corrected: serving((domain) => register(domain)),
    kind: "leak",
    report: /MemoryRegion#\d+ \(ibv_reg_mr /
  },
  {
    name: "memory is registered for each message and let go at the end of all",
    faulty: Effect.flatMap(
      domain,
      (domain) =>
        Effect.flatMap(
          Effect.scope,
          (scope) => Effect.forEach([1, 2, 3], () => LeakCheck.check(Scope.provide(register(domain), scope)))
        )
    ),
    corrected: Effect.flatMap(domain, (domain) => Effect.forEach([1, 2, 3], () => LeakCheck.check(register(domain)))),
    kind: "leak",
    report: /MemoryRegion#/
  },
  {
    name: "a detached fiber keeps what it made",
    faulty: Effect.forkDetach(Effect.scoped(Effect.andThen(context, Effect.never)), { startImmediately: true }),
    corrected: Effect.forkScoped(Effect.scoped(Effect.andThen(context, Effect.never)), { startImmediately: true }),
    kind: "leak",
    report: /DeviceContext#/
  },
  {
    name: "a handle is kept past its scope in a Ref",
    faulty: Effect.gen(function*() {
      const kept = yield* Ref.make<DeviceContext.DeviceContext | undefined>(undefined)
      yield* Effect.scoped(Effect.flatMap(context, (context) => Ref.set(kept, context)))
      const opened = yield* Ref.get(kept)
      if (opened !== undefined) yield* DeviceContext.query(opened)
    }),
    corrected: Effect.gen(function*() {
      const kept = yield* Ref.make<DeviceContext.DeviceContext | undefined>(undefined)
      yield* Effect.flatMap(context, (context) => Ref.set(kept, context))
      const opened = yield* Ref.get(kept)
      if (opened !== undefined) yield* DeviceContext.query(opened)
    }),
    kind: "dead handle",
    report: /DeviceContext#\d+ .* was used after it was released/
  },
  {
    name: "a handle is what a scoped effect gives",
    faulty: Effect.flatMap(Effect.scoped(domain), (domain) => AddressHandle.make(domain, address)),
    corrected: Effect.scoped(Effect.flatMap(domain, (domain) => AddressHandle.make(domain, address))),
    kind: "dead handle",
    report: /ProtectionDomain#\d+ .* was used after it was released/
  },
  {
    name: "a finalizer that was added first runs last, and uses what is gone by then",
    faulty: Effect.gen(function*() {
      const opened = yield* Deferred.make<DeviceContext.DeviceContext>()
      yield* Effect.addFinalizer(() => Effect.ignore(Effect.flatMap(Deferred.await(opened), DeviceContext.query)))
      yield* Deferred.succeed(opened, yield* context)
    }),
    corrected: Effect.gen(function*() {
      const opened = yield* context
      yield* Effect.addFinalizer(() => Effect.ignore(DeviceContext.query(opened)))
    }),
    mayFail: ["ibv_query_device"],
    kind: "dead handle",
    report: /DeviceContext#/
  },
  {
    name: "two fibers: one uses what the other releases, in some order",
    faulty: Effect.gen(function*() {
      const scope = yield* Scope.make()
      const opened = yield* Scope.provide(context, scope)
      yield* Effect.all([Effect.andThen(Effect.yieldNow, DeviceContext.query(opened)), Scope.close(scope, Exit.void)], {
        concurrency: 2
      })
    }).pipe(Effect.uninterruptible),
    corrected: Effect.gen(function*() {
      const scope = yield* Scope.make()
      const opened = yield* Scope.provide(context, scope)
      yield* Effect.ensuring(DeviceContext.query(opened), Scope.close(scope, Exit.void))
    }).pipe(Effect.uninterruptible),
    kind: "dead handle",
    report: /DeviceContext#/
  },
  {
    name: "an interruption falls between a raw create and the finalizer",
    faulty: Effect.gen(function*() {
      const { context, verbs } = yield* rawDomain
      const pd = yield* verbs.allocPd(context)
      yield* Effect.addFinalizer(() => Effect.orDie(verbs.deallocPd(pd)))
    }),
    corrected: Effect.flatMap(
      rawDomain,
      ({ context, verbs }) => Effect.acquireRelease(verbs.allocPd(context), (pd) => Effect.orDie(verbs.deallocPd(pd)))
    ),
    kind: "leak",
    report: /ProtectionDomain on host-a/
  },
  {
    name: "the second raw create fails, and nobody releases the first",
    faulty: Effect.gen(function*() {
      const { context, verbs } = yield* rawDomain
      const first = yield* verbs.allocPd(context)
      const second = yield* verbs.allocPd(context)
      yield* verbs.deallocPd(second)
      yield* verbs.deallocPd(first)
    }).pipe(Effect.uninterruptible),
    corrected: Effect.gen(function*() {
      const context = yield* DeviceContext.openByName("rxe0")
      yield* ProtectionDomain.alloc(context)
      yield* ProtectionDomain.alloc(context)
    }),
    kind: "leak",
    report: /native objects that no handle owns: ProtectionDomain on host-a/
  },
  {
    name: "what is released by hand is released again by its scope",
    faulty: Effect.flatMap(
      domain,
      (domain) =>
        Effect.flatMap(
          AddressHandle.make(domain, address),
          (handle) => domain.context.verbs.destroyAh(Resource.raw(handle))
        )
    ),
    corrected: Effect.flatMap(domain, (domain) => Effect.scoped(AddressHandle.make(domain, address))),
    kind: "misuse",
    report: /ibv_destroy_ah: /
  },
  {
    name: "a parent is released by hand before its child",
    faulty: Effect.gen(function*() {
      const { pd, verbs } = yield* rawDomain
      const handle = yield* verbs.createAh(pd, yield* decodeAddress(address))
      yield* verbs.deallocPd(pd)
      yield* verbs.destroyAh(handle)
    }),
    corrected: Effect.flatMap(domain, (domain) => AddressHandle.make(domain, address)),
    kind: "defect",
    report: /ibv_dealloc_pd: EBUSY/
  }
]
