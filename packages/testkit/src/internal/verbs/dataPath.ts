import type * as DataPath from "@effect-rdma/verbs/operations/DataPath"
import type * as WorkCompletion from "@effect-rdma/verbs/WorkCompletion"
import * as Effect from "effect/Effect"
import * as Store from "./completionStore.ts"
import * as Posting from "./posting.ts"
import * as QueuePairError from "./queuePairError.ts"
import { errorOf, type VerbsState } from "./state.ts"

/** Posts and polls of one host. */
export const make = ({ completionQueues, queuePairs, sharedReceiveQueues }: VerbsState): DataPath.Operations => {
  const dataPath: DataPath.DataPath = {
    postSend: (qp, requests) => {
      const call = "ibv_post_send"
      return Posting.sends(call, queuePairs.get(call, qp).object, requests)
    },
    postRecv: (qp, requests) => {
      const call = "ibv_post_recv"
      const { object } = queuePairs.get(call, qp)
      if (requests.length === 0) return nothing
      const { cap, device, receives, srq, state } = object
      const isMlx5 = device.description.provider === "mlx5"
      if (srq !== undefined || (state === "reset" && !isMlx5)) {
        return { count: 0, error: errorOf(call, isMlx5 ? "ENOMEM" : "EINVAL", { state }) }
      }
      const room = { maxWr: cap.maxRecvWr, maxSge: cap.maxRecvSge }
      const posted = Posting.receives(call, device, receives, room, requests)
      QueuePairError.wake(receives)
      // rxe does not look at the ring before it goes to ERR again.
      if (state === "err" && isMlx5) QueuePairError.flushReceives(object)
      return posted
    },
    postSrqRecv: (srq, requests) => {
      const call = "ibv_post_srq_recv"
      const queue = sharedReceiveQueues.get(call, srq)
      const posted = Posting.receives(call, queue.device, queue.receives, queue, requests)
      QueuePairError.wake(queue.receives)
      return posted
    },
    pollCq: (cq, numEntries) => {
      const queue = completionQueues.get("ibv_poll_cq", cq)
      const completions: Array<WorkCompletion.WorkCompletion> = []
      while (completions.length < numEntries) {
        const next = Store.take(queue)
        if (next === undefined) break
        completions.push(Store.plain(next))
      }
      return { completions, error: undefined }
    }
  }
  return { dataPath: Effect.succeed(dataPath) }
}

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

const nothing: DataPath.Posted = { count: 0, error: undefined }
