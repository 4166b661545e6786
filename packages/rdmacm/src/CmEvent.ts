/**
 * What the connection manager reports: `struct rdma_cm_event` of `rdma_get_cm_event(3)`, copied out.
 *
 * @since 0.1.0
 */
import * as Enumeration from "@effect-rdma/core/Enumeration"
import type * as Pointer from "@effect-rdma/core/Pointer"
import type * as ConnectionParameters from "./ConnectionParameters.ts"

const enumeration = Enumeration.make("CmEventType", [
  ["addrResolved", 0, "RDMA_CM_EVENT_ADDR_RESOLVED"],
  ["addrError", 1, "RDMA_CM_EVENT_ADDR_ERROR"],
  ["routeResolved", 2, "RDMA_CM_EVENT_ROUTE_RESOLVED"],
  ["routeError", 3, "RDMA_CM_EVENT_ROUTE_ERROR"],
  ["connectRequest", 4, "RDMA_CM_EVENT_CONNECT_REQUEST"],
  ["connectResponse", 5, "RDMA_CM_EVENT_CONNECT_RESPONSE"],
  ["connectError", 6, "RDMA_CM_EVENT_CONNECT_ERROR"],
  ["unreachable", 7, "RDMA_CM_EVENT_UNREACHABLE"],
  ["rejected", 8, "RDMA_CM_EVENT_REJECTED"],
  ["established", 9, "RDMA_CM_EVENT_ESTABLISHED"],
  ["disconnected", 10, "RDMA_CM_EVENT_DISCONNECTED"],
  ["deviceRemoval", 11, "RDMA_CM_EVENT_DEVICE_REMOVAL"],
  ["multicastJoin", 12, "RDMA_CM_EVENT_MULTICAST_JOIN"],
  ["multicastError", 13, "RDMA_CM_EVENT_MULTICAST_ERROR"],
  ["addrChange", 14, "RDMA_CM_EVENT_ADDR_CHANGE"],
  ["timewaitExit", 15, "RDMA_CM_EVENT_TIMEWAIT_EXIT"],
  ["addrinfoResolved", 16, "RDMA_CM_EVENT_ADDRINFO_RESOLVED"],
  ["addrinfoError", 17, "RDMA_CM_EVENT_ADDRINFO_ERROR"],
  ["user", 18, "RDMA_CM_EVENT_USER"]
], "UNKNOWN EVENT")

/**
 * The kinds of events; `"unknown"` stands for one newer than this table.
 *
 * @category schemas
 * @since 0.1.0
 */
export const CmEventType = enumeration.reported

/**
 * The type of {@link CmEventType}.
 *
 * @category models
 * @since 0.1.0
 */
export type CmEventType = typeof CmEventType.Type

/**
 * Reads `enum rdma_cm_event_type`.
 *
 * @category constructors
 * @since 0.1.0
 */
export const typeFromNative = enumeration.fromNative

/**
 * The name that `rdma_event_str` prints.
 *
 * @category getters
 * @since 0.1.0
 */
export const formatType = enumeration.format

/**
 * An event that was copied out and acked. `id` names the CM id, by its address: compare it with the id that you hold, and
 * follow it nowhere. `status` is 0, a negative errno for the error events, or a reject reason.
 *
 * Of the optional parts, those are there that the event has in C: `listenId` and an `id` that is new and the receiver's to
 * destroy in a `connectRequest`; `conn` in a `connectRequest`, `connectResponse`, `established`, `rejected` and
 * `disconnected` of a connection; `ud` in a `connectRequest` and `established` of a datagram id, and in a `multicastJoin`;
 * `multicastContext`, which was given to join, in a `multicastJoin` and `multicastError`; `arg`, which was given to
 * `CmId.writeEvent`, in a `user`.
 *
 * @category models
 * @since 0.1.0
 */
export interface CmEvent {
  readonly event: CmEventType
  readonly status: number
  readonly id: Pointer.Pointer<"rdma_cm_id">
  readonly listenId?: Pointer.Pointer<"rdma_cm_id">
  readonly conn?: ConnectionParameters.ConnectionParameters
  readonly ud?: ConnectionParameters.DatagramParameters
  readonly multicastContext?: bigint
  readonly arg?: bigint
}
