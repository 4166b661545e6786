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
 * What a requester hears: that it was done, that there was no receive, nothing, the status that it completes with, or the
 * bytes that it asked for.
 */
export type Answer = "success" | "rnr" | "lost" | Refused | Uint8Array

type Refused = "remInvReqErr" | "remAccessErr" | "remOpErr"

/** Where a message finds its receive. */
export interface Inbox {
  readonly receives: ReceiveQueue
  readonly srq: SharedReceiveQueueState | undefined
  readonly queue: CompletionQueueState
  readonly domain: DomainState | undefined
}

/** Carries out a request of a connected peer. */
export const receive = (self: QueuePairObject, request: DataPath.SendRequest, bytes: Uint8Array): Answer => {
  establish(self)
  const access = needed[request.opcode]
  if (access !== undefined && self.attributes.qpAccessFlags?.includes(access) !== true) {
    return refuse(self, "remInvReqErr")
  }
  if (access === "remoteRead" || access === "remoteAtomic") return respond(self, request, access)
  if (takesReceive.has(request.opcode)) return receiveMessage(self, request, bytes)
  return write(self, request, bytes) ? "success" : refuse(self, "remAccessErr")
}

/** Puts the completion of a message into its queue; `false` when a queue pair of rxe does not survive that it is full. */
export const deliver = (
  self: QueuePairObject,
  { queue, receives }: Inbox,
  completed: Store.Completed,
  isSolicited: boolean
): boolean => {
  if (QueuePairError.completeReceive(self, queue, receives, completed, isSolicited)) return true
  if (!isRxe(self)) return true
  breakLater(self)
  return false
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
export const inboxOf = (self: QueuePairObject, { remoteSrqn = 0 }: DataPath.SendRequest): Inbox | undefined => {
  const { device, domain, receiveQueue: queue, receives, srq, xrcDomain } = self
  if (self.qpType !== "xrcRecv") {
    // rxe reads the keys of shared receives in the domain of the queue pair.
    const own = srq === undefined || isRxe(self) ? domain : srq.domain
    return queue && { receives: srq?.receives ?? receives, srq, queue, domain: own }
  }
  const named = QueueState.of(device).sharedReceiveQueues.get(remoteSrqn)
  return named?.completionQueue === undefined || named.xrcDomain !== xrcDomain
    ? undefined
    : { receives: named.receives, srq: named, queue: named.completionQueue, domain: named.domain }
}

/** Ends a receive in an error. */
export const failReceive = (
  self: QueuePairObject,
  inbox: Inbox,
  { wrId }: DataPath.ReceiveRequest,
  status: WorkCompletionStatus.WorkCompletionStatus
): void => {
  takeReceive(self, inbox)
  QueuePairError.completeReceive(self, inbox.queue, inbox.receives, Store.make(wrId, status, self.qpNum), true)
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

const isRxe = ({ device }: QueuePairObject): boolean => device.description.provider === "rxe"

const establish = (self: QueuePairObject): void => {
  if (self.isEstablished) return
  self.isEstablished = true
  if (self.state === "rtr" && !isRxe(self)) QueuePairError.raise(self, "commEst")
}

/** Refuses a request that took no receive: only an event tells of it here. */
const refuse = (self: QueuePairObject, answer: "remInvReqErr" | "remAccessErr"): Answer => {
  if (self.qpType === "uc") return answer
  if (!isRxe(self)) QueuePairError.raise(self, answer === "remAccessErr" ? "qpAccessErr" : "qpReqErr")
  breakLater(self)
  return answer
}

const respond = (
  self: QueuePairObject,
  request: DataPath.SendRequest,
  access: "remoteRead" | "remoteAtomic"
): Answer => {
  const { opcode, remote, sgList } = request
  if ((self.attributes.maxDestRdAtomic ?? 0) === 0 || remote === undefined) return refuse(self, "remInvReqErr")
  const length = access === "remoteRead" ? MemoryAccess.lengthOf(sgList) : 8
  if (length === 0) return nothing
  const target = MemoryAccess.named(self, remote, length, access)
  if (target === undefined) return refuse(self, "remAccessErr")
  if (access === "remoteRead") {
    QueueState.count(self, "remoteRdmaRead")
    return target
  }
  if ((remote.remoteAddr & 7n) !== 0n) return refuse(self, "remInvReqErr")
  const { compareAdd = 0n, swap = 0n } = request
  const before = target.slice()
  const view = new DataView(target.buffer, target.byteOffset, 8)
  const value = view.getBigUint64(0, true)
  if (opcode === "atomicFetchAndAdd") view.setBigUint64(0, value + compareAdd, true)
  else if (value === compareAdd) view.setBigUint64(0, swap, true)
  return before
}

/** Nobody looks at the key of a write of nothing. */
const write = (self: QueuePairObject, { remote }: DataPath.SendRequest, bytes: Uint8Array): boolean => {
  if (bytes.length === 0) return true
  const target = remote && MemoryAccess.named(self, remote, bytes.length, "remoteWrite")
  QueueState.count(self, "remoteRdmaWrite", target === undefined)
  target?.set(bytes)
  return target !== undefined
}

const receiveMessage = (self: QueuePairObject, request: DataPath.SendRequest, bytes: Uint8Array): Answer => {
  const inbox = inboxOf(self, request)
  if (inbox === undefined) return refuse(self, "remInvReqErr")
  const receive = inbox.receives.posted.peek()
  if (receive === undefined) return "rnr"
  const isWrite = request.opcode === "rdmaWriteWithImm"
  if (isWrite && !write(self, request, bytes)) return refuseWrite(self, inbox, receive)
  const problem = isWrite ? undefined : MemoryAccess.scatter(self.device, inbox.domain, receive.sgList, bytes)
  if (problem !== undefined) return refuseMessage(self, inbox, receive, problem)
  const { immData, invalidateRkey } = request
  if (invalidateRkey !== undefined && !invalidate(self, invalidateRkey)) {
    // The sender has been answered by then.
    failReceive(self, inbox, receive, "remInvReqErr")
    breakLater(self)
    return "success"
  }
  takeReceive(self, inbox)
  const completed = Store.make(receive.wrId, "success", self.qpNum)
  completed.opcode = isWrite ? "recvRdmaWithImm" : "recv"
  completed.byteLen = bytes.length
  // rxe says so of every message.
  if (isRxe(self)) completed.wcFlags = Store.withGrh
  Store.addImm(completed, immData)
  if (invalidateRkey !== undefined && isRxe(self)) {
    // The number of its kernel for it, which means something else to the library.
    completed.wcFlags |= Store.withIpCsumOk
  } else if (invalidateRkey !== undefined) {
    completed.wcFlags |= Store.withInv
    completed.invalidatedRkey = invalidateRkey
  }
  return deliver(self, inbox, completed, request.flags.includes("solicited")) ? "success" : "lost"
}

/** A write with immediate data to a key that does not fit. */
const refuseWrite = (self: QueuePairObject, inbox: Inbox, receive: DataPath.ReceiveRequest): Answer => {
  const isUnreliable = self.qpType === "uc"
  if (isRxe(self) && (!isUnreliable || inbox.srq !== undefined)) failReceive(self, inbox, receive, "remAccessErr")
  if (!isRxe(self) || isUnreliable) return refuse(self, "remAccessErr")
  breakLater(self)
  return "remAccessErr"
}

/** A message that its receive cannot take. */
const refuseMessage = (
  self: QueuePairObject,
  inbox: Inbox,
  receive: DataPath.ReceiveRequest,
  problem: MemoryAccess.Problem
): Answer => {
  const isTooLong = problem === "room" && !isRxe(self)
  // The receive stays for another message.
  if (isTooLong && self.qpType === "uc") return "lost"
  failReceive(self, inbox, receive, isRxe(self) ? "locQpOpErr" : isTooLong ? "locLenErr" : "locProtErr")
  breakLater(self)
  return isTooLong ? "remInvReqErr" : "remOpErr"
}
