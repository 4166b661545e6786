import type * as AsyncEvent from "@effect-rdma/verbs/AsyncEvent"
import type * as CompletionCounterAttributes from "@effect-rdma/verbs/CompletionCounterAttributes"
import type * as DataPath from "@effect-rdma/verbs/operations/DataPath"
import type * as WorkCompletionOpcode from "@effect-rdma/verbs/WorkCompletionOpcode"
import type * as WorkCompletionStatus from "@effect-rdma/verbs/WorkCompletionStatus"
import * as Store from "./completionStore.ts"
import * as Events from "./events.ts"
import * as MemoryAccess from "./memoryAccess.ts"
import type { QueuePairObject, ReceiveQueue } from "./queueState.ts"
import * as QueueState from "./queueState.ts"
import type { CompletionQueueState } from "./state.ts"

type Name = Extract<AsyncEvent.AsyncEvent, { readonly _tag: "QueuePair" }>["event"]

/** Raises an event on every handle. */
export const raise = (self: QueuePairObject, event: Name): void => {
  for (const { context, pointer } of self.handles) {
    Events.raise(self.verbs, context, { _tag: "QueuePair", event, pointer })
  }
}

/** Brings a queue pair to ERR, and flushes what was posted to it. */
export const toError = (self: QueuePairObject): void => {
  const wasError = self.state === "err"
  self.state = "err"
  if (self.srq === undefined) flushReceives(self)
  flushSends(self)
  if (self.srq !== undefined && !wasError && self.device.description.provider === "mlx5") {
    raise(self, "qpLastWqeReached")
  }
}

/** What a send that failed does to its queue pair: rxe knows no SQE. */
export const sendFailed = (self: QueuePairObject): void => {
  const isReliable = self.qpType !== "ud" && self.qpType !== "uc"
  if (isReliable || self.device.description.provider === "rxe") return toError(self)
  self.state = "sqe"
  flushSends(self)
}

export const flushSends = (self: QueuePairObject): void => {
  const { sends } = self
  stop(self)
  for (let request = sends.posted.peek(); request !== undefined; request = sends.posted.peek()) {
    completeSend(self, request, "wrFlushErr")
  }
}

export const flushReceives = (self: QueuePairObject): void => {
  const { receiveQueue, receives } = self
  wake(receives)
  if (receiveQueue === undefined) return
  for (let receive = receives.posted.shift(); receive !== undefined; receive = receives.posted.shift()) {
    completeReceive(self, receiveQueue, receives, Store.make(receive.wrId, "wrFlushErr", self.qpNum), true)
  }
}

/** Forgets all that was posted, as RESET and the destruction do. */
export const drop = (self: QueuePairObject): void => {
  const { receives, sends } = self
  stop(self)
  sends.posted.clear()
  sends.ring = { used: 0 }
  sends.silent = 0
  sends.draining = false
  receives.posted.clear()
  receives.ring = { used: 0 }
  self.isEstablished = false
  wake(receives)
  if (self.device.description.provider !== "mlx5") return
  // The library of mlx5 takes out of the queues what was not polled.
  Store.forget(self.sendQueue, self.qpNum)
  Store.forget(self.receiveQueue, self.qpNum)
}

/** Forgets what was sent, and waits for nothing: who answers it now is not heard. */
export const stop = ({ sends }: QueuePairObject): void => {
  sends.waits?.()
  sends.waits = undefined
  sends.timer?.()
  sends.timer = undefined
  for (let flight = sends.flights.shift(); flight !== undefined; flight = sends.flights.shift()) {
    flight.status = "wrFlushErr"
  }
  sends.retries = 0
  sends.rnrRetries = 0
}

/** Lets the senders that wait for a receive try again. */
export const wake = ({ waiting }: ReceiveQueue): void => {
  const resumes = Array.from(waiting)
  waiting.clear()
  for (const resume of resumes) resume()
}

/** Takes the first send off its queue, and tells of it if it must. */
export const completeSend = (
  self: QueuePairObject,
  request: DataPath.SendRequest,
  status: WorkCompletionStatus.WorkCompletionStatus
): void => {
  const { device, sendQueue, sends, sqSigAll } = self
  const isRxe = device.description.provider === "rxe"
  sends.posted.shift()
  QueueState.count(self, counted[request.opcode], status !== "success")
  if (isRxe) sends.ring.used--
  else sends.silent++
  if (status === "success" && !sqSigAll && !request.flags.includes("signaled")) return
  const frees = sends.silent
  sends.silent = 0
  if (sendQueue === undefined) return
  const completed = Store.make(request.wrId, status, self.qpNum)
  completed.ring = sends.ring
  completed.frees = frees
  completed.opcode = opcodes[request.opcode]
  if (isRxe || request.opcode === "rdmaRead") completed.byteLen = lengthOf(request)
  else if (request.compareAdd !== undefined) completed.byteLen = 8
  if (isRxe && request.immData !== undefined) {
    // It says that there was some, but not which.
    completed.wcFlags = Store.withImm
    completed.immData = 0
  }
  if (!Store.complete(self.verbs, sendQueue, completed, false)) overrun(sendQueue)
}

/** Tells of a receive, and frees its place. */
export const completeReceive = (
  self: QueuePairObject,
  queue: CompletionQueueState,
  { ring }: ReceiveQueue,
  completed: Store.Completed,
  isSolicited: boolean
): boolean => {
  QueueState.count(self, "recv", completed.status !== "success")
  if (self.device.description.provider === "rxe") ring.used--
  else {
    completed.ring = ring
    completed.frees = 1
  }
  const hasRoom = Store.complete(self.verbs, queue, completed, isSolicited)
  if (!hasRoom) overrun(queue)
  return hasRoom
}

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

/** A queue that lost a completion takes the queue pairs of mlx5 with it, which have no way to tell any more. */
const overrun = (queue: CompletionQueueState): void => {
  if (!queue.isOverrun) return
  for (const pair of QueueState.of(queue.device).pairs.values()) {
    if (pair.state === "err" || (pair.sendQueue !== queue && pair.receiveQueue !== queue)) continue
    raise(pair, "qpFatal")
    pair.state = "err"
    pair.verbs.fabric.work.later(() => toError(pair))
  }
}

/** rxe says of every send how long it was. */
const lengthOf = ({ inlineData, sgList }: DataPath.SendRequest): number =>
  inlineData === undefined ? MemoryAccess.lengthOf(sgList) : inlineData.length

const counted: {
  readonly [Opcode in DataPath.SendRequest["opcode"]]?: CompletionCounterAttributes.AttachedOperation
} = {
  send: "send",
  sendWithImm: "send",
  sendWithInv: "send",
  rdmaWrite: "rdmaWrite",
  rdmaWriteWithImm: "rdmaWrite",
  rdmaRead: "rdmaRead"
}

const opcodes: {
  readonly [Opcode in DataPath.SendRequest["opcode"]]: WorkCompletionOpcode.WorkCompletionOpcode
} = {
  send: "send",
  sendWithImm: "send",
  sendWithInv: "send",
  rdmaWrite: "rdmaWrite",
  rdmaWriteWithImm: "rdmaWrite",
  rdmaRead: "rdmaRead",
  atomicCmpAndSwp: "compSwap",
  atomicFetchAndAdd: "fetchAdd",
  bindMw: "bindMw",
  localInv: "localInv",
  tso: "tso",
  driver1: "driver1",
  flush: "flush",
  atomicWrite: "atomicWrite"
}
