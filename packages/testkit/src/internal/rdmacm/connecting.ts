import type * as Errno from "@effect-rdma/core/Errno"
import type * as ConnectionParameters from "@effect-rdma/rdmacm/ConnectionParameters"
import type { RdmaCm } from "@effect-rdma/rdmacm/RdmaCm"
import * as Effect from "effect/Effect"
import { any } from "./address.ts"
import { bind } from "./binding.ts"
import * as Connection from "./connection.ts"
import * as Handshake from "./handshake.ts"
import { deviceOf, errorIn, moveToError } from "./onId.ts"
import * as Ports from "./ports.ts"
import * as QueuePair from "./queuePair.ts"
import { type CmState, fail, type IdState, on, outcome } from "./state.ts"

/** Listening, connecting, accepting, rejecting and disconnecting on one host. */
export const make = (state: CmState) =>
  ({
    listen: (id, backlog) =>
      on(state, "rdma_listen", id, (self) =>
        Effect.suspend(() => {
          const call = "rdma_listen"
          if (self.step !== "bound" && self.step !== "idle") return fail(call, "EINVAL", { backlog })
          const bound = self.step === "idle" ? bind(state, call, self, any) : Effect.void
          return Effect.flatMap(bound, () => {
            // One that listens shares its port with nobody.
            const refused = self.local && self.reuseAddress ? Ports.refuse(state, self, self.local, false) : undefined
            if (refused !== undefined) return fail(call, refused, { backlog })
            self.reuseAddress = false
            self.step = "listening"
            self.backlog = backlog > 0 && backlog < maxBacklog ? backlog : maxBacklog
            return Effect.void
          })
        })),

    connect: (id, parameters) =>
      on(state, "rdma_connect", id, (self) => {
        const call = "rdma_connect"
        const input = inputOf(parameters)
        const device = deviceOf(call, self)
        if (tooDeep(self, parameters)) return fail(call, "EINVAL", input)
        const { attributes } = device.description
        self.initiatorDepth = orMost(parameters.initiatorDepth, attributes.maxQpInitRdAtom)
        self.responderResources = orMost(parameters.responderResources, attributes.maxQpRdAtom)
        const { route } = self
        const isTooLong = parameters.privateData.length > Connection.requestRoom(self)
        if (self.step !== "routeResolved" || route?.to === undefined || isTooLong) return fail(call, "EINVAL", input)
        const { from, to } = route
        const connection = Connection.make({ manager: state, id: self, from, to, asks: true })
        connection.said = offerOf(self, parameters, self.localEce.vendorId)
        self.connection = connection
        self.step = "connected"
        Handshake.request(connection)
        return Effect.void
      }),

    accept: (id, parameters) =>
      on(state, "rdma_accept", id, (self) => {
        const call = "rdma_accept"
        const input = inputOf(parameters)
        const device = deviceOf(call, self)
        if (tooDeep(self, parameters)) return fail(call, "EINVAL", input)
        const { attributes } = device.description
        const { initiatorDepth, responderResources } = parameters
        self.initiatorDepth = initiatorDepth === most
          ? Math.min(self.initiatorDepth, attributes.maxQpInitRdAtom)
          : initiatorDepth
        self.responderResources = responderResources === most
          ? Math.min(self.responderResources, attributes.maxQpRdAtom)
          : responderResources
        const moved = self.qpType === "ud"
          ? Effect.void
          : Effect.mapError(QueuePair.move(state, self, ["init", "rtr", "rts"], self), errorIn(call, input))
        return Effect.andThen(
          moved,
          Effect.suspend(() => {
            const refused = accept(self, offerOf(self, parameters, self.remoteEce.vendorId))
            if (refused === undefined) return Effect.void
            return Effect.andThen(Effect.ignore(moveToError(state, self)), fail(call, refused, input))
          })
        )
      }),

    establish: (id) =>
      on(state, "rdma_establish", id, ({ connection, on, step }) =>
        outcome(
          "rdma_establish",
          on.qp !== undefined || connection === undefined || step !== "connected"
            ? "EINVAL"
            : Handshake.confirm(connection)
        )),

    reject: (id, privateData) =>
      on(state, "rdma_reject", id, ({ connection, qpType }) => {
        const isTooLong = privateData.length > (qpType === "ud" ? Connection.room.sidrRep : Connection.room.rej)
        return outcome(
          "rdma_reject",
          connection === undefined || isTooLong ? "EINVAL" : reject(connection, privateData),
          { privateDataLen: privateData.length }
        )
      }),

    disconnect: (id) =>
      on(state, "rdma_disconnect", id, (self) => {
        const call = "rdma_disconnect"
        deviceOf(call, self)
        return Effect.andThen(
          Effect.mapError(moveToError(state, self), errorIn(call, {})),
          Effect.suspend(() => {
            if (self.connection === undefined) return self.step === "listening" ? Effect.void : fail(call, "EINVAL")
            Connection.disconnect(self.connection)
            return Effect.void
          })
        )
      }),

    initQpAttr: (id, qpState) =>
      on(state, "rdma_init_qp_attr", id, (self) => {
        const attributes = QueuePair.attributesFor(self, qpState)
        return typeof attributes === "string"
          ? fail("rdma_init_qp_attr", attributes, { qpState })
          : Effect.succeed(attributes)
      })
  }) satisfies Partial<RdmaCm["Service"]>

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

/** `net.rdma_ucm.max_backlog`. */
const maxBacklog = 1024

/** `RDMA_MAX_RESP_RES` and `RDMA_MAX_INIT_DEPTH`: as many as the device can. */
const most = 0xff

const orMost = (count: number, limit: number): number => count === most ? limit & 0xff : count

const inputOf = ({ privateData, qpNum }: ConnectionParameters.ConnectionParameters) => ({
  qpNum,
  privateDataLen: privateData.length
})

/** What librdmacm looks at by itself, and of the port space of TCP alone. */
const tooDeep = (
  { portSpace, shown: { device } }: IdState,
  { initiatorDepth, responderResources }: ConnectionParameters.ConnectionParameters
): boolean => {
  if (portSpace !== "tcp" || device === undefined) return false
  const { maxQpInitRdAtom, maxQpRdAtom } = device.description.attributes
  return (responderResources !== most && responderResources > (maxQpRdAtom & 0xff)) ||
    (initiatorDepth !== most && initiatorDepth > (maxQpInitRdAtom & 0xff))
}

/** What this side says of itself; the queue pair that librdmacm made counts before the number that was given. */
const offerOf = (
  self: IdState,
  parameters: ConnectionParameters.ConnectionParameters,
  vendorId: number
): Connection.Offer => ({
  ...parameters,
  ...self.on.made,
  privateData: parameters.privateData.slice(),
  initiatorDepth: self.initiatorDepth,
  responderResources: self.responderResources,
  ece: { vendorId, options: self.localEce.options, compMask: 0 },
  qkey: QueuePair.datagramKey
})

const accept = (self: IdState, said: Connection.Offer): Errno.ErrnoName | undefined => {
  const { connection, step } = self
  if (step !== "connected" || connection === undefined) return "EINVAL"
  const isDatagram = self.qpType === "ud"
  const room = isDatagram ? Connection.room.sidrRep : Connection.room.rep
  const waits = isDatagram ? "sidrReqReceived" : "reqReceived"
  if (connection.state !== waits || said.privateData.length > room) {
    // The kernel does not leave the other side waiting.
    reject(connection, new Uint8Array())
    return "EINVAL"
  }
  self.isHeard = true
  connection.said = said
  if (isDatagram) Connection.answer(connection, 0)
  else Handshake.respond(connection)
  return undefined
}

const reject = (connection: Connection.Connection, privateData: Uint8Array): Errno.ErrnoName | undefined => {
  if (connection.id.qpType !== "ud") {
    return Connection.reject(connection, Connection.reasons.consumerDefined, privateData)
  }
  if (connection.state !== "sidrReqReceived") return "EINVAL"
  Connection.answer(connection, 2)
  return undefined
}
