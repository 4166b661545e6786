/**
 * Posting to the queues of a queue pair and to shared receive queues: checked, noted and posted in one turn.
 *
 * @since 0.1.0
 */
import * as Resource from "@effect-rdma/core/Resource"
import * as Effect from "effect/Effect"
import type * as DeviceContext from "../DeviceContext.ts"
import type * as DataPath from "../operations/DataPath.ts"
import type * as QueuePair from "../QueuePair.ts"
import type { SharedReceiveQueue } from "../SharedReceiveQueue.ts"
import type { VerbsError } from "../VerbsError.ts"
import type * as WorkRequest from "../WorkRequest.ts"
import { withDataPath } from "./dataPath.ts"
import * as Work from "./queuePairWork.ts"
import * as RequestQueue from "./requestQueue.ts"
import * as WindowBinding from "./windowBinding.ts"
import * as Codec from "./workRequest.ts"

/**
 * Posts sends, and gives the error of the first that was not posted. Throws what is refused: then none was. One that is
 * `awaited` has waited for its room.
 */
export const send = (
  self: QueuePair.QueuePair,
  dataPath: DataPath.DataPath,
  requests: ReadonlyArray<WorkRequest.SendRequest>,
  awaited?: RequestQueue.Awaited
): VerbsError | undefined => {
  const call = "ibv_post_send"
  const qp = Resource.raw(self)
  const { work } = self
  Work.ensureSending(call, self)
  if (awaited === undefined) Work.ensureRoom(call, work.sends, requests.length)
  const native = Codec.encodeSends(self, requests)
  const { count, error } = begun(work.sends, native, awaited, work, dataPath.postSend, qp)
  for (let index = 0; index < count; index++) {
    const request = requests[index]!
    if (request.opcode === "bindMw") WindowBinding.bound(self, request.bind)
  }
  return error
}

/** As {@link send}, for receives. */
export const receive = (
  self: QueuePair.QueuePair,
  dataPath: DataPath.DataPath,
  requests: ReadonlyArray<WorkRequest.ReceiveRequest>,
  awaited?: RequestQueue.Awaited
): VerbsError | undefined => {
  const call = "ibv_post_recv"
  const qp = Resource.raw(self)
  const { work } = self
  Work.ensureReceiving(call, self)
  if (awaited === undefined) Work.ensureRoom(call, work.receives, requests.length)
  const native = Codec.encodeReceives(call, self, requests, self.cap.maxRecvSge)
  return begun(work.receives, native, awaited, everyOne, dataPath.postRecv, qp).error
}

/** As {@link receive}, for those of many queue pairs. */
export const receiveShared = (
  self: SharedReceiveQueue,
  dataPath: DataPath.DataPath,
  requests: ReadonlyArray<WorkRequest.ReceiveRequest>
): VerbsError | undefined => {
  const call = "ibv_post_srq_recv"
  const srq = Resource.raw(self)
  Work.ensureRoom(call, self.receives, requests.length)
  const native = Codec.encodeReceives(call, self, requests, self.maxSge)
  return begun(self.receives, native, undefined, everyOne, dataPath.postSrqRecv, srq).error
}

/** Posts in one turn. */
export const post = (
  { context }: { readonly context: DeviceContext.DeviceContext },
  run: (dataPath: DataPath.DataPath) => VerbsError | undefined
): Effect.Effect<void, VerbsError> =>
  withDataPath(context, (dataPath) => {
    const error = run(dataPath)
    return error === undefined ? Effect.void : Effect.fail(error)
  })

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

/** Every receive has a completion. */
const everyOne = { signalsAll: true }

/** Numbers requests and posts them. Those that were not posted give their places back, also when it throws. */
const begun = <
  Raw,
  Request extends Codec.Numbered<DataPath.ReceiveRequest> & Pick<Partial<DataPath.SendRequest>, "flags">
>(
  queue: RequestQueue.RequestQueue,
  native: ReadonlyArray<Request>,
  awaited: RequestQueue.Awaited | undefined,
  signals: Pick<Work.Work, "signalsAll">,
  postNative: (raw: Raw, native: ReadonlyArray<Request>) => DataPath.Posted,
  raw: Raw
): DataPath.Posted => {
  let numbered = 0
  let count = 0
  try {
    for (const request of native) {
      request.wrId = RequestQueue.begin(queue, awaited ?? request.wrId, Work.isSignaled(signals, request.flags))
      numbered++
    }
    const posted = postNative(raw, native)
    count = posted.count
    return posted
  } finally {
    while (numbered > count) RequestQueue.undo(queue, native[--numbered]!.wrId)
  }
}
