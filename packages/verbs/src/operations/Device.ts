/**
 * The part of the seam of libibverbs for devices and ports.
 *
 * @since 0.1.0
 */
import type * as Gid from "@effect-rdma/core/Gid"
import type * as Guid from "@effect-rdma/core/Guid"
import type * as Identifier from "@effect-rdma/core/Identifier"
import type * as NodeType from "@effect-rdma/core/NodeType"
import type * as PKey from "@effect-rdma/core/PKey"
import type * as Pointer from "@effect-rdma/core/Pointer"
import type * as TransportType from "@effect-rdma/core/TransportType"
import type * as Effect from "effect/Effect"
import type * as DeviceAttributes from "../DeviceAttributes.ts"
import type * as ExtendedDeviceAttributes from "../ExtendedDeviceAttributes.ts"
import type * as ForkSupport from "../ForkSupport.ts"
import type * as GidEntry from "../GidEntry.ts"
import type * as PortAttributes from "../PortAttributes.ts"
import type { VerbsError } from "../VerbsError.ts"
import type * as WorkRequestOpcode from "../WorkRequestOpcode.ts"

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
 * Device lists, contexts, and the queries on them.
 *
 * @category services
 * @since 0.1.0
 */
export interface Operations {
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
  /** The plain attributes and zeroes where the library or its provider has no extended ones. */
  readonly queryDeviceEx: (
    context: Pointer.Pointer<"ibv_context">
  ) => Effect.Effect<ExtendedDeviceAttributes.ExtendedDeviceAttributes, VerbsError>
  readonly queryRtValuesEx: (
    context: Pointer.Pointer<"ibv_context">
  ) => Effect.Effect<ExtendedDeviceAttributes.RealTimeValues, VerbsError>
  readonly queryPort: (
    context: Pointer.Pointer<"ibv_context">,
    portNum: Identifier.PortNumber
  ) => Effect.Effect<PortAttributes.PortAttributes, VerbsError>
  /** In units of 100 Mb/s. */
  readonly queryPortSpeed: (
    context: Pointer.Pointer<"ibv_context">,
    portNum: Identifier.PortNumber
  ) => Effect.Effect<bigint, VerbsError>
  readonly queryGid: (
    context: Pointer.Pointer<"ibv_context">,
    portNum: Identifier.PortNumber,
    index: Identifier.GidIndex
  ) => Effect.Effect<Gid.Gid, VerbsError>
  /** One row of the table, with its type; `ENODATA` where it is empty. */
  readonly queryGidEx: (
    context: Pointer.Pointer<"ibv_context">,
    portNum: Identifier.PortNumber,
    index: Identifier.GidIndex
  ) => Effect.Effect<GidEntry.GidEntry, VerbsError>
  readonly queryGidTable: (
    context: Pointer.Pointer<"ibv_context">
  ) => Effect.Effect<ReadonlyArray<GidEntry.GidEntry>, VerbsError>
  readonly queryPkey: (
    context: Pointer.Pointer<"ibv_context">,
    portNum: Identifier.PortNumber,
    index: Identifier.PKeyIndex
  ) => Effect.Effect<PKey.PKey, VerbsError>
  readonly getPkeyIndex: (
    context: Pointer.Pointer<"ibv_context">,
    portNum: Identifier.PortNumber,
    pkey: PKey.PKey
  ) => Effect.Effect<Identifier.PKeyIndex, VerbsError>

  /** `flags` is 0: whether all of the data, not which parts of it. */
  readonly queryQpDataInOrder: (
    qp: Pointer.Pointer<"ibv_qp">,
    opcode: WorkRequestOpcode.WorkRequestOpcode
  ) => Effect.Effect<boolean, VerbsError>

  /** For the whole process. */
  readonly forkInit: Effect.Effect<void, VerbsError>
  readonly isForkInitialized: Effect.Effect<ForkSupport.ForkStatus, VerbsError>
}
