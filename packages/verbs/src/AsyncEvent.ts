/**
 * What a device reports by itself: `struct ibv_async_event` of `ibv_get_async_event(3)`, copied out and acked.
 *
 * @since 0.1.0
 */
import * as Enumeration from "@effect-rdma/core/Enumeration"
import * as Pointer from "@effect-rdma/core/Pointer"
import * as Resource from "@effect-rdma/core/Resource"

const rows = {
  CompletionQueue: [["cqErr", 0, "CQ error"]],
  QueuePair: [
    ["qpFatal", 1, "local work queue catastrophic error"],
    ["qpReqErr", 2, "invalid request local work queue error"],
    ["qpAccessErr", 3, "local access violation work queue error"],
    ["commEst", 4, "communication established"],
    ["sqDrained", 5, "send queue drained"],
    ["pathMig", 6, "path migrated"],
    ["pathMigErr", 7, "path migration request error"],
    ["qpLastWqeReached", 16, "last WQE reached"]
  ],
  SharedReceiveQueue: [["srqErr", 14, "SRQ catastrophic error"], ["srqLimitReached", 15, "SRQ limit reached"]],
  WorkQueue: [["wqFatal", 19, "WQ fatal"]],
  Device: [["deviceFatal", 8, "local catastrophic error"]],
  Port: [
    ["portActive", 9, "port active"],
    ["portErr", 10, "port error"],
    ["lidChange", 11, "LID change"],
    ["pkeyChange", 12, "P_Key change"],
    ["smChange", 13, "SM change"],
    ["clientReregister", 17, "client reregistration"],
    ["gidChange", 18, "GID table change"],
    ["deviceSpeedChange", 20, "Device speed change"]
  ]
} as const

const enumerations = {
  CompletionQueue: Enumeration.make("AsyncEvent", rows.CompletionQueue),
  QueuePair: Enumeration.make("AsyncEvent", rows.QueuePair),
  SharedReceiveQueue: Enumeration.make("AsyncEvent", rows.SharedReceiveQueue),
  WorkQueue: Enumeration.make("AsyncEvent", rows.WorkQueue),
  Device: Enumeration.make("AsyncEvent", rows.Device),
  Port: Enumeration.make("AsyncEvent", rows.Port)
}

type Names<Of extends keyof typeof rows> = (typeof rows)[Of][number][0]

/**
 * An event: what it is about, its name, and the object by its address, or the port by its number. Compare an address by
 * {@link concerns}, and follow it nowhere. `Unknown` is one newer than this table, with the number of its type.
 *
 * @category models
 * @since 0.1.0
 */
export type AsyncEvent =
  | {
    readonly _tag: "CompletionQueue"
    readonly event: Names<"CompletionQueue">
    readonly pointer: Pointer.Pointer<"ibv_cq">
  }
  | { readonly _tag: "QueuePair"; readonly event: Names<"QueuePair">; readonly pointer: Pointer.Pointer<"ibv_qp"> }
  | {
    readonly _tag: "SharedReceiveQueue"
    readonly event: Names<"SharedReceiveQueue">
    readonly pointer: Pointer.Pointer<"ibv_srq">
  }
  | { readonly _tag: "WorkQueue"; readonly event: Names<"WorkQueue">; readonly pointer: Pointer.Pointer<"ibv_wq"> }
  | { readonly _tag: "Device"; readonly event: Names<"Device"> }
  | { readonly _tag: "Port"; readonly event: Names<"Port">; readonly portNum: number }
  | { readonly _tag: "Unknown"; readonly event: "unknown"; readonly eventType: number }

/**
 * What {@link AsyncEvent} is made of: the number of the type and both readings of the union `element`.
 *
 * @category constructors
 * @since 0.1.0
 */
export const fromNative = (
  { element, eventType, portNum }: { readonly eventType: number; readonly element: bigint; readonly portNum: number }
): AsyncEvent => {
  const port = enumerations.Port.fromNative(eventType)
  if (port !== "unknown") return { _tag: "Port", event: port, portNum }
  const device = enumerations.Device.fromNative(eventType)
  if (device !== "unknown") return { _tag: "Device", event: device }
  if (element === 0n) return { _tag: "Unknown", event: "unknown", eventType }
  const queue = enumerations.CompletionQueue.fromNative(eventType)
  if (queue !== "unknown") return { _tag: "CompletionQueue", event: queue, pointer: Pointer.make(element) }
  const pair = enumerations.QueuePair.fromNative(eventType)
  if (pair !== "unknown") return { _tag: "QueuePair", event: pair, pointer: Pointer.make(element) }
  const shared = enumerations.SharedReceiveQueue.fromNative(eventType)
  if (shared !== "unknown") return { _tag: "SharedReceiveQueue", event: shared, pointer: Pointer.make(element) }
  const work = enumerations.WorkQueue.fromNative(eventType)
  if (work !== "unknown") return { _tag: "WorkQueue", event: work, pointer: Pointer.make(element) }
  return { _tag: "Unknown", event: "unknown", eventType }
}

/**
 * The text that `ibv_event_type_str` prints for the event.
 *
 * @category getters
 * @since 0.1.0
 */
export const format = (self: AsyncEvent): string => texts.get(self.event) ?? "unknown"

/**
 * Whether the event is about a live handle.
 *
 * @category predicates
 * @since 0.1.0
 */
export const concerns = (self: AsyncEvent, handle: Resource.Resource<string, bigint>): boolean =>
  "pointer" in self && Resource.isLive(handle) && Resource.raw(handle) === self.pointer

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

const texts = new Map<string, string>(Object.values(rows).flat().map(([name, , text]) => [name, text]))

/** @internal The number of each event. */
export const eventTypes: ReadonlyMap<string, number> = new Map(
  Object.values(rows).flat().map(([name, native]) => [name, native])
)
