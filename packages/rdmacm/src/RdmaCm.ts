/**
 * The seam of librdmacm: one member per C function, on raw pointers and plain values.
 *
 * Raw means without scopes, children or ledger. Programs use the scoped modules (`EventChannel`, `CmId`, `RdmaDevices`);
 * this is what a mock replaces, what the in-memory fabric implements, and what `layer` binds to the real library.
 *
 * @since 0.1.0
 */
import type * as Library from "@effect-rdma/core/Library"
import type * as Pointer from "@effect-rdma/core/Pointer"
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as NetAddress from "effect/net/NetAddress"
import type * as CmEvent from "./CmEvent.ts"
import * as Ffi from "./internal/ffi.ts"
import type * as PortSpace from "./PortSpace.ts"
import type { RdmaCmError } from "./RdmaCmError.ts"

/**
 * The NULL-terminated array of `rdma_get_devices`. The contexts stay open after the array is freed. No devices is no
 * array: then there is nothing to free.
 *
 * @category models
 * @since 0.1.0
 */
export interface ContextArray {
  readonly list: Pointer.Pointer<"ibv_context *"> | undefined
  readonly contexts: ReadonlyArray<Pointer.Pointer<"ibv_context">>
}

/**
 * An event that must be acked, and its copy.
 *
 * @category models
 * @since 0.1.0
 */
export interface UnackedEvent {
  readonly pointer: Pointer.Pointer<"rdma_cm_event">
  readonly event: CmEvent.CmEvent
}

/**
 * The operations of librdmacm. None waits, but `awaitCmEvent`, which uses no thread and can be interrupted.
 *
 * @category services
 * @since 0.1.0
 */
export class RdmaCm extends Context.Service<RdmaCm, {
  readonly getDevices: Effect.Effect<ContextArray, RdmaCmError>
  readonly freeDevices: (list: Pointer.Pointer<"ibv_context *">) => Effect.Effect<void>

  /** The channel's descriptor is set to non-blocking. */
  readonly createEventChannel: Effect.Effect<Pointer.Pointer<"rdma_event_channel">, RdmaCmError>
  readonly destroyEventChannel: (channel: Pointer.Pointer<"rdma_event_channel">) => Effect.Effect<void>
  /** Fails with `EAGAIN` when no event is there. */
  readonly getCmEvent: (channel: Pointer.Pointer<"rdma_event_channel">) => Effect.Effect<UnackedEvent, RdmaCmError>
  /** Cannot fail: it refuses NULL only. */
  readonly ackCmEvent: (event: Pointer.Pointer<"rdma_cm_event">) => Effect.Effect<void>
  /** Waits until the channel's descriptor is readable. */
  readonly awaitCmEvent: (channel: Pointer.Pointer<"rdma_event_channel">) => Effect.Effect<void, RdmaCmError>

  readonly createId: (
    channel: Pointer.Pointer<"rdma_event_channel">,
    portSpace: PortSpace.PortSpace
  ) => Effect.Effect<Pointer.Pointer<"rdma_cm_id">, RdmaCmError>
  readonly destroyId: (id: Pointer.Pointer<"rdma_cm_id">) => Effect.Effect<void, RdmaCmError>
  /** Starts the resolution; its end is an event on the id's channel. */
  readonly resolveAddr: (
    id: Pointer.Pointer<"rdma_cm_id">,
    source: NetAddress.InetAddress | undefined,
    destination: NetAddress.InetAddress,
    timeoutMillis: number
  ) => Effect.Effect<void, RdmaCmError>
}>()("@effect-rdma/rdmacm/RdmaCm") {
  /**
   * The host's librdmacm. Building it loads the library; it fails when none can be found, or one that
   * lacks a function. Whether the kernel has
   * RDMA is told by the first call.
   */
  static readonly layer: Layer.Layer<RdmaCm, Library.LibraryNotFound | Library.SymbolNotFound> = Layer.effect(
    RdmaCm,
    Ffi.make({})
  )

  /** {@link layer} with the path of the library instead of `EFFECT_RDMA_LIBRDMACM` or `librdmacm.so.1`. */
  static readonly layerFromPath = (
    path: string
  ): Layer.Layer<RdmaCm, Library.LibraryNotFound | Library.SymbolNotFound> => Layer.effect(RdmaCm, Ffi.make({ path }))
}
