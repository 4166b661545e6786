/**
 * The part of the seam of libibverbs for work queues, flows, flow actions and counters.
 *
 * @since 0.1.0
 */
import type * as Pointer from "@effect-rdma/core/Pointer"
import type * as Effect from "effect/Effect"
import type * as Counters from "../Counters.ts"
import type * as FlowActionAttributes from "../FlowActionAttributes.ts"
import type * as FlowAttributes from "../FlowAttributes.ts"
import type * as FlowSpecification from "../FlowSpecification.ts"
import type { VerbsError } from "../VerbsError.ts"
import type * as WorkQueueAttributes from "../WorkQueueAttributes.ts"

/**
 * What a work queue is made from.
 *
 * @category models
 * @since 0.1.0
 */
export interface QueueAttributes extends WorkQueueAttributes.WorkQueueAttributes {
  readonly pd: Pointer.Pointer<"ibv_pd">
  readonly cq: Pointer.Pointer<"ibv_cq">
}

/**
 * A work queue as made, with its number and the room that the device gave.
 *
 * @category models
 * @since 0.1.0
 */
export interface MadeWorkQueue {
  readonly wq: Pointer.Pointer<"ibv_wq">
  readonly wqNum: number
  readonly maxWr: number
  readonly maxSge: number
}

/**
 * What a flow is made from, with pointers for handles.
 *
 * @category models
 * @since 0.1.0
 */
export interface RawFlowAttributes extends Omit<FlowAttributes.FlowAttributes, "specs"> {
  readonly specs: ReadonlyArray<FlowSpecification.Raw>
}

/**
 * Which packets arrive where.
 *
 * @category services
 * @since 0.1.0
 */
export interface Operations {
  readonly createWq: (
    context: Pointer.Pointer<"ibv_context">,
    attributes: QueueAttributes
  ) => Effect.Effect<MadeWorkQueue, VerbsError>
  readonly modifyWq: (
    wq: Pointer.Pointer<"ibv_wq">,
    changes: WorkQueueAttributes.WorkQueueChanges
  ) => Effect.Effect<void, VerbsError>
  readonly destroyWq: (wq: Pointer.Pointer<"ibv_wq">) => Effect.Effect<void, VerbsError>
  /** As many work queues as a power of two. */
  readonly createRwqIndTable: (
    context: Pointer.Pointer<"ibv_context">,
    table: ReadonlyArray<Pointer.Pointer<"ibv_wq">>
  ) => Effect.Effect<Pointer.Pointer<"ibv_rwq_ind_table">, VerbsError>
  readonly destroyRwqIndTable: (table: Pointer.Pointer<"ibv_rwq_ind_table">) => Effect.Effect<void, VerbsError>

  readonly createFlow: (
    qp: Pointer.Pointer<"ibv_qp">,
    attributes: RawFlowAttributes
  ) => Effect.Effect<Pointer.Pointer<"ibv_flow">, VerbsError>
  readonly destroyFlow: (flow: Pointer.Pointer<"ibv_flow">) => Effect.Effect<void, VerbsError>
  readonly createFlowActionEsp: (
    context: Pointer.Pointer<"ibv_context">,
    attributes: FlowActionAttributes.FlowActionAttributes
  ) => Effect.Effect<Pointer.Pointer<"ibv_flow_action">, VerbsError>
  readonly modifyFlowActionEsp: (
    action: Pointer.Pointer<"ibv_flow_action">,
    changes: FlowActionAttributes.FlowActionChanges
  ) => Effect.Effect<void, VerbsError>
  readonly destroyFlowAction: (action: Pointer.Pointer<"ibv_flow_action">) => Effect.Effect<void, VerbsError>

  readonly createCounters: (
    context: Pointer.Pointer<"ibv_context">
  ) => Effect.Effect<Pointer.Pointer<"ibv_counters">, VerbsError>
  readonly destroyCounters: (counters: Pointer.Pointer<"ibv_counters">) => Effect.Effect<void, VerbsError>
  readonly attachCountersPointFlow: (
    counters: Pointer.Pointer<"ibv_counters">,
    attributes: Counters.AttachAttributes,
    flow: Pointer.Pointer<"ibv_flow"> | undefined
  ) => Effect.Effect<void, VerbsError>
  readonly readCounters: (
    counters: Pointer.Pointer<"ibv_counters">,
    ncounters: number,
    options: { readonly preferCached: boolean }
  ) => Effect.Effect<ReadonlyArray<bigint>, VerbsError>
}
