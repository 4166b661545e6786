/**
 * A memory window: `ibv_alloc_mw(3)`, `ibv_bind_mw(3)` and `ibv_dealloc_mw`.
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
import * as WindowBinding from "./internal/windowBinding.ts"
import * as MemoryAttributes from "./MemoryAttributes.ts"
import type * as MemoryRegion from "./MemoryRegion.ts"
import type * as ProtectionDomain from "./ProtectionDomain.ts"
import type * as QueuePair from "./QueuePair.ts"
import type { VerbsError } from "./VerbsError.ts"

/**
 * A window onto memory regions, through which peers reach a part of one by `rkey` once a queue pair has bound it. A bind
 * gives it another `rkey`, which {@link bind} writes here.
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
 * Allocates a window that is bound to nothing, owned by the scope and released before its domain. While it is bound to a
 * region, it is released before that one too, and one of type 2 before the queue pair that bound it. Fails with
 * `EOPNOTSUPP` where the provider has none, with `ENOMEM` or `EINVAL` when the device has no more.
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

/**
 * What {@link bind} takes.
 *
 * @category models
 * @since 0.1.0
 */
export type BindOptions = typeof MemoryAttributes.Binding.Encoded & { readonly region: MemoryRegion.MemoryRegion }

/**
 * Posts a request to the queue pair that binds a window of type 1 to a part of a region, in place of what it was bound to:
 * `ibv_bind_mw(3)`. A `length` of 0 unbinds it. Does not block.
 *
 * From then on `rkey` of the window is the new one, peers may use it once the request has completed, and the window is
 * released before the region, whichever scope closes first; no longer so after it was unbound or bound to another region.
 * When the completion tells of a failure, the device still goes by the old key and the old region: keep the region until
 * the window is released, and bind no more.
 *
 * Fails before any call with `EINVAL` for a window of type 2, for handles of different devices, for what is not in the
 * region, and for a region without `mwBind`, or without `localWrite` where peers may write; with `EPERM` when region and
 * window are of different domains. `EINVAL` too for `zeroBased`, which no provider is known to take here, for a queue pair
 * that cannot bind and before RTS where the kernel looks; `ENOMEM` when the send queue is full; `EBUSY` while a batch of
 * the queue pair is built; `EOPNOTSUPP` where the provider has no windows, or cannot bind to such a region.
 *
 * ```ts
 * import { MemoryRegion, MemoryWindow } from "@effect-rdma/verbs"
 * import type { ProtectionDomain, QueuePair } from "@effect-rdma/verbs"
 * import { Effect } from "effect"
 *
 * const readable = Effect.fnUntraced(function*(
 *   domain: ProtectionDomain.ProtectionDomain,
 *   queuePair: QueuePair.QueuePair<"rc">
 * ) {
 *   const region = yield* MemoryRegion.alloc(domain, { length: 8192, access: ["localWrite", "mwBind"] })
 *   const window = yield* MemoryWindow.alloc(domain, 1)
 *   yield* MemoryWindow.bind(window, queuePair, { region, length: 4096, access: ["remoteRead"], flags: ["signaled"] })
 *   return window.rkey
 * })
 * ```
 *
 * @category combinators
 * @since 0.1.0
 */
export const bind = (
  self: MemoryWindow,
  queuePair: QueuePair.QueuePair<"rc" | "uc" | "xrcSend">,
  { region, ...binding }: BindOptions
): Effect.Effect<void, VerbsError | Schema.SchemaError> =>
  Effect.flatMap(
    Schema.decodeEffect(MemoryAttributes.Binding)(binding),
    (binding) => WindowBinding.bind(self, queuePair, region, binding)
  )
