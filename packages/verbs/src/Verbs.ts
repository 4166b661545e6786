/**
 * The seam of libibverbs: one member per C function, on raw pointers and plain values.
 *
 * Raw means without scopes, children or ledger. Programs use the scoped modules (`DeviceContext`, `ProtectionDomain`,
 * `AddressHandle`, …); this is what a mock replaces, what the in-memory fabric implements, and what `layer` binds to the
 * real library.
 *
 * @since 0.1.0
 */
import type * as Gid from "@effect-rdma/core/Gid"
import type * as Guid from "@effect-rdma/core/Guid"
import type * as Identifier from "@effect-rdma/core/Identifier"
import type * as Library from "@effect-rdma/core/Library"
import type * as NodeType from "@effect-rdma/core/NodeType"
import type * as PKey from "@effect-rdma/core/PKey"
import type * as Pointer from "@effect-rdma/core/Pointer"
import type * as TransportType from "@effect-rdma/core/TransportType"
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as AddressHandleAttributes from "./AddressHandleAttributes.ts"
import type * as DeviceAttributes from "./DeviceAttributes.ts"
import type * as GidEntry from "./GidEntry.ts"
import * as Ffi from "./internal/ffi.ts"
import type * as PortAttributes from "./PortAttributes.ts"
import type * as ReceivedDatagram from "./ReceivedDatagram.ts"
import type * as ResourceDomainAttributes from "./ResourceDomainAttributes.ts"
import type { VerbsError } from "./VerbsError.ts"

/**
 * `struct ibv_device` as read when the list was made; `index` is -1 where the kernel gives none.
 *
 * @category models
 * @since 0.1.0
 */
export interface ListedDevice {
  readonly pointer: Pointer.Pointer<"ibv_device">
  readonly name: string
  readonly nodeType: NodeType.NodeType
  readonly transportType: TransportType.TransportType
  readonly guid: Guid.Guid
  readonly index: number
}

/**
 * The NULL-terminated array of `ibv_get_device_list` and what it listed.
 *
 * @category models
 * @since 0.1.0
 */
export interface DeviceArray {
  readonly list: Pointer.Pointer<"ibv_device *">
  readonly devices: ReadonlyArray<ListedDevice>
}

/**
 * The operations of libibverbs. Each blocks the JS thread for its system call, in the order of µs to ms.
 *
 * @category services
 * @since 0.1.0
 */
export class Verbs extends Context.Service<Verbs, {
  readonly getDeviceList: Effect.Effect<DeviceArray, VerbsError>
  readonly freeDeviceList: (list: Pointer.Pointer<"ibv_device *">) => Effect.Effect<void>
  readonly openDevice: (
    device: Pointer.Pointer<"ibv_device">
  ) => Effect.Effect<Pointer.Pointer<"ibv_context">, VerbsError>
  readonly closeDevice: (context: Pointer.Pointer<"ibv_context">) => Effect.Effect<void, VerbsError>
  readonly getDeviceName: (context: Pointer.Pointer<"ibv_context">) => Effect.Effect<string>

  readonly queryDevice: (
    context: Pointer.Pointer<"ibv_context">
  ) => Effect.Effect<DeviceAttributes.DeviceAttributes, VerbsError>
  readonly queryPort: (
    context: Pointer.Pointer<"ibv_context">,
    portNum: Identifier.PortNumber
  ) => Effect.Effect<PortAttributes.PortAttributes, VerbsError>
  readonly queryGid: (
    context: Pointer.Pointer<"ibv_context">,
    portNum: Identifier.PortNumber,
    index: Identifier.GidIndex
  ) => Effect.Effect<Gid.Gid, VerbsError>
  readonly queryGidTable: (
    context: Pointer.Pointer<"ibv_context">
  ) => Effect.Effect<ReadonlyArray<GidEntry.GidEntry>, VerbsError>
  readonly queryPkey: (
    context: Pointer.Pointer<"ibv_context">,
    portNum: Identifier.PortNumber,
    index: Identifier.PKeyIndex
  ) => Effect.Effect<PKey.PKey, VerbsError>

  readonly allocPd: (context: Pointer.Pointer<"ibv_context">) => Effect.Effect<Pointer.Pointer<"ibv_pd">, VerbsError>
  readonly deallocPd: (pd: Pointer.Pointer<"ibv_pd">) => Effect.Effect<void, VerbsError>
  readonly allocTd: (context: Pointer.Pointer<"ibv_context">) => Effect.Effect<Pointer.Pointer<"ibv_td">, VerbsError>
  readonly deallocTd: (td: Pointer.Pointer<"ibv_td">) => Effect.Effect<void, VerbsError>
  /** Released by `deallocPd`, since it is a PD in C. */
  readonly allocParentDomain: (
    context: Pointer.Pointer<"ibv_context">,
    attributes: { readonly pd: Pointer.Pointer<"ibv_pd">; readonly td: Pointer.Pointer<"ibv_td"> | undefined }
  ) => Effect.Effect<Pointer.Pointer<"ibv_pd">, VerbsError>

  readonly createAh: (
    pd: Pointer.Pointer<"ibv_pd">,
    attributes: AddressHandleAttributes.AddressHandleAttributes
  ) => Effect.Effect<Pointer.Pointer<"ibv_ah">, VerbsError>
  readonly destroyAh: (ah: Pointer.Pointer<"ibv_ah">) => Effect.Effect<void, VerbsError>
  readonly initAhFromWc: (
    context: Pointer.Pointer<"ibv_context">,
    portNum: Identifier.PortNumber,
    received: ReceivedDatagram.ReceivedDatagram
  ) => Effect.Effect<AddressHandleAttributes.AddressHandleAttributes, VerbsError>
  readonly createAhFromWc: (
    pd: Pointer.Pointer<"ibv_pd">,
    portNum: Identifier.PortNumber,
    received: ReceivedDatagram.ReceivedDatagram
  ) => Effect.Effect<Pointer.Pointer<"ibv_ah">, VerbsError>

  /** Experimental: only where the library is MLNX_OFED's, else `EOPNOTSUPP`. */
  readonly expCreateResDomain: (
    context: Pointer.Pointer<"ibv_context">,
    attributes: ResourceDomainAttributes.ResourceDomainAttributes
  ) => Effect.Effect<Pointer.Pointer<"ibv_exp_res_domain">, VerbsError>
  readonly expDestroyResDomain: (
    context: Pointer.Pointer<"ibv_context">,
    domain: Pointer.Pointer<"ibv_exp_res_domain">
  ) => Effect.Effect<void, VerbsError>
}>()("@effect-rdma/verbs/Verbs") {
  /**
   * The host's libibverbs. Building it loads the library; it fails only when none can be found. Whether the kernel has
   * RDMA is told by the first call.
   */
  static readonly layer: Layer.Layer<Verbs, Library.LibraryNotFound> = Layer.effect(Verbs, Ffi.make({}))

  /** {@link layer} with the path of the library instead of `EFFECT_RDMA_LIBIBVERBS` or `libibverbs.so.1`. */
  static readonly layerFromPath = (path: string): Layer.Layer<Verbs, Library.LibraryNotFound> =>
    Layer.effect(Verbs, Ffi.make({ path }))
}
