import * as Errno from "@effect-rdma/core/Errno"
import * as Identifier from "@effect-rdma/core/Identifier"
import * as Lid from "@effect-rdma/core/Lid"
import type * as ConnectionParameters from "@effect-rdma/rdmacm/ConnectionParameters"
import type * as AddressHandleAttributes from "@effect-rdma/verbs/AddressHandleAttributes"
import type * as Ece from "@effect-rdma/verbs/Ece"
import * as Effect from "effect/Effect"
import * as Route from "../verbs/route.ts"
import { portOf } from "../verbs/state.ts"
import * as Address from "./address.ts"
import { moveToError } from "./onId.ts"
import { type AnyEvent, type CmState, type IdState, managerOf, nextPsn, notify } from "./state.ts"

/** `enum ib_cm_state` of the kernel. The messages that ask for more time have no states of their own here. */
export type ConnectionState =
  | "idle"
  | "reqSent"
  | "reqReceived"
  | "repSent"
  | "repReceived"
  | "established"
  | "dreqSent"
  | "dreqReceived"
  | "timewait"
  | "sidrReqSent"
  | "sidrReqReceived"
  | "destroyed"

/** What a request or a response says of its side. */
export interface Offer extends ConnectionParameters.ConnectionParameters {
  readonly ece: Ece.Ece
  readonly qkey: Identifier.QKey
}

/** One side of a connection, as the kernel has it. */
export interface Connection {
  readonly manager: CmState
  readonly id: IdState
  readonly from: Address.Interface
  readonly to: Address.Interface
  readonly psn: Identifier.Psn
  /** Whether it is the side that asks for the connection. */
  readonly asks: boolean
  state: ConnectionState
  peer: Connection | undefined
  /** What this side said, and what the other one did. */
  said: Offer | undefined
  heard: Offer | undefined
  /** The queue pair of the other side that is taken. */
  taken: string | undefined
  /** How long it waits for an answer before it sends again. */
  patience: number
  /** Sends what is not answered once more, or gives up. */
  again: () => void
  stop: () => void
}

export const make = (
  parts: Pick<Connection, "manager" | "id" | "from" | "to" | "asks">
): Connection => ({
  ...parts,
  psn: nextPsn(parts.manager),
  state: "idle",
  peer: undefined,
  said: undefined,
  heard: undefined,
  taken: undefined,
  patience: 0,
  again: () => {},
  stop: () => {}
})

/** The bytes of private data that a message has room for. */
export const room = { rep: 196, rej: 148, sidrRep: 136 } as const

/** A request between addresses of IP has those in front. */
export const requestRoom = ({ peer, qpType }: IdState): number =>
  (qpType === "ud" ? 216 : 92) - (peer?._tag === "IbAddress" ? 0 : 36)

export const padded = (bytes: Uint8Array, length: number): Uint8Array => {
  const all = new Uint8Array(length)
  all.set(bytes)
  return all
}

/** Delivers a message, unless a link on the way is down or loses it. */
export const deliver = (from: Address.Interface, to: Address.Interface, run: (there: CmState) => void): void => {
  const there = managerOf(to.device)
  if (there === undefined || !Address.isOpen(there.fabric, from, to)) return
  Route.carry(there.fabric, from, to, { kind: "connection", bytes: notEncoded }, () => {
    if (Address.isOpen(there.fabric, from, to)) run(there)
  }, messageLength)
}

/** Sends a message until it is answered or has been sent often enough. */
export const persist = (self: Connection, patience: number, send: () => void, giveUp: () => void): void => {
  let retries = 0
  self.stop()
  self.patience = patience
  self.again = () => {
    if (retries++ === maxRetries) return giveUp()
    wait(self)
    send()
  }
  wait(self)
  send()
}

/** The other side has heard it, and asks for more time (MRA). */
export const extend = (self: Connection): void => {
  self.stop()
  self.patience = extendedMillis
  wait(self)
}

/** Tells the program, as long as the id is in a connection. */
export const report = (
  { id }: Connection,
  event: AnyEvent,
  then?: (event: AnyEvent) => Effect.Effect<AnyEvent | undefined>
): void => {
  if (id.step === "connected") notify(id, event, then)
}

export const unreachable = (self: Connection): void => {
  reset(self)
  report(self, { event: "unreachable", status: timedOut })
}

/** What the events of a connection carry when there is nothing to say. */
export const nothing: ConnectionParameters.ConnectionParameters = {
  privateData: new Uint8Array(),
  responderResources: 0,
  initiatorDepth: 0,
  flowControl: false,
  retryCount: 0,
  rnrRetryCount: 0,
  srq: false,
  qpNum: Identifier.Qpn.make(0)
}

/** A queue pair as the other side knows it. */
export const queuePairOf = (self: Connection, { qpNum }: Offer): string =>
  `${self.from.device.description.guid} ${qpNum}`

/** Takes the queue pair of the other side, or gives the connection that it has. */
export const takeQueuePair = (self: Connection, key: string): Connection | undefined => {
  const { remoteQueuePairs } = self.manager
  const other = remoteQueuePairs.get(key)
  if (other !== undefined) return other
  remoteQueuePairs.set(self.taken = key, self)
  return undefined
}

export const reset = (self: Connection): void => {
  self.stop()
  self.state = "idle"
  forget(self)
}

// -----------------------------------------------------------------------------
// Rejections
// -----------------------------------------------------------------------------

export const reasons = {
  timeout: 4,
  invalidServiceId: 8,
  staleConnection: 10,
  consumerDefined: 28,
  vendorOption: 35
} as const

/** Rejects what the other side sent last. */
export const reject = (
  self: Connection,
  reason: number,
  privateData: Uint8Array = new Uint8Array()
): Errno.ErrnoName | undefined => {
  switch (self.state) {
    case "reqSent":
    case "reqReceived":
    case "repReceived":
      reset(self)
      break
    case "repSent":
      enterTimewait(self)
      break
    default:
      return "EINVAL"
  }
  deliver(self.from, self.to, () => {
    // A request arrives before the rejection of who has sent both.
    const peer = peerOf(self)
    if (peer !== undefined) receiveReject(peer, reason, privateData)
  })
  return undefined
}

/** Rejects a request that no id is made for. */
export const refuse = (asker: Connection, reason: number): void =>
  deliver(asker.to, asker.from, () => receiveReject(asker, reason))

export const receiveReject = (self: Connection, reason: number, privateData: Uint8Array = new Uint8Array()): void => {
  switch (self.state) {
    case "reqSent":
    case "reqReceived":
    case "repSent":
      if (reason === reasons.staleConnection) enterTimewait(self)
      else reset(self)
      break
    case "repReceived":
    case "dreqSent":
      enterTimewait(self)
      break
    default:
      return
  }
  const conn = { ...nothing, privateData: padded(privateData, room.rej) }
  // librdmacm flushes the queue pair that it made, unless it knows of the failure already.
  report(self, { event: "rejected", status: reason, conn }, (event) =>
    self.id.hasFailed
      ? Effect.succeed(undefined)
      : Effect.as(Effect.ignore(moveToError(self.manager, self.id)), event))
}

// -----------------------------------------------------------------------------
// Disconnections
// -----------------------------------------------------------------------------

/** Asks for the end of a connection, or agrees to it. In any other state there is nothing to say. */
export const disconnect = (self: Connection): void => {
  if (self.state === "established") {
    self.state = "dreqSent"
    persist(self, responseMillis, () => sendDisconnect(self), () => {
      enterTimewait(self)
      reportEnd(self, timedOut)
    })
  } else if (self.state === "dreqReceived") {
    enterTimewait(self)
    agree(self)
  }
}

/** Ends a connection whose id is destroyed, and tells the other side once. */
export const destroy = (self: Connection): void => {
  switch (self.state) {
    case "reqSent":
      reject(self, reasons.timeout)
      break
    case "reqReceived":
    case "repSent":
    case "repReceived":
      reject(self, reasons.consumerDefined)
      break
    case "established":
      sendDisconnect(self)
      break
    case "dreqReceived":
      agree(self)
      break
    case "sidrReqReceived":
      answer(self, 2)
  }
  self.stop()
  forget(self)
  self.state = "destroyed"
}

/** Answers the request of a datagram id. */
export const answer = (self: Connection, status: number): void => {
  const { peer } = self
  self.state = "idle"
  if (peer !== undefined) deliver(self.from, self.to, () => receiveAnswer(peer, self, status))
}

export const receiveAnswer = (self: Connection, from: Connection | undefined, status: number): void => {
  if (self.state !== "sidrReqSent") return
  reset(self)
  if (status !== 0 || from?.said === undefined) return report(self, { event: "unreachable", status })
  const { privateData, qkey, qpNum } = from.said
  const ud = { privateData: padded(privateData, room.sidrRep), ahAttr: addressHandleOf(self), qpNum, qkey }
  report(self, { event: "established", status: 0, ud })
}

/** The way to the other side, as an address handle. */
export const addressHandleOf = (
  { from, id: { typeOfService }, to }: Connection
): AddressHandleAttributes.AddressHandleAttributes => {
  const base = {
    portNum: from.portNum,
    sl: Identifier.ServiceLevel.make(0),
    srcPathBits: Identifier.PathBits.make(0),
    staticRate: "max"
  } as const
  if (from.source.type === "ib") return { ...base, dlid: portOf(to.device, to.portNum)?.lid ?? Lid.Lid.make(0) }
  return {
    ...base,
    dlid: Lid.Lid.make(0),
    grh: {
      dgid: to.source.gid,
      flowLabel: Identifier.FlowLabel.make(0),
      sgidIndex: from.source.index,
      hopLimit: Identifier.HopLimit.make(64),
      trafficClass: Identifier.TrafficClass.make(typeOfService)
    }
  }
}

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

const timedOut = -Errno.numberOf("ETIMEDOUT")

const maxRetries = 15

/** A MAD, which is not encoded here. */
const notEncoded = new Uint8Array()
const messageLength = 256

/** The time that the other side has for an answer, and twice that of the way. */
export const responseMillis = 6144
export const datagramMillis = 4096

const extendedMillis = 65_536

const timewaitMillis = 2048

const wait = (self: Connection): void => {
  self.stop = self.manager.fabric.after(self.patience, () => self.again())
}

const forget = (self: Connection): void => {
  if (self.taken !== undefined) self.manager.remoteQueuePairs.delete(self.taken)
  self.taken = undefined
}

/** Who asked knows the other side from its response on. */
const peerOf = (self: Connection): Connection | undefined => self.peer ?? managerOf(self.to.device)?.requests.get(self)

const enterTimewait = (self: Connection): void => {
  reset(self)
  self.state = "timewait"
  self.stop = self.manager.fabric.after(timewaitMillis, () => {
    self.state = "idle"
    if (self.id.step === "disconnected") notify(self.id, { event: "timewaitExit", status: 0 })
  })
}

const reportEnd = ({ id }: Connection, status: number): void => {
  if (id.step !== "connected") return
  id.step = "disconnected"
  notify(
    id,
    { event: "disconnected", status, conn: nothing },
    (event) => Effect.succeed(id.hasFailed ? undefined : event)
  )
}

const sendDisconnect = (self: Connection): void => {
  const { peer } = self
  if (peer !== undefined) deliver(self.from, self.to, () => receiveDisconnect(peer))
}

const receiveDisconnect = (self: Connection): void => {
  switch (self.state) {
    case "established":
    case "repSent":
    case "dreqSent":
      self.stop()
      self.state = "dreqReceived"
      return reportEnd(self, 0)
    // Nobody is there any more, who might be asked.
    case "timewait":
    case "idle":
    case "destroyed":
      return agree(self)
  }
}

const agree = (self: Connection): void => {
  const { peer } = self
  if (peer === undefined) return
  deliver(self.from, self.to, () => {
    if (peer.state !== "dreqSent" && peer.state !== "dreqReceived") return
    enterTimewait(peer)
    reportEnd(peer, 0)
  })
}
