/**
 * The seam of libibumad: one member per C function, on raw pointers and plain values.
 *
 * Raw means without scopes, children or ledger. Programs use the scoped modules (`UmadLibrary`, `UmadPort`, `UmadCa`,
 * `CaDeviceList`); this is what a mock replaces, what the in-memory fabric implements, and what `layer` binds to the real
 * library.
 *
 * @since 0.1.0
 */
import type * as Identifier from "@effect-rdma/core/Identifier"
import type * as Library from "@effect-rdma/core/Library"
import type * as Pointer from "@effect-rdma/core/Pointer"
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as CaAttributes from "./CaAttributes.ts"
import type * as CaName from "./CaName.ts"
import * as Ffi from "./internal/ffi.ts"
import type * as PortAttributes from "./PortAttributes.ts"
import type { UmadError } from "./UmadError.ts"

/**
 * The linked list of `umad_get_ca_device_list`. No devices is no list: then there is nothing to free.
 *
 * @category models
 * @since 0.1.0
 */
export interface DeviceNodes {
  readonly list: Pointer.Pointer<"umad_device_node"> | undefined
  readonly names: ReadonlyArray<string>
}

/**
 * A filled `umad_ca_t` and its copy.
 *
 * @category models
 * @since 0.1.0
 */
export interface GotCa {
  readonly ca: Pointer.Pointer<"umad_ca">
  readonly attributes: CaAttributes.CaAttributes
}

/**
 * A filled `umad_port_t` and its copy.
 *
 * @category models
 * @since 0.1.0
 */
export interface GotPort {
  readonly port: Pointer.Pointer<"umad_port">
  readonly attributes: PortAttributes.PortAttributes
}

/**
 * The operations of libibumad. Each reads sysfs and blocks the JS thread for it, in the order of 100 µs.
 *
 * @category services
 * @since 0.1.0
 */
export class Umad extends Context.Service<Umad, {
  readonly init: Effect.Effect<void, UmadError>
  readonly done: Effect.Effect<void, UmadError>
  /** The adapters that exist: never the `mthca0` that libibumad invents when there is none. */
  readonly getCasNames: Effect.Effect<ReadonlyArray<string>, UmadError>
  readonly getCaDeviceList: Effect.Effect<DeviceNodes, UmadError>
  readonly freeCaDeviceList: (list: Pointer.Pointer<"umad_device_node">) => Effect.Effect<void>
  /** No name: the first adapter with an active port, else the first with any port. */
  readonly getCa: (
    caName: CaName.CaName | undefined
  ) => Effect.Effect<GotCa, UmadError>
  readonly releaseCa: (ca: Pointer.Pointer<"umad_ca">) => Effect.Effect<void, UmadError>
  /** No name is any adapter, port 0 any port, each a filter on the other: an active port first, else the first. */
  readonly getPort: (
    caName: CaName.CaName | undefined,
    portNum: Identifier.AnyPortNumber
  ) => Effect.Effect<GotPort, UmadError>
  readonly releasePort: (port: Pointer.Pointer<"umad_port">) => Effect.Effect<void, UmadError>
}>()("@effect-rdma/umad/Umad") {
  /** The host's libibumad. Building it loads the library; it fails when none can be found, or one that
   * lacks a function. */
  static readonly layer: Layer.Layer<Umad, Library.LibraryNotFound | Library.SymbolNotFound> = Layer.effect(
    Umad,
    Ffi.make({})
  )

  /** {@link layer} with the path of the library instead of `EFFECT_RDMA_LIBIBUMAD` or `libibumad.so.3`. */
  static readonly layerFromPath = (path: string): Layer.Layer<Umad, Library.LibraryNotFound | Library.SymbolNotFound> =>
    Layer.effect(Umad, Ffi.make({ path }))
}
