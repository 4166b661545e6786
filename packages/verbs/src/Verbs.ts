/**
 * The seam of libibverbs: one member per C function, on raw pointers and plain values.
 *
 * Raw means without scopes, children or ledger. Programs use the scoped modules (`DeviceContext`, `ProtectionDomain`,
 * `AddressHandle`, …); this is what a mock replaces, what the in-memory fabric implements, and what `layer` binds to the
 * real library.
 *
 * @since 0.1.0
 */
import type * as Library from "@effect-rdma/core/Library"
import * as Context from "effect/Context"
import * as Layer from "effect/Layer"
import * as Ffi from "./internal/ffi.ts"
import type * as Address from "./operations/Address.ts"
import type * as Completion from "./operations/Completion.ts"
import type * as CompletionCounter from "./operations/CompletionCounter.ts"
import type * as DataPath from "./operations/DataPath.ts"
import type * as Device from "./operations/Device.ts"
import type * as Domain from "./operations/Domain.ts"
import type * as Events from "./operations/Events.ts"
import type * as Memory from "./operations/Memory.ts"
import type * as Queue from "./operations/Queue.ts"
import type * as Steering from "./operations/Steering.ts"

/**
 * The operations of libibverbs, in one interface for each family of objects. Each blocks the JS thread for its system
 * call, in the order of µs to ms; the two that can take longer, `openDevice` and `createAh`, say so on their scoped modules.
 *
 * @category models
 * @since 0.1.0
 */
export interface Operations
  extends
    Device.Operations,
    Domain.Operations,
    Address.Operations,
    Memory.Operations,
    Completion.Operations,
    CompletionCounter.Operations,
    Events.Operations,
    Steering.Operations,
    Queue.Operations,
    DataPath.Operations
{}

/**
 * libibverbs as a service.
 *
 * @category services
 * @since 0.1.0
 */
export class Verbs extends Context.Service<Verbs, Operations>()("@effect-rdma/verbs/Verbs") {
  /**
   * The host's libibverbs. Building it loads the library; it fails when none can be found, or one that
   * lacks a function. Whether the kernel has
   * RDMA is told by the first call.
   */
  static readonly layer: Layer.Layer<Verbs, Library.LibraryNotFound | Library.SymbolNotFound> = Layer.effect(
    Verbs,
    Ffi.make({})
  )

  /** {@link layer} with the path of the library instead of `EFFECT_RDMA_LIBIBVERBS` or `libibverbs.so.1`. */
  static readonly layerFromPath = (
    path: string
  ): Layer.Layer<Verbs, Library.LibraryNotFound | Library.SymbolNotFound> => Layer.effect(Verbs, Ffi.make({ path }))
}
