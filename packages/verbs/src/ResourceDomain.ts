/**
 * The resource domain: hardware resources (a doorbell register, unlocked queues) for the queues of one thread.
 *
 * It was born as the experimental `ibv_exp_create_res_domain` of MLNX_OFED; upstream libibverbs expresses the same intent
 * by a thread domain and a parent domain. This module takes the experimental call where the library has it, else the
 * upstream one, and the handle tells which.
 *
 * @since 0.1.0
 */
import * as CreationSite from "@effect-rdma/core/CreationSite"
import type * as Ledger from "@effect-rdma/core/Ledger"
import type * as Pointer from "@effect-rdma/core/Pointer"
import * as Resource from "@effect-rdma/core/Resource"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import * as DeviceContext from "./DeviceContext.ts"
import * as ParentDomain from "./ParentDomain.ts"
import * as ProtectionDomain from "./ProtectionDomain.ts"
import * as ResourceDomainAttributes from "./ResourceDomainAttributes.ts"
import * as ThreadDomain from "./ThreadDomain.ts"
import type { VerbsError } from "./VerbsError.ts"

/**
 * How a domain came to be:
 *
 * - `Experimental`: the library's own resource domain; QPs and CQs take its pointer.
 * - `ThreadDomain`: a thread domain; QPs take a parent domain of it, and CQs take `parentDomain`.
 * - `Shared`: nothing of its own: what `safe` means upstream, and what the hints fall back to when the provider has no
 *   thread domain to give (`refusal`). The library's locks stay on, so every use remains correct.
 *
 * @category models
 * @since 0.1.0
 */
export type Origin =
  | { readonly _tag: "Experimental"; readonly pointer: Pointer.Pointer<"ibv_exp_res_domain"> }
  | {
    readonly _tag: "ThreadDomain"
    readonly threadDomain: ThreadDomain.ThreadDomain
    readonly parentDomain: ParentDomain.ParentDomain
  }
  | { readonly _tag: "Shared"; readonly refusal: VerbsError | undefined }

/**
 * A resource domain. Every queue that takes it is released before it.
 *
 * @category models
 * @since 0.1.0
 */
export interface ResourceDomain extends Resource.Resource<"ResourceDomain", unknown> {
  readonly context: DeviceContext.DeviceContext
  readonly attributes: ResourceDomainAttributes.ResourceDomainAttributes
  readonly origin: Origin
}

/**
 * Makes a resource domain, owned by the scope. Fails with `EOPNOTSUPP` when `forceLowLatency` is asked for and the
 * provider has no way to give a register of its own, and when it is asked for together with `safe` on upstream
 * libraries, where a register comes only with unlocked queues. The hints fail only with `EIO`, when the device is gone: any
 * other refusal of a thread domain makes them `Shared`, and the handle keeps it.
 *
 * ```ts
 * import { ResourceDomain } from "@effect-rdma/verbs"
 * import type { DeviceContext } from "@effect-rdma/verbs"
 *
 * const perThread = (context: DeviceContext.DeviceContext) =>
 *   ResourceDomain.make(context, { threadModel: "single", msgModel: "lowLatency" })
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = (
  context: DeviceContext.DeviceContext,
  attributes: ResourceDomainAttributes.ResourceDomainAttributes = {}
): Effect.Effect<ResourceDomain, VerbsError | Schema.SchemaError, Scope.Scope> => {
  const site = CreationSite.capture(make)
  return Effect.flatMap(
    Effect.suspend(() => decodeAttributes(attributes)),
    (attributes) =>
      experimental(context, attributes, site).pipe(
        Effect.catchReason("VerbsError", "EOPNOTSUPP", (_, error) => upstream(context, attributes, site, error))
      )
  )
}

/**
 * The domain that a QP, SRQ or WQ of `protectionDomain` is created in to belong to the resource domain too: a parent
 * domain of both for a `ThreadDomain`, else the protection domain itself. Owned by the scope. Fails with `EINVAL` when the
 * two are of different devices.
 *
 * @category combinators
 * @since 0.1.0
 */
export const domainFor = (
  self: ResourceDomain,
  protectionDomain: ProtectionDomain.ProtectionDomain
): Effect.Effect<ProtectionDomain.AnyDomain, VerbsError, Scope.Scope> => {
  const domain: Effect.Effect<ProtectionDomain.AnyDomain, VerbsError, Scope.Scope> = self.origin._tag === "ThreadDomain"
    ? ParentDomain.alloc(protectionDomain, self.origin.threadDomain)
    : Effect.succeed(protectionDomain)
  return Resource.use(
    self,
    () =>
      Resource.use(
        protectionDomain,
        () => Effect.andThen(DeviceContext.ensureSame("ibv_alloc_parent_domain", self, protectionDomain), domain)
      )
  )
}

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

const decodeAttributes = Schema.decodeEffect(ResourceDomainAttributes.ResourceDomainAttributes)

const experimental = (
  context: DeviceContext.DeviceContext,
  attributes: ResourceDomainAttributes.ResourceDomainAttributes,
  site: CreationSite.CreationSite | undefined
): Effect.Effect<ResourceDomain, VerbsError, Scope.Scope> => {
  const { expCreateResDomain, expDestroyResDomain } = context.verbs
  return Resource.make({
    kind: "ResourceDomain",
    pair: ["ibv_exp_create_res_domain", "ibv_exp_destroy_res_domain"],
    site,
    parents: [context],
    goneWithDevice: true,
    acquire: Effect.suspend(() => {
      const owner = Resource.raw(context)
      return Effect.map(expCreateResDomain(owner, attributes), (pointer) => ({ owner, pointer }))
    }),
    release: ({ owner, pointer }) => expDestroyResDomain(owner, pointer),
    fields: ({ pointer }) => ({ context, attributes, origin: { _tag: "Experimental", pointer } as const })
  })
}

const upstream = (
  context: DeviceContext.DeviceContext,
  attributes: ResourceDomainAttributes.ResourceDomainAttributes,
  site: CreationSite.CreationSite | undefined,
  unsupported: VerbsError
): Effect.Effect<ResourceDomain, VerbsError, Scope.Scope> => {
  const { msgModel, threadModel } = attributes
  const isLocked = threadModel === undefined || threadModel === "safe"
  const view = (parent: Resource.Any, pair: Ledger.Pair, origin: Origin) =>
    Resource.make({
      kind: "ResourceDomain",
      pair,
      site,
      parents: [parent],
      ownership: "borrowed",
      acquire: Effect.succeed(origin),
      release: () => Effect.void,
      fields: (origin) => ({ context, attributes, origin })
    })
  const shared = (refusal: VerbsError | undefined) => view(context, DeviceContext.pair, { _tag: "Shared", refusal })
  const owned = Effect.flatMap(
    threadDomain(context),
    (origin) => view(origin.parentDomain, ParentDomain.pair, origin)
  )
  if (msgModel === "forceLowLatency") return isLocked ? Effect.fail(unsupported) : owned
  return isLocked
    ? shared(undefined)
    : Effect.catchTag(
      owned,
      "VerbsError",
      (refusal) => refusal.reason._tag === "EIO" ? Effect.fail(refusal) : shared(refusal)
    )
}

// All parts or none: what a failure leaves half made is released before the fallback is taken.
const threadDomain = Effect.fnUntraced(function*(context: DeviceContext.DeviceContext) {
  const scope = yield* Scope.fork(yield* Effect.scope)
  return yield* Effect.gen(function*() {
    const threadDomain = yield* ThreadDomain.alloc(context)
    const protectionDomain = yield* ProtectionDomain.alloc(context)
    const parentDomain = yield* ParentDomain.alloc(protectionDomain, threadDomain)
    return { _tag: "ThreadDomain", threadDomain, parentDomain } as const
  }).pipe(Scope.provide(scope), Effect.onError((cause) => Scope.close(scope, Exit.failCause(cause))))
})
