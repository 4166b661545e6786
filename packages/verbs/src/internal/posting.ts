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

/** What stands for a request while it is under way. */
type Whom = (request: { readonly wrId: bigint }) => RequestQueue.UnderWay

/** Posts sends, and gives the error of the first that was not posted. Throws what is refused: then none was. */
export const send = (
  self: QueuePair.QueuePair,
  dataPath: DataPath.DataPath,
  requests: ReadonlyArray<WorkRequest.SendRequest>,
  whom: Whom = wrIdOf
): VerbsError | undefined => {
  const call = "ibv_post_send"
  const qp = Resource.raw(self)
  const { work } = self
  Work.ensureSending(call, self)
  // Who awaits a request has waited for the room.
  if (whom === wrIdOf) Work.ensureRoom(call, work.sends, requests.length)
  const native = Codec.encodeSends(self, requests)
  const { count, error } = begun(work.sends, native, whom, work, () => dataPath.postSend(qp, native))
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
  whom: Whom = wrIdOf
): VerbsError | undefined => {
  const call = "ibv_post_recv"
  const qp = Resource.raw(self)
  Work.ensureReceiving(call, self)
  return receiveOn(
    call,
    self,
    self.work.receives,
    self.cap.maxRecvSge,
    requests,
    whom,
    (native) => dataPath.postRecv(qp, native)
  )
}

/** As {@link receive}, for those of many queue pairs. */
export const receiveShared = (
  self: SharedReceiveQueue,
  dataPath: DataPath.DataPath,
  requests: ReadonlyArray<WorkRequest.ReceiveRequest>
): VerbsError | undefined => {
  const srq = Resource.raw(self)
  const post = (native: ReadonlyArray<DataPath.ReceiveRequest>) => dataPath.postSrqRecv(srq, native)
  return receiveOn("ibv_post_srq_recv", self, self.receives, self.maxSge, requests, wrIdOf, post)
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

const wrIdOf: Whom = ({ wrId }) => wrId

const receiveOn = (
  call: string,
  owner: Resource.Any & { readonly context: DeviceContext.DeviceContext },
  queue: RequestQueue.RequestQueue,
  maxSge: number,
  requests: ReadonlyArray<WorkRequest.ReceiveRequest>,
  whom: Whom,
  postNative: (requests: ReadonlyArray<DataPath.ReceiveRequest>) => DataPath.Posted
): VerbsError | undefined => {
  if (whom === wrIdOf) Work.ensureRoom(call, queue, requests.length)
  const native = Codec.encodeReceives(call, owner, requests, maxSge)
  return begun(queue, native, whom, everyOne, () => postNative(native)).error
}

/** Every receive has a completion. */
const everyOne = { signalsAll: true }

/** Numbers requests and posts them. Those that were not posted give their places back, also when it throws. */
const begun = (
  queue: RequestQueue.RequestQueue,
  native: ReadonlyArray<Codec.Numbered<DataPath.ReceiveRequest> & Pick<Partial<DataPath.SendRequest>, "flags">>,
  whom: Whom,
  signals: Pick<Work.Work, "signalsAll">,
  postNative: () => DataPath.Posted
): DataPath.Posted => {
  let numbered = 0
  let count = 0
  try {
    for (const request of native) {
      request.wrId = RequestQueue.begin(queue, whom(request), Work.isSignaled(signals, request.flags))
      numbered++
    }
    const posted = postNative()
    count = posted.count
    return posted
  } finally {
    while (numbered > count) RequestQueue.undo(queue, native[--numbered]!.wrId)
  }
}
