/**
 * A completion of an extended completion queue: what the `ibv_wc_read_…` functions of `ibv_create_cq_ex(3)` tell.
 *
 * @since 0.1.0
 */
import type * as WorkCompletionOpcode from "./WorkCompletionOpcode.ts"
import type * as WorkCompletionStatus from "./WorkCompletionStatus.ts"

/**
 * A completion, copied out. `status`, `wrId` and `vendorErr` always count, `qpNum` when the queue was made with that
 * flag; all others only when `status` is `"success"`, the ones below `wcFlags` only when the queue was made with their
 * flag. `immData` is there when the sender gave one, `invalidatedRkey` when the receive invalidated one.
 *
 * @category models
 * @since 0.1.0
 */
export interface ExtendedCompletion {
  readonly wrId: bigint
  readonly status: WorkCompletionStatus.WorkCompletionStatus
  readonly vendorErr: number
  readonly qpNum?: number
  readonly opcode?: WorkCompletionOpcode.WorkCompletionOpcode
  /** `enum ibv_wc_flags` as it is. */
  readonly wcFlags?: number
  readonly byteLen?: number
  readonly immData?: number
  readonly invalidatedRkey?: number
  readonly srcQp?: number
  readonly slid?: number
  readonly sl?: number
  readonly dlidPathBits?: number
  readonly completionTs?: bigint
  readonly cvlan?: number
  readonly flowTag?: number
  readonly tmInfo?: { readonly tag: bigint; readonly priv: number }
  readonly completionWallclockNs?: bigint
}
