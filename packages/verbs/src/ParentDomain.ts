/**
 * A parent domain: `ibv_alloc_parent_domain(3)`, released by `ibv_dealloc_pd`.
 *
 * @since 0.1.0
 */
import * as CreationSite from "@effect-rdma/core/CreationSite"
import type * as Pointer from "@effect-rdma/core/Pointer"
import * as Resource from "@effect-rdma/core/Resource"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as DeviceContext from "./DeviceContext.ts"
import type * as ProtectionDomain from "./ProtectionDomain.ts"
import type * as ThreadDomain from "./ThreadDomain.ts"
import type { VerbsError } from "./VerbsError.ts"

/**
 * A protection domain bound to a thread domain. It stands wherever C takes a PD, and is kept apart from one here,
 * because it must go before both of its parts.
 *
 * @category models
 * @since 0.1.0
 */
export interface ParentDomain extends Resource.Resource<"ParentDomain", Pointer.Pointer<"ibv_pd">> {
  readonly context: DeviceContext.DeviceContext
  readonly protectionDomain: ProtectionDomain.ProtectionDomain
  readonly threadDomain: ThreadDomain.ThreadDomain | undefined
}

/**
 * Binds a protection domain to a thread domain, if one is given. Owned by the scope, and released before both. Fails
 * with `EOPNOTSUPP` where the provider has none, with `EINVAL` before the call when the two are of different devices.
 *
 * @category constructors
 * @since 0.1.0
 */
export const alloc = (
  protectionDomain: ProtectionDomain.ProtectionDomain,
  threadDomain?: ThreadDomain.ThreadDomain
): Effect.Effect<ParentDomain, VerbsError, Scope.Scope> =>
  Resource.make({
    kind: "ParentDomain",
    pair,
    site: CreationSite.capture(alloc),
    parents: threadDomain === undefined ? [protectionDomain] : [protectionDomain, threadDomain],
    goneWithDevice: true,
    acquire: acquire(protectionDomain, threadDomain),
    release: protectionDomain.context.verbs.deallocPd,
    fields: () => ({ context: protectionDomain.context, protectionDomain, threadDomain })
  })

/** @internal */
export const pair = ["ibv_alloc_parent_domain", "ibv_dealloc_pd"] as const

/** @internal */
export const acquire = (
  protectionDomain: ProtectionDomain.ProtectionDomain,
  threadDomain: ThreadDomain.ThreadDomain | undefined
): Effect.Effect<Pointer.Pointer<"ibv_pd">, VerbsError> =>
  Effect.andThen(
    threadDomain === undefined
      ? Effect.void
      : DeviceContext.ensureSame("ibv_alloc_parent_domain", protectionDomain, threadDomain),
    Effect.suspend(() => {
      const { context } = protectionDomain
      return context.verbs.allocParentDomain(Resource.raw(context), {
        pd: Resource.raw(protectionDomain),
        td: threadDomain === undefined ? undefined : Resource.raw(threadDomain)
      })
    })
  )
