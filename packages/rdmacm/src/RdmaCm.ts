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
import type * as Ece from "@effect-rdma/verbs/Ece"
import type * as Queue from "@effect-rdma/verbs/operations/Queue"
import type * as QueuePairAttributes from "@effect-rdma/verbs/QueuePairAttributes"
import type * as QueuePairType from "@effect-rdma/verbs/QueuePairType"
import type * as SharedReceiveQueueAttributes from "@effect-rdma/verbs/SharedReceiveQueueAttributes"
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as AddressInfoAttributes from "./AddressInfoAttributes.ts"
import type * as CmAddress from "./CmAddress.ts"
import type * as CmEvent from "./CmEvent.ts"
import type * as CmOption from "./CmOption.ts"
import type * as ConnectionParameters from "./ConnectionParameters.ts"
import * as Ffi from "./internal/ffi.ts"
import type * as RSockets from "./operations/RSockets.ts"
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
 * What `struct rdma_cm_id` says. `verbs` is the device that it is bound to, with `portNum`; a `localAddress` is there from
 * binding or resolving on, a `peerAddress` from resolving or a request on. `qp` and `srq` are there when librdmacm made them.
 *
 * @category models
 * @since 0.1.0
 */
export interface IdState {
  readonly channel: Pointer.Pointer<"rdma_event_channel"> | undefined
  readonly verbs: Pointer.Pointer<"ibv_context"> | undefined
  readonly portNum: number
  readonly portSpace: PortSpace.PortSpace | "unknown"
  readonly qpType: QueuePairType.QueuePairType | "unknown"
  readonly localAddress: CmAddress.CmAddress | undefined
  readonly peerAddress: CmAddress.CmAddress | undefined
  readonly numPaths: number
  readonly qp: Pointer.Pointer<"ibv_qp"> | undefined
  readonly srq: Pointer.Pointer<"ibv_srq"> | undefined
  readonly pd: Pointer.Pointer<"ibv_pd"> | undefined
  readonly sendCq: Pointer.Pointer<"ibv_cq"> | undefined
  readonly recvCq: Pointer.Pointer<"ibv_cq"> | undefined
}

/**
 * The id of a request that an endpoint got, and the event that it came with, which the id keeps and acks by itself.
 *
 * @category models
 * @since 0.1.0
 */
export interface EndpointRequest {
  readonly id: Pointer.Pointer<"rdma_cm_id">
  readonly event: CmEvent.CmEvent
}

/**
 * The operations of librdmacm. None waits but these: `awaitCmEvent` and `awaitRequest`, which use no thread and can be
 * interrupted, and `getaddrinfo`, `resolveAddrinfo` and `createEp`, which are on a worker thread until name servers and peers
 * have answered or timed out, and cannot. Those of rsockets say it themselves.
 *
 * librdmacm follows pointers of an id that are NULL before it is bound to a device, or without a queue pair on it: the
 * process ends. The members that do say so; the scoped modules look at {@link IdState} before.
 *
 * @category models
 * @since 0.1.0
 */
export interface Operations extends RSockets.Operations {
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
    source: CmAddress.CmAddress | undefined,
    destination: CmAddress.CmAddress,
    timeoutMillis: number
  ) => Effect.Effect<void, RdmaCmError>
  /** The fields of the struct, which change with the calls on the id and with the events that are got for it. */
  readonly readId: (id: Pointer.Pointer<"rdma_cm_id">) => Effect.Effect<IdState>
  readonly bindAddr: (
    id: Pointer.Pointer<"rdma_cm_id">,
    address: CmAddress.CmAddress
  ) => Effect.Effect<void, RdmaCmError>
  /** Starts it; its end is an event. The id must be bound to a device. */
  readonly resolveRoute: (
    id: Pointer.Pointer<"rdma_cm_id">,
    timeoutMillis: number
  ) => Effect.Effect<void, RdmaCmError>
  /** A backlog of 0 is the most that the host allows. */
  readonly listen: (id: Pointer.Pointer<"rdma_cm_id">, backlog: number) => Effect.Effect<void, RdmaCmError>
  /** Starts it; its end is an event. The id must be bound to a device. */
  readonly connect: (
    id: Pointer.Pointer<"rdma_cm_id">,
    parameters: ConnectionParameters.ConnectionParameters
  ) => Effect.Effect<void, RdmaCmError>
  /** Starts it; its end is an event. The id must be that of a request. */
  readonly accept: (
    id: Pointer.Pointer<"rdma_cm_id">,
    parameters: ConnectionParameters.ConnectionParameters
  ) => Effect.Effect<void, RdmaCmError>
  /** Ends the active side's part when it made its queue pair through verbs, after a `connectResponse`. */
  readonly establish: (id: Pointer.Pointer<"rdma_cm_id">) => Effect.Effect<void, RdmaCmError>
  readonly reject: (
    id: Pointer.Pointer<"rdma_cm_id">,
    privateData: Uint8Array
  ) => Effect.Effect<void, RdmaCmError>
  /** Starts it; its end is an event. The id must be bound to a device. */
  readonly disconnect: (id: Pointer.Pointer<"rdma_cm_id">) => Effect.Effect<void, RdmaCmError>
  /** Rejects because of what `getRemoteEce` told: the other side's reason is `vendorOptionNotSupported`. */
  readonly rejectEce: (
    id: Pointer.Pointer<"rdma_cm_id">,
    privateData: Uint8Array
  ) => Effect.Effect<void, RdmaCmError>
  /** Tells of an event of the queue pair that the connection manager has to know. */
  readonly notify: (
    id: Pointer.Pointer<"rdma_cm_id">,
    event: "commEst" | "pathMig"
  ) => Effect.Effect<void, RdmaCmError>
  /** Puts an event of the program itself onto the id's channel. */
  readonly writeCmEvent: (
    id: Pointer.Pointer<"rdma_cm_id">,
    status: number,
    arg: bigint
  ) => Effect.Effect<void, RdmaCmError>
  /** What a queue pair made through verbs is modified with to get to a state. */
  readonly initQpAttr: (
    id: Pointer.Pointer<"rdma_cm_id">,
    qpState: "init" | "rtr" | "rts"
  ) => Effect.Effect<QueuePairAttributes.Modification, RdmaCmError>
  /** Every event that was got for the id must be acked: it waits for those. */
  readonly migrateId: (
    id: Pointer.Pointer<"rdma_cm_id">,
    channel: Pointer.Pointer<"rdma_event_channel">
  ) => Effect.Effect<void, RdmaCmError>
  readonly setOption: (
    id: Pointer.Pointer<"rdma_cm_id">,
    option: CmOption.CmOption
  ) => Effect.Effect<void, RdmaCmError>
  readonly setLocalEce: (id: Pointer.Pointer<"rdma_cm_id">, ece: Ece.Ece) => Effect.Effect<void, RdmaCmError>
  readonly getRemoteEce: (id: Pointer.Pointer<"rdma_cm_id">) => Effect.Effect<Ece.Ece, RdmaCmError>

  /** Starts it; its end is an event that carries `context`. */
  readonly joinMulticast: (
    id: Pointer.Pointer<"rdma_cm_id">,
    address: CmAddress.CmAddress,
    context: bigint
  ) => Effect.Effect<void, RdmaCmError>
  readonly joinMulticastEx: (
    id: Pointer.Pointer<"rdma_cm_id">,
    address: CmAddress.CmAddress,
    joinFlags: "fullMember" | "sendOnlyFullMember",
    context: bigint
  ) => Effect.Effect<void, RdmaCmError>
  /** The events of the membership must be acked: it waits for those. */
  readonly leaveMulticast: (
    id: Pointer.Pointer<"rdma_cm_id">,
    address: CmAddress.CmAddress
  ) => Effect.Effect<void, RdmaCmError>

  /** `rdma_freeaddrinfo` included: the list is copied and freed at once. */
  readonly getaddrinfo: (
    node: string | undefined,
    service: string | undefined,
    hints: AddressInfoAttributes.Hints
  ) => Effect.Effect<ReadonlyArray<AddressInfoAttributes.AddressInfo>, RdmaCmError>
  /**
   * Starts to look names up for an id; its end is an event. Without the flag `sa` name servers have answered, on a worker
   * thread, when the call returns.
   */
  readonly resolveAddrinfo: (
    id: Pointer.Pointer<"rdma_cm_id">,
    node: string | undefined,
    service: string | undefined,
    hints: AddressInfoAttributes.Hints
  ) => Effect.Effect<void, RdmaCmError>
  /** What `resolveAddrinfo` has found, once; `rdma_freeaddrinfo` included: the list is copied and freed at once. */
  readonly queryAddrinfo: (
    id: Pointer.Pointer<"rdma_cm_id">
  ) => Effect.Effect<ReadonlyArray<AddressInfoAttributes.AddressInfo>, RdmaCmError>

  /**
   * Without a domain it is that of librdmacm for the device, without completion queues they are made. The id must be bound
   * to a device.
   */
  readonly createQp: (
    id: Pointer.Pointer<"rdma_cm_id">,
    pd: Pointer.Pointer<"ibv_pd"> | undefined,
    attributes: Queue.QueuePairInit
  ) => Effect.Effect<Queue.MadeQueuePair, RdmaCmError>
  /** The id must have one that was made on it. */
  readonly destroyQp: (id: Pointer.Pointer<"rdma_cm_id">) => Effect.Effect<void>
  /** The id must be bound to a device. */
  readonly createSrq: (
    id: Pointer.Pointer<"rdma_cm_id">,
    pd: Pointer.Pointer<"ibv_pd"> | undefined,
    attributes: SharedReceiveQueueAttributes.SharedReceiveQueueAttributes
  ) => Effect.Effect<Queue.MadeSharedReceiveQueue, RdmaCmError>
  /** The id must have one that was made on it. */
  readonly destroySrq: (id: Pointer.Pointer<"rdma_cm_id">) => Effect.Effect<void>
  /**
   * An id with a channel of its own, resolved or bound, and with a queue pair when there are attributes for one. Its
   * channel is set to non-blocking: what would wait for an event fails with `EAGAIN` instead, so migrate it.
   */
  readonly createEp: (
    info: AddressInfoAttributes.AddressInfo,
    pd: Pointer.Pointer<"ibv_pd"> | undefined,
    attributes: Queue.QueuePairInit | undefined
  ) => Effect.Effect<Pointer.Pointer<"rdma_cm_id">, RdmaCmError>
  readonly destroyEp: (id: Pointer.Pointer<"rdma_cm_id">) => Effect.Effect<void>
  /** Fails with `EAGAIN` when no request is there. The id must be that of an endpoint which listens. */
  readonly getRequest: (listener: Pointer.Pointer<"rdma_cm_id">) => Effect.Effect<EndpointRequest, RdmaCmError>
  /** Waits until the endpoint's own channel is readable. */
  readonly awaitRequest: (listener: Pointer.Pointer<"rdma_cm_id">) => Effect.Effect<void, RdmaCmError>
}

/**
 * librdmacm, as the service that the scoped modules call.
 *
 * @category services
 * @since 0.1.0
 */
export class RdmaCm extends Context.Service<RdmaCm, Operations>()("@effect-rdma/rdmacm/RdmaCm") {
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
