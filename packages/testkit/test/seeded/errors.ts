/** Failures that are not heard, or do more harm than they must. */
import { Resource } from "@effect-rdma/core"
import { DeviceContext, ProtectionDomain } from "@effect-rdma/verbs"
import { Effect, Exit, Scope } from "effect"
import { context, domain, rawDomain, type SeededBug } from "./world.ts"

/** A domain more than is needed. */
const spare = Effect.flatMap(context, (context) => ProtectionDomain.alloc(context))

export const errors: ReadonlyArray<SeededBug> = [
  {
    name: "a create that failed is passed over",
    faulty: Effect.ignore(spare),
    corrected: Effect.asVoid(spare),
    kind: "lost error",
    report: /^ibv_\w+ failed, and the program succeeded/
  },
  {
    name: "a query that failed is taken for an answer",
    faulty: Effect.flatMap(
      context,
      (context) => Effect.orElseSucceed(Effect.map(DeviceContext.query(context), ({ maxQp }) => maxQp), () => 0)
    ),
    corrected: Effect.flatMap(context, (context) => Effect.map(DeviceContext.query(context), ({ maxQp }) => maxQp)),
    kind: "lost error",
    report: /ibv_query_device\w* failed/
  },
  {
    name: "a typed error is made a defect",
    faulty: Effect.orDie(spare),
    corrected: spare,
    kind: "defect",
    report: /ENOMEM/
  },
  {
    name: "a release that fails is not looked at",
    faulty: Effect.flatMap(
      rawDomain,
      ({ context, verbs }) => Effect.acquireRelease(verbs.allocPd(context), (pd) => Effect.ignore(verbs.deallocPd(pd)))
    ),
    corrected: spare,
    kind: "leak",
    report: /ProtectionDomain on host-a/
  },
  {
    name: "releases that fail are only logged",
    faulty: Effect.provideService(Effect.scoped(spare), Resource.OnReleaseFailure, "log"),
    corrected: Effect.scoped(spare),
    kind: "lost error",
    report: /ibv_dealloc_pd failed/
  },
  {
    name: "what cleans up sees typed failures and no interruption",
    faulty: Effect.gen(function*() {
      const scope = yield* Scope.make()
      const opened = yield* Scope.provide(context, scope)
      yield* Effect.tapError(DeviceContext.query(opened), () => Scope.close(scope, Exit.void))
      yield* Scope.close(scope, Exit.void)
    }),
    corrected: Effect.scoped(Effect.flatMap(context, DeviceContext.query)),
    kind: "leak",
    report: /DeviceContext#/
  },
  {
    name: "a fallback is taken where the first try had left something",
    faulty: Effect.gen(function*() {
      const { context, verbs } = yield* rawDomain
      const two = Effect.all([verbs.allocPd(context), verbs.allocPd(context)])
      const [first, second] = yield* two.pipe(
        Effect.catch(() => Effect.map(verbs.allocPd(context), (only) => [only, undefined] as const))
      )
      if (second !== undefined) yield* verbs.deallocPd(second)
      yield* verbs.deallocPd(first)
    }).pipe(Effect.uninterruptible),
    corrected: Effect.flatMap(
      domain,
      ({ context }) =>
        Effect.scoped(Effect.all([ProtectionDomain.alloc(context), ProtectionDomain.alloc(context)])).pipe(
          Effect.catch(() => Effect.scoped(ProtectionDomain.alloc(context)))
        )
    ),
    kind: "leak",
    report: /ProtectionDomain on host-a/
  }
]
