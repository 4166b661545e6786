/**
 * How a work request ended: `struct ibv_wc` of `ibv_poll_cq(3)`.
 *
 * @since 0.1.0
 */
import * as Resource from "@effect-rdma/core/Resource"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type * as WorkCompletionOpcode from "./WorkCompletionOpcode.ts"
import * as WorkCompletionStatus from "./WorkCompletionStatus.ts"

/**
 * A completion, copied out. One that failed has no more than is in {@link Failed}: everything else in its struct is
 * undefined.
 *
 * ```ts
 * import type { WorkCompletion } from "@effect-rdma/verbs"
 *
 * const lengthOf = (completion: WorkCompletion.WorkCompletion): number =>
 *   completion.status === "success" ? completion.byteLen : 0
 * ```
 *
 * @category models
 * @since 0.1.0
 */
export type WorkCompletion = Succeeded | Failed

/**
 * A request that was carried out. `byteLen` counts what was received, or read from the peer; of other sends it means
 * nothing. `srcQp`, `pkeyIndex`, `slid`, `sl` and `dlidPathBits` tell where a datagram came from.
 *
 * @category models
 * @since 0.1.0
 */
export interface Succeeded {
  readonly wrId: bigint
  readonly status: "success"
  readonly vendorErr: number
  readonly qpNum: number
  readonly opcode: WorkCompletionOpcode.WorkCompletionOpcode
  readonly byteLen: number
  /** What the sender gave with it. */
  readonly immData: number | undefined
  /** The key that the sender invalidated here. */
  readonly invalidatedRkey: number | undefined
  readonly srcQp: number
  /** Whether the first 40 bytes that a datagram came with are its routing header: see `RoutingHeader`. */
  readonly hasGrh: boolean
  readonly pkeyIndex: number
  readonly slid: number
  readonly sl: number
  readonly dlidPathBits: number
}

/**
 * A request that was not, or not wholly, carried out; `vendorErr` is a number of the vendor.
 *
 * @category models
 * @since 0.1.0
 */
export interface Failed {
  readonly wrId: bigint
  readonly status: Exclude<WorkCompletionStatus.WorkCompletionStatus, "success">
  readonly vendorErr: number
  readonly qpNum: number
}

/**
 * A work request that was awaited and failed. The queue pair is then in ERR, or in SQE for a datagram, unless `status` says
 * that it was flushed: then it was there before. `request` is what was asked for: the opcode, or `recv`.
 *
 * @category errors
 * @since 0.1.0
 */
export class WorkCompletionError extends Schema.TaggedError<WorkCompletionError>(
  "@effect-rdma/verbs/WorkCompletionError"
)("WorkCompletionError", {
  request: Schema.String,
  status: WorkCompletionStatus.WorkCompletionStatus,
  vendorErr: Schema.Int,
  wrId: Schema.BigInt,
  qpNum: Schema.Int,
  queuePair: Schema.String
}) {
  override get message() {
    const vendor = this.vendorErr === 0 ? "" : `, vendor error ${this.vendorErr}`
    return `${this.request} on ${this.queuePair} (${this.qpNum}): ${WorkCompletionStatus.format(this.status)}${vendor}`
  }
}

/**
 * The completion of a request that was carried out; one that failed fails, as it does where requests are awaited. `request`
 * and `queuePair` are what it was: the completion does not know.
 *
 * ```ts
 * import { CompletionQueue, WorkCompletion } from "@effect-rdma/verbs"
 * import type { QueuePair } from "@effect-rdma/verbs"
 * import { Effect } from "effect"
 *
 * const received = (queue: CompletionQueue.CompletionQueue, queuePair: QueuePair.QueuePair) =>
 *   CompletionQueue.next(queue, 1).pipe(
 *     Effect.flatMap(([completion]) => WorkCompletion.orFail(completion, "recv", queuePair)),
 *     Effect.map(({ byteLen }) => byteLen)
 *   )
 * ```
 *
 * @category combinators
 * @since 0.1.0
 */
export const orFail = (
  completion: WorkCompletion,
  request: string,
  queuePair: Resource.Any
): Effect.Effect<Succeeded, WorkCompletionError> => {
  if (completion.status === "success") return Effect.succeed(completion)
  const { qpNum, status, vendorErr, wrId } = completion
  return Effect.fail(
    new WorkCompletionError({ request, status, vendorErr, wrId, qpNum, queuePair: Resource.nameOf(queuePair) })
  )
}
