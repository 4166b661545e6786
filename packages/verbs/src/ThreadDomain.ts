/**
 * A thread domain: `ibv_alloc_td(3)` and `ibv_dealloc_td`.
 *
 * @since 0.1.0
 */
import * as CreationSite from "@effect-rdma/core/CreationSite"
import type * as Pointer from "@effect-rdma/core/Pointer"
import * as Resource from "@effect-rdma/core/Resource"
import type * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type * as DeviceContext from "./DeviceContext.ts"
import type { VerbsError } from "./VerbsError.ts"

/**
 * A promise that the objects made under it (through a parent domain) are used by one thread at a time.
 *
 * @category models
 * @since 0.1.0
 */
export interface ThreadDomain extends Resource.Resource<"ThreadDomain", Pointer.Pointer<"ibv_td">> {
  readonly context: DeviceContext.DeviceContext
}

/**
 * Allocates a thread domain, owned by the scope. Fails with `EOPNOTSUPP` where the provider has none, as Soft-RoCE.
 *
 * @category constructors
 * @since 0.1.0
 */
export const alloc = (context: DeviceContext.DeviceContext): Effect.Effect<ThreadDomain, VerbsError, Scope.Scope> =>
  Resource.make({
    kind: "ThreadDomain",
    pair: ["ibv_alloc_td", "ibv_dealloc_td"],
    site: CreationSite.capture(alloc),
    parents: [context],
    goneWithDevice: true,
    acquire: Resource.use(context, context.verbs.allocTd),
    release: context.verbs.deallocTd,
    fields: () => ({ context })
  })
