/**
 * The state of a queue pair: `enum ibv_qp_state` of `infiniband/verbs.h`.
 *
 * @since 0.1.0
 */
import * as Enumeration from "@effect-rdma/core/Enumeration"

const enumeration = Enumeration.make("QueuePairState", [
  ["reset", 0, "RESET"],
  ["init", 1, "INIT"],
  ["rtr", 2, "RTR"],
  ["rts", 3, "RTS"],
  ["sqd", 4, "SQD"],
  ["sqe", 5, "SQE"],
  ["err", 6, "ERR"]
])

/**
 * Schema for a state that a queue pair can be put into: ready to receive is `rtr`, ready to send `rts`, send queue
 * drained `sqd`, send queue error `sqe`; `ibv_qp_attr.qp_state`.
 *
 * @category schemas
 * @since 0.1.0
 */
export const QueuePairState = enumeration.schema

/**
 * A state that a queue pair can be put into.
 *
 * @category models
 * @since 0.1.0
 */
export type QueuePairState = typeof QueuePairState.Type

/**
 * Schema for a state that a driver reports.
 *
 * @category schemas
 * @since 0.1.0
 */
export const ReportedQueuePairState = enumeration.reported

/**
 * A state that a driver reports.
 *
 * @category models
 * @since 0.1.0
 */
export type ReportedQueuePairState = typeof ReportedQueuePairState.Type

/**
 * Every state, in the order of its number.
 *
 * @category constants
 * @since 0.1.0
 */
export const all = enumeration.values

/**
 * Reads `enum ibv_qp_state`.
 *
 * @category constructors
 * @since 0.1.0
 */
export const fromNative = enumeration.fromNative

/**
 * The number of a state in `enum ibv_qp_state`.
 *
 * @category getters
 * @since 0.1.0
 */
export const toNative = enumeration.toNative

/**
 * The name of a state in C, such as `"RTS"`.
 *
 * @category getters
 * @since 0.1.0
 */
export const format = enumeration.format
