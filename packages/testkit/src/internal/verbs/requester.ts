import type * as DataPath from "@effect-rdma/verbs/operations/DataPath"
import type * as WorkCompletionStatus from "@effect-rdma/verbs/WorkCompletionStatus"
import * as Duration from "effect/Duration"
import * as Datagrams from "./datagrams.ts"
import * as MemoryAccess from "./memoryAccess.ts"
import * as MemoryWindow from "./memoryWindow.ts"
import * as QueuePairError from "./queuePairError.ts"
import * as QueueState from "./queueState.ts"
import type { Flight, QueuePairObject, SendEntry } from "./queueState.ts"
import * as Responder from "./responder.ts"
import * as Route from "./route.ts"

type Status = WorkCompletionStatus.WorkCompletionStatus

/** Sends what was posted, until something has to be waited for. A doorbell does this. */
export const run = (self: QueuePairObject): void => self.verbs.fabric.work.run(() => send(self))

/** Raises the event of a drained queue, if one is due. */
export const drained = (self: QueuePairObject): void => {
  const { sends } = self
  if (!sends.draining || QueueState.isUnderWay(sends)) return
  sends.draining = false
  QueuePairError.raise(self, "sqDrained")
}

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

const send = (self: QueuePairObject): void => {
  const { device, sends } = self
  // What is answered at once is heard in the loop.
  if (!device.plugged || sends.isSending) return
  if (self.state === "err" || self.state === "sqe") return QueuePairError.flushSends(self)
  sends.isSending = true
  try {
    while (self.state === "rts" && sends.waits === undefined) {
      const request = sends.posted.at(sends.flights.length)
      if (request === undefined || hasToWait(self, request)) break
      const status = carryOut(self, request)
      if (status === "waits") break
      if (status === "flies") continue
      if (sends.flights.length === 0) finish(self, request, status)
      else sends.flights.push({ request, psn: sends.psn, packets: 0, status, answer: undefined })
    }
  } finally {
    sends.isSending = false
  }
  drained(self)
}

/** Nothing is sent behind one that fails; reads under way are as many as there may be, or it is to stay behind them. */
const hasToWait = (
  { attributes: { maxRdAtomic = 1 }, sends: { flights } }: QueuePairObject,
  request: SendEntry
): boolean => {
  const last = flights.at(flights.length - 1)
  if (last === undefined) return false
  if (last.status !== undefined && last.status !== "success") return true
  const isFenced = request.flags.includes("fence")
  if (!isFenced && !answered.has(request.opcode)) return false
  let reads = 0
  for (let at = 0; at < flights.length; at++) {
    const flight = flights.at(at)
    if (flight?.status === undefined && flight !== undefined && answered.has(flight.request.opcode)) reads++
  }
  return reads >= (isFenced ? 1 : Math.max(1, maxRdAtomic))
}

const finish = (self: QueuePairObject, request: DataPath.SendRequest, status: Status): void => {
  const { sends } = self
  sends.retries = 0
  sends.rnrRetries = 0
  QueuePairError.completeSend(self, request, status)
  if (status !== "success") QueuePairError.sendFailed(self)
}

/** Completes what has ended, as far as nothing before it is under way. */
const settle = (self: QueuePairObject): void => {
  const { flights } = self.sends
  for (let first = flights.peek(); first?.status !== undefined; first = flights.peek()) {
    flights.shift()
    finish(self, first.request, first.status)
  }
}

const carryOut = (self: QueuePairObject, request: SendEntry): Status | "waits" | "flies" => {
  const isRxe = isOfRxe(self)
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
  if (isRxe && isRead && (self.attributes.maxRdAtomic ?? 0) === 0) {
    stall(self)
    return "waits"
  }
  const bytes = payloadOf(self, request)
  if (typeof bytes === "string") return bytes
  // Nobody is on the fabric who reads what is no message.
  if (self.qpType === "rawPacket") return "success"
  if (self.qpType === "ud") return Datagrams.send(self, request, bytes)
  return self.qpType === "uc" ? sendUnreliably(self, request, bytes) : fly(self, request, bytes)
}

/** What goes with a request, as it is in memory now. */
const payloadOf = (self: QueuePairObject, request: SendEntry): Uint8Array | Status => {
  if (answered.has(request.opcode)) return nothing
  const bytes = request.inlineData ?? MemoryAccess.gather(self.device, self.domain, request.sgList)
  if (typeof bytes !== "string") return bytes
  return isOfRxe(self) && bytes === "key" ? "locQpOpErr" : "locProtErr"
}

const isOfRxe = ({ device }: QueuePairObject): boolean => device.description.provider === "rxe"

/** Nobody answers. */
const sendUnreliably = (self: QueuePairObject, request: SendEntry, bytes: Uint8Array): "success" => {
  const way = Route.wayOf(self)
  if (way === undefined || Route.peerAt(self, way) === undefined) return "success"
  const packets = packetsOf(self, bytes.length)
  Route.carry(self.verbs.fabric, way.from, way.to, { kind: "message", bytes }, (bytes) => {
    const peer = Route.peerAt(self, way)
    if (peer === undefined) return
    Route.count(self.verbs.fabric, way.from, way.to, packets, bytes.length)
    Responder.receive(peer, request, bytes)
  })
  return "success"
}

// -----------------------------------------------------------------------------
// Reliable: what was sent, until it is answered
// -----------------------------------------------------------------------------

const fly = (self: QueuePairObject, request: SendEntry, bytes: Uint8Array): "flies" => {
  const { sends } = self
  const length = request.opcode === "rdmaRead" ? MemoryAccess.lengthOf(request.sgList) : bytes.length
  const flight: Flight = {
    request,
    psn: sends.psn,
    packets: packetsOf(self, length),
    status: undefined,
    answer: undefined
  }
  sends.psn = (sends.psn + flight.packets) & 0xffffff
  sends.flights.push(flight)
  transmit(self, flight, bytes)
  if (flight.status === undefined && sends.waits === undefined && sends.timer === undefined) watch(self)
  return "flies"
}

const transmit = (self: QueuePairObject, flight: Flight, bytes: Uint8Array): void => {
  const way = Route.wayOf(self)
  if (way === undefined || Route.peerAt(self, way) === undefined) return
  Route.carry(
    self.verbs.fabric,
    way.from,
    way.to,
    { kind: "message", bytes },
    (bytes) => arrive(self, way, flight, bytes)
  )
}

/** A request comes to the peer. */
const arrive = (self: QueuePairObject, way: Route.Way, flight: Flight, bytes: Uint8Array): void => {
  const peer = Route.peerAt(self, way)
  if (peer === undefined) return
  const { packets, psn, request } = flight
  const distance = ((psn - peer.expectedPsn) << 8) >> 8
  if (distance > 0) {
    if (peer.isMissing) return
    peer.isMissing = true
    return say(self, peer, way, flight, "missing")
  }
  if (distance < 0) {
    // It takes the packet for one that it had, and says so again.
    const answer = flight.answer ?? (answered.has(request.opcode) ? undefined : "success")
    return answer === undefined ? undefined : say(self, peer, way, flight, answer)
  }
  const answer = Responder.receive(peer, request, bytes)
  peer.isMissing = answer === "rnr"
  if (answer === "rnr") return say(self, peer, way, flight, answer)
  const { fabric } = self.verbs
  if (typeof answer === "string") Route.count(fabric, way.from, way.to, packets, bytes.length)
  else {
    Route.count(fabric, way.from, way.to, 1, bytes.length)
    Route.count(fabric, way.to, way.from, packets, answer.length)
  }
  peer.expectedPsn = (peer.expectedPsn + packets) & 0xffffff
  flight.answer = answer
  say(self, peer, way, flight, answer)
}

/** An answer goes to where the peer is connected to. */
const say = (
  self: QueuePairObject,
  peer: QueuePairObject,
  { from, to }: Route.Way,
  flight: Flight,
  answer: Responder.Answer | "missing"
): void => {
  const { fabric } = self.verbs
  if (answer === "lost" || peer.attributes.destQpNum !== self.qpNum) return
  const bytes = typeof answer === "string" ? nothing : answer
  Route.carry(fabric, to, from, { kind: "answer", bytes }, (bytes) => {
    if (!Route.isOpen(fabric, to.device, to.portNum, from) || !self.device.plugged) return
    // Flushed, or heard before.
    if (flight.status === undefined) hear(self, peer, flight, typeof answer === "string" ? answer : bytes)
  })
}

const hear = (
  self: QueuePairObject,
  peer: QueuePairObject,
  flight: Flight,
  answer: Exclude<Responder.Answer, "lost"> | "missing"
): void => {
  const { flights } = self.sends
  if (answer === "missing") return transmitAgain(self)
  // It stands for those before it, but for what these ask for.
  for (let at = 0; flights.at(at) !== flight; at++) {
    const before = flights.at(at)
    if (before === undefined) return
    if (before.status === undefined && !answered.has(before.request.opcode)) before.status = "success"
  }
  if (answer === "rnr") {
    settle(self)
    notReady(self, peer, flight)
  } else if (typeof answer === "string") flight.status = answer
  else {
    const problem = MemoryAccess.scatter(self.device, self.domain, flight.request.sgList, answer)
    flight.status = problem === undefined
      ? "success"
      : problem === "room" && !isOfRxe(self)
      ? "locLenErr"
      : "locProtErr"
  }
  if (flight.status !== undefined) {
    settle(self)
    watch(self)
  }
  send(self)
}

/** Waits for the first answer from now on. */
const watch = (self: QueuePairObject): void => {
  const { attributes: { retryCnt = 0, timeout = 0 }, sends, verbs } = self
  sends.timer?.()
  sends.timer = undefined
  if (timeout === 0 || sends.waits !== undefined || sends.flights.length === 0) return
  // For rxe 7 is for ever, as it is for receives that are not there.
  const isForEver = isOfRxe(self) && retryCnt === 7
  sends.timer = verbs.fabric.after(Duration.nanos(4096n << BigInt(timeout)), () => {
    sends.timer = undefined
    verbs.fabric.work.run(() => {
      if (isForEver || sends.retries++ < retryCnt) transmitAgain(self)
      else giveUp(self)
    })
  })
}

/** Sends all that is not answered once more. */
const transmitAgain = (self: QueuePairObject): void => {
  const { device, sends } = self
  const { flights } = sends
  if (!device.plugged) return
  const first = flights.peek()
  // rxe begins no request again that has to be, once it is to drain.
  if (first !== undefined && self.state === "sqd" && isOfRxe(self)) {
    QueuePairError.stop(self)
    sends.psn = first.psn
  }
  const again: Array<Flight> = []
  for (let at = 0; at < flights.length; at++) {
    const flight = flights.at(at)
    if (flight?.status === undefined && flight !== undefined) again.push(flight)
  }
  for (const flight of again) {
    if (sends.waits !== undefined) break
    if (flight.status !== undefined) continue
    const bytes = payloadOf(self, flight.request)
    if (typeof bytes === "string") flight.status = bytes
    else transmit(self, flight, bytes)
  }
  settle(self)
  watch(self)
  send(self)
}

const giveUp = (self: QueuePairObject): void => {
  const first = self.sends.flights.peek()
  if (first === undefined) return
  first.status = "retryExcErr"
  settle(self)
}

/** Waits for nothing: only another state gets it out of there. */
const stall = (self: QueuePairObject): void => {
  self.sends.waits = () => {}
}

/** The peer has no receive: sends again after the time that it asks for. */
const notReady = (self: QueuePairObject, peer: QueuePairObject, flight: Flight): void => {
  const { attributes: { rnrRetry = 0 }, sends, verbs } = self
  const time = Duration.micros(BigInt(rnrTimes[peer.attributes.minRnrTimer ?? 0] ?? 0))
  const again = () => {
    sends.waits = undefined
    verbs.fabric.work.run(() => transmitAgain(self))
  }
  const retry = () => {
    sends.waits = verbs.fabric.after(time, again)
  }
  sends.timer?.()
  sends.timer = undefined
  if (rnrRetry < 7) {
    if (sends.rnrRetries++ < rnrRetry) return retry()
    flight.status = "rnrRetryExcErr"
    return
  }
  // For ever: no timer runs while there is none.
  const waiting = Responder.inboxOf(peer, flight.request)?.receives.waiting
  if (waiting === undefined) return stall(self)
  waiting.add(retry)
  sends.waits = () => waiting.delete(retry)
}

const packetsOf = ({ attributes: { pathMtu = 1024 } }: QueuePairObject, length: number): number =>
  length <= pathMtu ? 1 : Math.ceil(length / pathMtu)

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
