/**
 * Whether the bytes of a request arrive in the order of their addresses: `ibv_query_qp_data_in_order(3)`.
 *
 * @since 0.1.0
 */
import * as Resource from "@effect-rdma/core/Resource"
import type * as Effect from "effect/Effect"
import type * as QueuePair from "./QueuePair.ts"
import type { VerbsError } from "./VerbsError.ts"
import type * as WorkRequestOpcode from "./WorkRequestOpcode.ts"

/**
 * Whether what a peer writes or sends to a queue pair by an opcode becomes visible in order, so that a program may look
 * at the last byte instead of waiting for a completion. `false` where the provider does not say. Asks no device. Fails with
 * `EOPNOTSUPP` on a libibverbs that is too old for it (before rdma-core 36).
 *
 * @category queries
 * @since 0.1.0
 */
export const query = (
  queuePair: QueuePair.QueuePair,
  opcode: WorkRequestOpcode.WorkRequestOpcode
): Effect.Effect<boolean, VerbsError> =>
  Resource.use(queuePair, (pointer) => queuePair.context.verbs.queryQpDataInOrder(pointer, opcode))
