/**
 * A DMA handle: `ibv_alloc_dmah(3)` and `ibv_dealloc_dmah`, of rdma-core 59 or newer.
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
import * as MemoryAttributes from "./MemoryAttributes.ts"
import type { VerbsError } from "./VerbsError.ts"

/**
 * How the device reaches the memory of regions that are made with it, such as into whose cache it writes.
 *
 * @category models
 * @since 0.1.0
 */
export interface DmaHandle extends Resource.Resource<"DmaHandle", Pointer.Pointer<"ibv_dmah">> {
  readonly context: DeviceContext.DeviceContext
  readonly hints: typeof MemoryAttributes.DmaHandle.Type
}

/**
 * Allocates a DMA handle, owned by the scope and released after the regions that were made with it. Fails with
 * `EOPNOTSUPP` where the library, the provider or the device has none, with `EINVAL` for hints that do not go together.
 *
 * ```ts
 * import { DmaHandle } from "@effect-rdma/verbs"
 * import type { DeviceContext } from "@effect-rdma/verbs"
 *
 * const nearFirstCpu = (context: DeviceContext.DeviceContext) =>
 *   DmaHandle.alloc(context, { cpuId: 0, tphMemType: "volatile" })
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const alloc = (
  context: DeviceContext.DeviceContext,
  hints: typeof MemoryAttributes.DmaHandle.Encoded = {}
): Effect.Effect<DmaHandle, VerbsError | Schema.SchemaError, Scope.Scope> => {
  const site = CreationSite.capture(alloc)
  return Effect.flatMap(Schema.decodeEffect(MemoryAttributes.DmaHandle)(hints), (hints) =>
    Resource.make({
      kind: "DmaHandle",
      pair: ["ibv_alloc_dmah", "ibv_dealloc_dmah"],
      site,
      parents: [context],
      goneWithDevice: true,
      acquire: Resource.use(context, (pointer) => context.verbs.allocDmah(pointer, hints)),
      release: context.verbs.deallocDmah,
      fields: () => ({ context, hints })
    }))
}
