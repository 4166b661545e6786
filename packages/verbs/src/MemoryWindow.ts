/**
 * A memory window: `ibv_alloc_mw(3)` and `ibv_dealloc_mw`.
 *
 * @since 0.1.0
 */
import * as CreationSite from "@effect-rdma/core/CreationSite"
import type * as Pointer from "@effect-rdma/core/Pointer"
import * as Resource from "@effect-rdma/core/Resource"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import type * as DeviceContext from "./DeviceContext.ts"
import type * as ProtectionDomain from "./ProtectionDomain.ts"
import type { VerbsError } from "./VerbsError.ts"

/**
 * A window onto memory regions, through which peers reach a part of one by `rkey` once a queue pair has bound it. A bind
 * gives it another `rkey`.
 *
 * @category models
 * @since 0.1.0
 */
export interface MemoryWindow extends Resource.Resource<"MemoryWindow", Pointer.Pointer<"ibv_mw">> {
  readonly context: DeviceContext.DeviceContext
  readonly domain: ProtectionDomain.AnyDomain
  readonly type: WindowType
  readonly handle: number
  readonly rkey: number
}

/**
 * Type 1 is bound by `ibv_bind_mw`, type 2 by a work request of the queue pair, which also can invalidate it.
 *
 * @category schemas
 * @since 0.1.0
 */
export const WindowType = Schema.Literals([1, 2])

/**
 * @category models
 * @since 0.1.0
 */
export type WindowType = typeof WindowType.Type

/**
 * Allocates a window that is bound to nothing, owned by the scope and released before its domain. The regions that it is
 * bound to must outlive it: allocate it after them. Fails with `EOPNOTSUPP` where the provider has none, with `ENOMEM` or
 * `EINVAL` when the device has no more.
 *
 * ```ts
 * import { MemoryWindow } from "@effect-rdma/verbs"
 * import type { ProtectionDomain } from "@effect-rdma/verbs"
 *
 * const window = (domain: ProtectionDomain.ProtectionDomain) => MemoryWindow.alloc(domain, 2)
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const alloc = (
  domain: ProtectionDomain.AnyDomain,
  type: WindowType
): Effect.Effect<MemoryWindow, VerbsError | Schema.SchemaError, Scope.Scope> => {
  const site = CreationSite.capture(alloc)
  return Effect.flatMap(Schema.decodeEffect(WindowType)(type), (type) =>
    Effect.suspend(() => {
      const { context } = domain
      const { allocMw, deallocMw } = context.verbs
      let made: Effect.Success<ReturnType<typeof allocMw>>
      return Resource.make({
        kind: "MemoryWindow",
        pair: ["ibv_alloc_mw", "ibv_dealloc_mw"],
        site,
        parents: [domain],
        goneWithDevice: true,
        acquire: Effect.map(Effect.suspend(() => allocMw(Resource.raw(domain), type)), (window) => {
          made = window
          return window.mw
        }),
        release: deallocMw,
        fields: () => ({ context, domain, type, handle: made.handle, rkey: made.rkey })
      })
    }))
}
