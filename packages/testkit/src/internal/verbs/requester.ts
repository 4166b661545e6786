import type * as DataPath from "@effect-rdma/verbs/operations/DataPath"
import type * as WorkCompletionStatus from "@effect-rdma/verbs/WorkCompletionStatus"
import * as Duration from "effect/Duration"
import * as Datagrams from "./datagrams.ts"
import * as MemoryAccess from "./memoryAccess.ts"
import * as MemoryWindow from "./memoryWindow.ts"
import * as QueuePairError from "./queuePairError.ts"
import type { QueuePairObject, SendEntry } from "./queueState.ts"
import * as Responder from "./responder.ts"
import * as Route from "./route.ts"

type Status = WorkCompletionStatus.WorkCompletionStatus

/** Sends what was posted, until something has to be waited for. A doorbell does this. */
export const run = (self: QueuePairObject): void => self.verbs.fabric.work.run(() => send(self, false))

/** Raises the event of a drained queue, if one is due. */
export const drained = (self: QueuePairObject): void => {
  const { sends } = self
  if (!sends.draining || sends.waits !== undefined) return
  sends.draining = false
  QueuePairError.raise(self, "sqDrained")
}

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

const send = (self: QueuePairObject, isUnderWay: boolean): void => {
  const { device, sends } = self
  if (!device.plugged) return
  if (self.state === "err" || self.state === "sqe") return QueuePairError.flushSends(self)
  let goesOn = self.state === "rts" || (self.state === "sqd" && isUnderWay)
  while (goesOn && sends.waits === undefined) {
    const request = sends.posted.peek()
    if (request === undefined) break
    const status = carryOut(self, request)
    if (status === "waits") return
    finish(self, request, status)
    goesOn = self.state === "rts"
  }
  drained(self)
}

const finish = (self: QueuePairObject, request: DataPath.SendRequest, status: Status): void => {
  const { sends } = self
  sends.retries = 0
  sends.rnrRetries = 0
  QueuePairError.completeSend(self, request, status)
  if (status !== "success") QueuePairError.sendFailed(self)
}

const carryOut = (self: QueuePairObject, request: SendEntry): Status | "waits" => {
  const { device, domain } = self
  const isRxe = device.description.provider === "rxe"
  if (!(known[self.qpType]?.has(request.opcode) ?? false)) return "locQpOpErr"
  if (request.opcode === "bindMw") return MemoryWindow.bind(self, request) ? "success" : "mwBindErr"
  if (request.opcode === "localInv") {
    if (MemoryWindow.invalidate(self, request.invalidateRkey ?? 0)) return "success"
    return isRxe ? "locQpOpErr" : "mwBindErr"
  }
  if (isRxe && unknownToRxe.has(request.opcode)) return "locQpOpErr"
  const isRead = answered.has(request.opcode)
  if (isRxe && isRead && (self.attributes.maxRdAtomic ?? 0) === 0) return stall(self)
  const bytes = isRead ? nothing : request.inlineData ?? MemoryAccess.gather(device, domain, request.sgList)
  if (typeof bytes === "string") return isRxe && bytes === "key" ? "locQpOpErr" : "locProtErr"
  if (self.qpType === "ud") return Datagrams.send(self, request, bytes)
  return transmit(self, request, bytes)
}

/** Sends to the connected peer, and takes what it answers. */
const transmit = (self: QueuePairObject, request: DataPath.SendRequest, bytes: Uint8Array): Status | "waits" => {
  const { sends } = self
  const peer = Route.peerOf(self)
  const isReliable = self.qpType !== "uc"
  if (peer === undefined || (isReliable && !isConnected(self, peer))) return isReliable ? lost(self) : "success"
  const answer = Responder.receive(peer, request, bytes)
  if (answer === "rnr") return notReady(self, peer, request)
  const packets = packetsOf(self, typeof answer === "string" ? bytes.length : answer.length)
  sends.psn = (sends.psn + packets) & 0xffffff
  peer.expectedPsn = (peer.expectedPsn + packets) & 0xffffff
  if (typeof answer === "string") return answer
  const problem = MemoryAccess.scatter(self.device, self.domain, request.sgList, answer)
  if (problem === undefined) return "success"
  return problem === "room" && self.device.description.provider !== "rxe" ? "locLenErr" : "locProtErr"
}

/** Whether a peer takes the next packet for one of the connection, and answers to here. */
const isConnected = (self: QueuePairObject, peer: QueuePairObject): boolean =>
  peer.expectedPsn === self.sends.psn && peer.attributes.destQpNum === self.qpNum &&
  Route.destinationOf(peer)?.device === self.device

const packetsOf = ({ attributes: { pathMtu = 1024 } }: QueuePairObject, length: number): number =>
  length <= pathMtu ? 1 : Math.ceil(length / pathMtu)

/** Waits for nothing: only another state gets it out of there. */
const stall = (self: QueuePairObject): "waits" => {
  self.sends.waits = () => {}
  return "waits"
}

const again = (self: QueuePairObject): void => {
  self.sends.waits = undefined
  self.verbs.fabric.work.run(() => send(self, true))
}

/** Nobody answers: sends again after the timeout, so many times. */
const lost = (self: QueuePairObject): "waits" => {
  const { attributes: { retryCnt = 0, timeout = 0 }, device, sends, verbs } = self
  if (timeout === 0) return stall(self)
  // For rxe 7 is for ever, as it is for receives that are not there.
  const isForEver = device.description.provider === "rxe" && retryCnt === 7
  sends.waits = verbs.fabric.after(Duration.nanos(4096n << BigInt(timeout)), () => {
    if (isForEver || sends.retries++ < retryCnt) return again(self)
    giveUp(self, "retryExcErr")
  })
  return "waits"
}

const giveUp = (self: QueuePairObject, status: Status): void => {
  const { sends } = self
  sends.waits = undefined
  self.verbs.fabric.work.run(() => {
    const request = sends.posted.peek()
    if (request !== undefined) finish(self, request, status)
  })
}

/** The peer has no receive: sends again after the time that it asks for. */
const notReady = (
  self: QueuePairObject,
  peer: QueuePairObject,
  request: DataPath.SendRequest
): Status | "waits" => {
  const { attributes: { rnrRetry = 0 }, sends, verbs } = self
  const time = Duration.micros(BigInt(rnrTimes[peer.attributes.minRnrTimer ?? 0] ?? 0))
  const retry = () => {
    sends.waits = verbs.fabric.after(time, () => again(self))
  }
  if (rnrRetry < 7) {
    if (sends.rnrRetries++ >= rnrRetry) return "rnrRetryExcErr"
    retry()
    return "waits"
  }
  // For ever: no timer runs while there is none.
  const waiting = Responder.inboxOf(peer, request)?.receives.waiting
  if (waiting === undefined) return stall(self)
  waiting.add(retry)
  sends.waits = () => waiting.delete(retry)
  return "waits"
}

const nothing = new Uint8Array(0)

const answered: ReadonlySet<string> = new Set(["rdmaRead", "atomicCmpAndSwp", "atomicFetchAndAdd"])

const sends = ["send", "sendWithImm"]
const writes = [...sends, "rdmaWrite", "rdmaWriteWithImm", "bindMw", "localInv"]
const reliable = new Set([
  ...writes,
  "sendWithInv",
  "rdmaRead",
  "atomicCmpAndSwp",
  "atomicFetchAndAdd",
  "atomicWrite"
])

/** What each type can do. */
const known: { readonly [type: string]: ReadonlySet<string> } = {
  rc: reliable,
  xrcSend: reliable,
  uc: new Set(writes),
  ud: new Set(sends)
}

/** Its kernel got that later. */
const unknownToRxe: ReadonlySet<string> = new Set(["atomicWrite"])

/** The times in µs that a responder can ask for, by their numbers. */
const rnrTimes = [
  655_360,
  10,
  20,
  30,
  40,
  60,
  80,
  120,
  160,
  240,
  320,
  480,
  640,
  960,
  1280,
  1920,
  2560,
  3840,
  5120,
  7680,
  10_240,
  15_360,
  20_480,
  30_720,
  40_960,
  61_440,
  81_920,
  122_880,
  163_840,
  245_760,
  327_680,
  491_520
]
