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
export const run = (self: QueuePairObject): void =>
  self.verbs.fabric.work.run(() => {
    const { sends, state } = self
    if (!sends.isLost || state !== "rts" || hearerOf(self) === undefined) return send(self, false)
    // The peer misses what it did not hear as soon as it hears something behind it.
    sends.waits?.()
    again(self)
  })

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
  // rxe begins no request again that has to be, once it is to drain.
  const isDraining = self.state === "sqd" && isUnderWay && device.description.provider !== "rxe"
  let goesOn = self.state === "rts" || isDraining
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
  if (known[self.qpType]?.has(request.opcode) !== true) return "locQpOpErr"
  if (isRxe && unknownToRxe[self.qpType]?.has(request.opcode) === true) return "locQpOpErr"
  if (request.opcode === "bindMw") return MemoryWindow.bind(self, request) ? "success" : "mwBindErr"
  if (request.opcode === "localInv") {
    if (MemoryWindow.invalidate(self, request.invalidateRkey ?? 0)) return "success"
    return isRxe ? "locQpOpErr" : "mwBindErr"
  }
  const isRead = answered.has(request.opcode)
  // What is read has no place in the request.
  if (isRead && request.inlineData !== undefined && request.inlineData.length > 0) return "locProtErr"
  if (isRxe && isRead && (self.attributes.maxRdAtomic ?? 0) === 0) return stall(self)
  const bytes = isRead ? nothing : request.inlineData ?? MemoryAccess.gather(device, domain, request.sgList)
  if (typeof bytes === "string") return isRxe && bytes === "key" ? "locQpOpErr" : "locProtErr"
  // Nobody is on the fabric who reads what is no message.
  if (self.qpType === "rawPacket") return "success"
  if (self.qpType === "ud") return Datagrams.send(self, request, bytes)
  return transmit(self, request, bytes)
}

/** Sends to the connected peer, and takes what it answers. */
const transmit = (self: QueuePairObject, request: DataPath.SendRequest, bytes: Uint8Array): Status | "waits" => {
  const { sends } = self
  const peer = hearerOf(self)
  if (self.qpType === "uc") {
    if (peer !== undefined) {
      count(self, peer, packetsOf(self, bytes.length), bytes.length)
      Responder.receive(peer, request, bytes)
    }
    return "success"
  }
  if (peer === undefined || distanceTo(self, peer) > 0) return lost(self)
  // It answers to where it is connected to.
  const isHeard = peer.attributes.destQpNum === self.qpNum
  if (distanceTo(self, peer) < 0) {
    // It takes the packet for one that it had, and says so again.
    if (!isHeard || answered.has(request.opcode)) return lost(self)
    sends.psn = (sends.psn + packetsOf(self, bytes.length)) & 0xffffff
    return "success"
  }
  const answer = Responder.receive(peer, request, bytes)
  if (answer === "rnr") return notReady(self, peer, request)
  const packets = packetsOf(self, typeof answer === "string" ? bytes.length : answer.length)
  if (typeof answer === "string") count(self, peer, packets, bytes.length)
  else {
    count(self, peer, 1, bytes.length)
    count(peer, self, packets, answer.length)
  }
  peer.expectedPsn = (peer.expectedPsn + packets) & 0xffffff
  if (answer === "lost" || !isHeard) return lost(self)
  sends.psn = (sends.psn + packets) & 0xffffff
  if (typeof answer === "string") return answer
  const problem = MemoryAccess.scatter(self.device, self.domain, request.sgList, answer)
  if (problem === undefined) return "success"
  return problem === "room" && self.device.description.provider !== "rxe" ? "locLenErr" : "locProtErr"
}

/** How far the next packet is from the one that a peer expects: a number of 24 bits with its sign. */
const distanceTo = ({ sends }: QueuePairObject, { expectedPsn }: QueuePairObject): number =>
  ((sends.psn - expectedPsn) << 8) >> 8

/** The peer, if it hears this end. */
const hearerOf = (self: QueuePairObject): QueuePairObject | undefined => {
  const peer = Route.peerOf(self)
  return peer !== undefined && Route.destinationOf(peer)?.device === self.device ? peer : undefined
}

/** What the ports between two queue pairs count of a message; they count no acknowledgements. */
const count = (from: QueuePairObject, to: QueuePairObject, packets: number, bytes: number): void => {
  const there = Route.destinationOf(from)
  const here = Route.destinationOf(to)
  if (there !== undefined && here !== undefined) Route.count(from.verbs.fabric, here, there, packets, bytes)
}

const packetsOf = ({ attributes: { pathMtu = 1024 } }: QueuePairObject, length: number): number =>
  length <= pathMtu ? 1 : Math.ceil(length / pathMtu)

/** Waits for nothing: only another state gets it out of there. */
const stall = (self: QueuePairObject): "waits" => {
  self.sends.waits = () => {}
  return "waits"
}

const again = (self: QueuePairObject): void => {
  self.sends.waits = undefined
  self.sends.isLost = false
  self.verbs.fabric.work.run(() => send(self, true))
}

/** Nobody answers: sends again after the timeout, so many times. */
const lost = (self: QueuePairObject): "waits" => {
  const { attributes: { retryCnt = 0, timeout = 0 }, device, sends, verbs } = self
  sends.isLost = true
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
  sends.isLost = false
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
  ud: new Set(sends),
  rawPacket: new Set(["send", "tso"])
}

/** What its kernel lacks, or got later. */
const unknownToRxe: { readonly [type: string]: ReadonlySet<string> } = {
  rc: new Set(["atomicWrite"]),
  uc: new Set(["localInv"])
}

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
