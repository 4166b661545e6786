import type * as AccessFlags from "@effect-rdma/verbs/AccessFlags"
import type * as DataPath from "@effect-rdma/verbs/operations/DataPath"
import type * as WorkCompletionStatus from "@effect-rdma/verbs/WorkCompletionStatus"
import * as Store from "./completionStore.ts"
import * as Events from "./events.ts"
import * as MemoryAccess from "./memoryAccess.ts"
import { invalidate } from "./memoryWindow.ts"
import * as QueuePairError from "./queuePairError.ts"
import * as QueueState from "./queueState.ts"
import type { QueuePairObject, ReceiveQueue, SharedReceiveQueueState } from "./queueState.ts"
import type { CompletionQueueState, DomainState } from "./state.ts"

/**
 * What a requester hears: that it was done, that there was no receive, the status that it completes with, or the bytes
 * that it asked for.
 */
export type Answer = "success" | "rnr" | Refused | Uint8Array

type Refused = "remInvReqErr" | "remAccessErr" | "remOpErr"

/** Where a message finds its receive. */
export interface Inbox {
  readonly receives: ReceiveQueue
  readonly srq: SharedReceiveQueueState | undefined
  readonly queue: CompletionQueueState
  readonly domain: DomainState | undefined
}

/** Carries out a request of a connected peer. An unreliable one hears nothing: whatever goes wrong, it is dropped. */
export const receive = (
  self: QueuePairObject,
  request: DataPath.SendRequest,
  bytes: Uint8Array
): Answer => {
  const { attributes, device } = self
  const isRxe = device.description.provider === "rxe"
  establish(self)
  const access = needed[request.opcode]
  if (access !== undefined && attributes.qpAccessFlags?.includes(access) !== true) return refuse(self, "remInvReqErr")
  const answers = access === "remoteRead" || access === "remoteAtomic"
  if (answers && (attributes.maxDestRdAtomic ?? 0) === 0) return refuse(self, "remInvReqErr")

  let inbox: Inbox | undefined
  let receive: DataPath.ReceiveRequest | undefined
  if (takesReceive.has(request.opcode)) {
    inbox = inboxOf(self, request)
    receive = inbox?.receives.posted.peek()
    if (inbox === undefined || receive === undefined) return self.qpType === "uc" ? "success" : "rnr"
    takeReceive(self, inbox)
  }

  const { remote } = request
  const length = answers && access === "remoteAtomic"
    ? 8
    : answers
    ? MemoryAccess.lengthOf(request.sgList)
    : bytes.length
  let target: Uint8Array | undefined
  if (access !== undefined && remote !== undefined && length > 0) {
    target = MemoryAccess.named(self, remote, length, access)
    if (target === undefined) return refuse(self, "remAccessErr", inbox, receive, isRxe ? "remAccessErr" : undefined)
    if (access === "remoteRead") return target
    if (access === "remoteAtomic") {
      if ((remote.remoteAddr & 7n) !== 0n) return refuse(self, "remInvReqErr")
      return atomic(target, request)
    }
    target.set(bytes)
  } else if (access === "remoteRead") return nothing

  if (inbox === undefined || receive === undefined) return "success"
  if (access === undefined) {
    const problem = MemoryAccess.scatter(device, inbox.domain, receive.sgList, bytes)
    if (problem !== undefined) {
      if (isRxe) return refuse(self, "remOpErr", inbox, receive, "locQpOpErr")
      return problem === "room"
        ? refuse(self, "remInvReqErr", inbox, receive, "locLenErr")
        : refuse(self, "remOpErr", inbox, receive, "locProtErr")
    }
  }
  const { invalidateRkey } = request
  if (invalidateRkey !== undefined && !invalidate(self, invalidateRkey)) {
    // The sender has been answered by then.
    refuse(self, "remInvReqErr", inbox, receive, "remInvReqErr")
    return "success"
  }
  const completed = Store.make(receive.wrId, "success", self.qpNum)
  completed.opcode = access === undefined ? "recv" : "recvRdmaWithImm"
  completed.byteLen = bytes.length
  // rxe says so of every message.
  if (isRxe) completed.wcFlags = Store.withGrh
  if (request.immData !== undefined) {
    completed.wcFlags |= Store.withImm
    completed.immData = request.immData
  }
  if (invalidateRkey !== undefined) {
    completed.wcFlags |= Store.withInv
    completed.invalidatedRkey = invalidateRkey
  }
  deliver(self, inbox, completed, request.flags.includes("solicited"))
  return "success"
}

/** Puts the completion of a message into its queue; on rxe the queue pair does not survive that there is no room. */
export const deliver = (
  self: QueuePairObject,
  { queue, receives }: Inbox,
  completed: Store.Completed,
  isSolicited: boolean
): void => {
  if (QueuePairError.completeReceive(self, queue, receives, completed, isSolicited)) return
  if (self.device.description.provider === "rxe") breakLater(self)
}

/** Takes a receive off its queue, and tells when a shared one runs low. */
export const takeReceive = (self: QueuePairObject, { receives, srq }: Inbox): void => {
  receives.posted.shift()
  if (srq === undefined || srq.srqLimit === 0 || receives.posted.length >= srq.srqLimit) return
  srq.srqLimit = 0
  Events.raise(self.verbs, srq.context, {
    _tag: "SharedReceiveQueue",
    event: "srqLimitReached",
    pointer: srq.pointer
  })
}

/** The inbox of a message: that of the queue pair, or on XRC the shared queue that the sender names. */
export const inboxOf = (self: QueuePairObject, request: DataPath.SendRequest): Inbox | undefined => {
  const { device, domain, receiveQueue: queue, receives, srq, xrcDomain } = self
  if (self.qpType !== "xrcRecv") {
    return queue && { receives: srq?.receives ?? receives, srq, queue, domain: srq?.domain ?? domain }
  }
  const named = QueueState.of(device).sharedReceiveQueues.get(request.remoteSrqn ?? 0)
  return named?.completionQueue === undefined || named.xrcDomain !== xrcDomain
    ? undefined
    : { receives: named.receives, srq: named, queue: named.completionQueue, domain: named.domain }
}

/** Marks it broken at once, and flushes after the sender has heard: the answer is on its way before. */
export const breakLater = (self: QueuePairObject): void => {
  self.state = "err"
  self.verbs.fabric.work.later(() => QueuePairError.toError(self))
}

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

const nothing = new Uint8Array(0)

const needed: { readonly [opcode: string]: AccessFlags.AccessFlag } = {
  rdmaWrite: "remoteWrite",
  rdmaWriteWithImm: "remoteWrite",
  atomicWrite: "remoteWrite",
  rdmaRead: "remoteRead",
  atomicCmpAndSwp: "remoteAtomic",
  atomicFetchAndAdd: "remoteAtomic"
}

const takesReceive: ReadonlySet<string> = new Set(["send", "sendWithImm", "sendWithInv", "rdmaWriteWithImm"])

const establish = (self: QueuePairObject): void => {
  if (self.isEstablished) return
  self.isEstablished = true
  if (self.state === "rtr" && self.device.description.provider === "mlx5") QueuePairError.raise(self, "commEst")
}

/** Ends a request in an error: of the receive that it took, if any, and of the queue pair. */
const refuse = (
  self: QueuePairObject,
  answer: Refused,
  inbox?: Inbox,
  receive?: DataPath.ReceiveRequest,
  status?: WorkCompletionStatus.WorkCompletionStatus
): Answer => {
  const isRxe = self.device.description.provider === "rxe"
  const tells = inbox !== undefined && receive !== undefined && status !== undefined
  if (tells) {
    QueuePairError.completeReceive(
      self,
      inbox.queue,
      inbox.receives,
      Store.make(receive.wrId, status, self.qpNum),
      true
    )
  }
  if (self.qpType === "uc") return "success"
  if (!isRxe && !tells) QueuePairError.raise(self, answer === "remAccessErr" ? "qpAccessErr" : "qpReqErr")
  breakLater(self)
  return answer
}

const atomic = (target: Uint8Array, { compareAdd = 0n, opcode, swap = 0n }: DataPath.SendRequest): Uint8Array => {
  const view = new DataView(target.buffer, target.byteOffset, 8)
  const before = target.slice()
  const value = view.getBigUint64(0, true)
  if (opcode === "atomicFetchAndAdd") view.setBigUint64(0, value + compareAdd, true)
  else if (value === compareAdd) view.setBigUint64(0, swap, true)
  return before
}
