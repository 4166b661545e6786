import type * as Errno from "@effect-rdma/core/Errno"
import * as Identifier from "@effect-rdma/core/Identifier"
import type * as CmEvent from "@effect-rdma/rdmacm/CmEvent"
import type * as ConnectionParameters from "@effect-rdma/rdmacm/ConnectionParameters"
import * as Effect from "effect/Effect"
import * as Connection from "./connection.ts"
import * as Ece from "./ece.ts"
import { moveToError } from "./onId.ts"
import * as Ports from "./ports.ts"
import * as QueuePair from "./queuePair.ts"
import { arrive, type CmState, hold, type IdState, makeId } from "./state.ts"

/** Asks the other side to connect (REQ), or for where to send datagrams to (SIDR REQ). */
export const request = (self: Connection.Connection): void => {
  const isDatagram = self.id.qpType === "ud"
  self.state = isDatagram ? "sidrReqSent" : "reqSent"
  Connection.persist(
    self,
    isDatagram ? Connection.datagramMillis : Connection.responseMillis,
    () => Connection.deliver(self.from, self.to, (there) => receiveRequest(there, self)),
    () => Connection.unreachable(self)
  )
}

/** Accepts a request (REP); its listener has heard of it. */
export const respond = (self: Connection.Connection): void => {
  const { peer } = self
  self.state = "repSent"
  Connection.persist(
    self,
    Connection.responseMillis,
    () => {
      if (peer !== undefined) Connection.deliver(self.from, self.to, () => receiveResponse(peer, self))
    },
    () => Connection.unreachable(self)
  )
}

/** Says that this side is ready (RTU). */
export const confirm = (self: Connection.Connection): Errno.ErrnoName | undefined => {
  if (self.state !== "repReceived") {
    Connection.reject(self, Connection.reasons.consumerDefined)
    return "EINVAL"
  }
  self.state = "established"
  sendConfirmation(self)
  return undefined
}

/** A message of the other side came before it said that it is ready. */
export const establish = (self: Connection.Connection): Errno.ErrnoName | undefined => {
  if (self.state === "established") return "EISCONN"
  if (self.state !== "repSent") return "EINVAL"
  confirmed(self)
  return undefined
}

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

const receiveRequest = (there: CmState, from: Connection.Connection): void => {
  const known = there.requests.get(from)
  if (known !== undefined) {
    if (known.state === "reqReceived") Connection.extend(from)
    return
  }
  const { peer: address, qpType } = from.id
  if (from.said === undefined || address === undefined) return
  const isDatagram = qpType === "ud"
  const key = Connection.queuePairOf(from, from.said)
  const stale = isDatagram ? undefined : there.remoteQueuePairs.get(key)
  if (stale !== undefined) {
    Connection.refuse(from, Connection.reasons.staleConnection)
    if (stale.state === "established") Connection.disconnect(stale)
    return
  }
  const listener = Ports.listenerOf(there, from.to.device, from.id, address)
  if (listener === undefined) {
    if (isDatagram) Connection.receiveAnswer(from, undefined, 1)
    else Connection.refuse(from, Connection.reasons.invalidServiceId)
    return
  }
  if (listener.backlog === 0) {
    // The kernel says nothing, so that the other side tries again; to a datagram id it says no.
    if (isDatagram) Connection.receiveAnswer(from, undefined, 2)
    return
  }
  const id = makeId(listener.channel, listener.portSpace, listener.qpType)
  const self = Connection.make({ manager: there, id, from: from.to, to: from.from, asks: false })
  self.peer = from
  self.heard = from.said
  self.state = isDatagram ? "sidrReqReceived" : "reqReceived"
  if (!isDatagram) Connection.takeQueuePair(self, key)
  there.requests.set(from, self)
  Object.assign(
    id,
    {
      step: "connected",
      isHeard: false,
      place: from.to,
      route: { from: from.to, to: from.from },
      local: address,
      peer: from.id.local,
      connection: self
    } satisfies Partial<IdState>
  )
  there.onDevice.add(id)
  listener.backlog--
  arrive({
    of: listener,
    membership: undefined,
    event: "connectRequest",
    got: getRequest(there, listener, id, self),
    dropped: () => forget(there, id, self)
  })
}

/** The id of a request is made when its event is got. */
const getRequest = (
  state: CmState,
  listener: IdState,
  id: IdState,
  self: Connection.Connection
): Effect.Effect<CmEvent.CmEvent | undefined> =>
  Effect.suspend(() => {
    const { heard } = self
    const listenId = listener.pointer
    listener.backlog++
    if (heard === undefined || listenId === undefined || id.step === "removed") {
      return Effect.as(Effect.sync(() => forget(state, id, self)), undefined)
    }
    const made = Effect.map(hold(state, id, self.from.device), (): CmEvent.CmEvent => {
      const { ece, qkey: _, ...offer } = heard
      const pointer = state.ids.make((pointer) => Object.assign(id, { pointer }))
      id.channel = listener.channel
      id.channel.ids++
      id.remoteEce = ece
      Object.assign(id.shown, { local: id.local, peer: id.peer, numPaths: 1 })
      const event = { event: "connectRequest", status: 0, id: pointer, listenId } as const
      const privateData = Connection.padded(offer.privateData, Connection.requestRoom(id))
      if (id.qpType === "ud") {
        const qpNum = Identifier.Qpn.make(0)
        return { ...event, ud: { privateData, ahAttr: undefined, qpNum, qkey: Identifier.QKey.make(0) } }
      }
      const depths = QueuePair.depthsOf(self)
      id.initiatorDepth = depths.initiatorDepth
      id.responderResources = depths.responderResources
      return { ...event, conn: { ...offer, ...depths, privateData } }
    })
    return Effect.catch(made, () => Effect.as(Effect.sync(() => forget(state, id, self)), undefined))
  })

const forget = ({ onDevice }: CmState, id: IdState, self: Connection.Connection): void => {
  Connection.destroy(self)
  id.step = "destroyed"
  onDevice.delete(id)
}

const receiveResponse = (self: Connection.Connection, from: Connection.Connection): void => {
  if (self.state === "established") return sendConfirmation(self)
  if (self.state === "repReceived") return Connection.extend(from)
  const { said } = from
  if (self.state !== "reqSent" || said === undefined) return
  const stale = Connection.takeQueuePair(self, Connection.queuePairOf(from, said))
  if (stale !== undefined) {
    Connection.receiveReject(from, Connection.reasons.staleConnection)
    if (stale.state === "established") Connection.disconnect(stale)
    return
  }
  self.stop()
  self.state = "repReceived"
  self.peer = from
  self.heard = said
  const { id } = self
  const { ece, qkey: _, ...offer } = said
  const privateData = Connection.padded(offer.privateData, Connection.room.rep)
  const conn: ConnectionParameters.ConnectionParameters = {
    ...offer,
    ...QueuePair.depthsOf(self),
    privateData,
    retryCount: 0
  }
  Connection.report(self, { event: "connectResponse", status: 0, conn }, (event) => {
    if (id.on.qp === undefined) {
      id.remoteEce = ece
      return Effect.succeed(event)
    }
    // librdmacm moves the queue pair that it made, and answers.
    return Effect.matchEffect(
      Effect.andThen(
        Effect.andThen(
          Ece.agree(self.manager, id, ece),
          QueuePair.move(self.manager, id, ["init", "rtr", "rts"])
        ),
        Effect.suspend(() => {
          const refused = id.step === "connected" ? confirm(self) : "EINVAL"
          return refused === undefined ? Effect.void : Effect.fail(refused)
        })
      ),
      {
        onSuccess: () => Effect.succeed({ ...event, event: "established" } as const),
        onFailure: () => {
          id.hasFailed = true
          return Effect.as(
            Effect.ignore(moveToError(self.manager, id)),
            {
              event: "connectError",
              status: -1
            } as const
          )
        }
      }
    )
  })
}

const sendConfirmation = ({ from, peer, to }: Connection.Connection): void => {
  if (peer === undefined) return
  Connection.deliver(from, to, () => {
    if (peer.state === "repSent") confirmed(peer)
  })
}

const confirmed = (self: Connection.Connection): void => {
  self.stop()
  self.state = "established"
  Connection.report(self, { event: "established", status: 0, conn: Connection.nothing })
}
