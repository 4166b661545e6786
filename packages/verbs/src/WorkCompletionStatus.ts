/**
 * How a work request ended: `enum ibv_wc_status` of `ibv_poll_cq(3)`.
 *
 * @since 0.1.0
 */
import * as Enumeration from "@effect-rdma/core/Enumeration"

const enumeration = Enumeration.make("WorkCompletionStatus", [
  ["success", 0, "success"],
  ["locLenErr", 1, "local length error"],
  ["locQpOpErr", 2, "local QP operation error"],
  ["locEecOpErr", 3, "local EE context operation error"],
  ["locProtErr", 4, "local protection error"],
  ["wrFlushErr", 5, "Work Request Flushed Error"],
  ["mwBindErr", 6, "memory management operation error"],
  ["badRespErr", 7, "bad response error"],
  ["locAccessErr", 8, "local access error"],
  ["remInvReqErr", 9, "remote invalid request error"],
  ["remAccessErr", 10, "remote access error"],
  ["remOpErr", 11, "remote operation error"],
  ["retryExcErr", 12, "transport retry counter exceeded"],
  ["rnrRetryExcErr", 13, "RNR retry counter exceeded"],
  ["locRddViolErr", 14, "local RDD violation error"],
  ["remInvRdReqErr", 15, "remote invalid RD request"],
  ["remAbortErr", 16, "aborted error"],
  ["invEecnErr", 17, "invalid EE context number"],
  ["invEecStateErr", 18, "invalid EE context state"],
  ["fatalErr", 19, "fatal error"],
  ["respTimeoutErr", 20, "response timeout error"],
  ["generalErr", 21, "general error"],
  ["tmErr", 22, "TM error"],
  ["tmRndvIncomplete", 23, "TM software rendezvous"]
], "unknown")

/**
 * The statuses; `"unknown"` stands for one newer than this table.
 *
 * @category schemas
 * @since 0.1.0
 */
export const WorkCompletionStatus = enumeration.reported

/**
 * @category models
 * @since 0.1.0
 */
export type WorkCompletionStatus = typeof WorkCompletionStatus.Type

/**
 * Reads `enum ibv_wc_status`.
 *
 * @category constructors
 * @since 0.1.0
 */
export const fromNative = enumeration.fromNative

/**
 * The number of `enum ibv_wc_status`.
 *
 * @category getters
 * @since 0.1.0
 */
export const toNative = enumeration.toNative

/**
 * The text that `ibv_wc_status_str` prints.
 *
 * @category getters
 * @since 0.1.0
 */
export const format = enumeration.format
