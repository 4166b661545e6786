/**
 * Connections of an id: listening, connecting, accepting, rejecting and disconnecting.
 *
 * @since 0.1.0
 */
import * as Resource from "@effect-rdma/core/Resource"
import * as QueuePair from "@effect-rdma/verbs/QueuePair"
import type * as QueuePairAttributes from "@effect-rdma/verbs/QueuePairAttributes"
import type { VerbsError } from "@effect-rdma/verbs/VerbsError"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type * as CmEvent from "../CmEvent.ts"
import type * as CmId from "../CmId.ts"
import type * as ConnectionError from "../ConnectionError.ts"
import * as ConnectionParameters from "../ConnectionParameters.ts"
import type { RdmaCmError } from "../RdmaCmError.ts"
import * as Events from "./channelEvents.ts"
import { connectionError, onDevice, refused, withEvent } from "./idOperation.ts"

/**
 * Takes requests to connect from now on: `rdma_listen(3)`. An id that is not bound gets every address and a free port.
 * `backlog` bounds the requests that nobody has taken; 0, the default, is the most that the host allows. It ends with the id.
 * Fails with `EINVAL` when the id listens or connects already, and with `EADDRINUSE` when another one listens there.
 *
 * @category combinators
 * @since 0.1.0
 */
export const listen = (
  self: CmId.CmId,
  options: { readonly backlog?: number } = {}
): Effect.Effect<void, RdmaCmError | Schema.SchemaError> =>
  Effect.flatMap(
    decodeBacklog(options),
    ({ backlog }) => Resource.use(self, (id) => self.channel.cm.listen(id, backlog))
  )

/**
 * Asks the other side to connect, and waits for its answer: `rdma_connect(3)`. The route must be resolved. With a queue pair
 * of verbs, give its `qpNum`; the answer is a `connectResponse`, on which the queue pair is moved to RTR and RTS and then
 * {@link establish} called. A datagram id is `established` at once, and so is one with a queue pair of librdmacm's.
 *
 * Interrupting it leaves an attempt that the end of the id ends. Fails with a `ConnectionError` as the events tell; with
 * `EINVAL` before the call when the id is bound to no device, and from it for private data that does not fit.
 *
 * @category combinators
 * @since 0.1.0
 */
export const connect = (
  self: CmId.CmId,
  parameters: ConnectionParameters.Input = {}
): Effect.Effect<CmEvent.CmEvent, RdmaCmError | ConnectionError.ConnectionError | Schema.SchemaError> =>
  Effect.flatMap(decodeParameters(parameters), (parameters) =>
    awaitConnection(
      self,
      "rdma_connect",
      ["connectResponse", "established", ...failures],
      onDevice(self, "rdma_connect", (id) => self.channel.cm.connect(id, parameters))
    ))

/**
 * Accepts the request of an id, and waits until the other side is connected: `rdma_accept(3)`. A queue pair of verbs is to be
 * in RTS, and its `qpNum` given. A datagram id is accepted at once.
 *
 * Fails as {@link connect}, and with `EINVAL` before the call for an id that was accepted: the kernel would end the connection, and
 * the destruction of the id would block for a minute.
 *
 * @category combinators
 * @since 0.1.0
 */
export const accept = (
  self: CmId.CmId,
  parameters: ConnectionParameters.Input = {}
): Effect.Effect<void, RdmaCmError | ConnectionError.ConnectionError | Schema.SchemaError> =>
  Effect.flatMap(decodeParameters(parameters), (parameters) => {
    const { progress } = self
    const start = onDevice(self, "rdma_accept", (id) => {
      if (progress.isAccepted) return Effect.fail(refused("rdma_accept", "EINVAL", "It was accepted before"))
      progress.isAccepted = true
      return Effect.onError(self.channel.cm.accept(id, parameters), () =>
        Effect.sync(() => {
          progress.isAccepted = false
        }))
    })
    return isDatagram(self)
      ? start
      : Effect.asVoid(awaitConnection(self, "rdma_accept", ["established", ...failures], start))
  })

/**
 * Tells the other side, which has accepted, that this one is ready: `rdma_establish(3)`. Only the side that connected does so,
 * and only with a queue pair of verbs. Fails with `EINVAL` in any other state.
 *
 * @category combinators
 * @since 0.1.0
 */
export const establish = (self: CmId.CmId): Effect.Effect<void, RdmaCmError> =>
  Resource.use(self, (id) =>
    Effect.map(self.channel.cm.establish(id), () => {
      self.progress.isConnected = true
    }))

/**
 * Rejects the request of an id: `rdma_reject(3)`. The id is still the scope's to release. Up to 148 bytes of private data reach
 * the other side. Fails with `EINVAL` when the id has no request.
 *
 * @category combinators
 * @since 0.1.0
 */
export const reject = (
  self: CmId.CmId,
  privateData: Uint8Array = new Uint8Array()
): Effect.Effect<void, RdmaCmError | Schema.SchemaError> =>
  Effect.flatMap(
    decodePrivateData({ privateData }),
    ({ privateData }) => Resource.use(self, (id) => self.channel.cm.reject(id, privateData))
  )

/**
 * Rejects the request of an id because of the options of a vendor that {@link "CmId".getRemoteEce} told: `rdma_reject_ece`. The
 * other side's reason is `vendorOptionNotSupported`. Fails as {@link reject}, and with `EOPNOTSUPP` where the library is older
 * than rdma-core 31.
 *
 * @category combinators
 * @since 0.1.0
 */
export const rejectEce = (
  self: CmId.CmId,
  privateData: Uint8Array = new Uint8Array()
): Effect.Effect<void, RdmaCmError | Schema.SchemaError> =>
  Effect.flatMap(
    decodePrivateData({ privateData }),
    ({ privateData }) => Resource.use(self, (id) => self.channel.cm.rejectEce(id, privateData))
  )

/**
 * Tells the connection manager of an event of the queue pair: `rdma_notify(3)`. `commEst`: a message came before the other
 * side's last word, which may be lost, so the connection is `established`. `pathMig`: the queue pair went over to its other
 * path. One that is established already stays so. Fails with `EINVAL` when the id has not come so far.
 *
 * @category combinators
 * @since 0.1.0
 */
export const notify = (self: CmId.CmId, event: "commEst" | "pathMig"): Effect.Effect<void, RdmaCmError> =>
  Effect.catchReason(
    Resource.use(self, (id) => self.channel.cm.notify(id, event)),
    "RdmaCmError",
    "EISCONN",
    () => Effect.void
  )

/**
 * Puts an event of the program itself, a `user`, onto the channel of an id: `rdma_write_cm_event(3)`. Whoever asks the channel
 * for its next event gets it, with the status and the 64 bits of `arg`. Fails with `EOPNOTSUPP` where the library is older than
 * rdma-core 60.
 *
 * @category combinators
 * @since 0.1.0
 */
export const writeEvent = (
  self: CmId.CmId,
  options: { readonly status?: number; readonly arg?: bigint } = {}
): Effect.Effect<void, RdmaCmError | Schema.SchemaError> =>
  Effect.flatMap(
    decodeUserEvent(options),
    ({ arg, status }) => Resource.use(self, (id) => self.channel.cm.writeCmEvent(id, status, arg))
  )

/**
 * Ends a connection, and waits until the other side knows or has not answered for long: `rdma_disconnect(3)`. After the other
 * side did so, it answers. Of an id without a connection there is nothing to wait for. A queue pair of verbs stays as it is:
 * `QueuePair.toErr` flushes it. Fails with `EINVAL` before the call when the id is bound to no device, and from it when the id has
 * never asked to connect.
 *
 * @category combinators
 * @since 0.1.0
 */
export const disconnect = (self: CmId.CmId): Effect.Effect<void, RdmaCmError> =>
  Effect.andThen(
    onDevice(self, "rdma_disconnect", (id) => self.channel.cm.disconnect(id)),
    Effect.suspend(() => self.progress.isConnected ? awaitDisconnected(self) : Effect.void)
  )

/**
 * Waits until the connection has ended, by whichever side, or the device is gone. Then {@link disconnect} answers the other
 * side, which waits for it. The event is left to who asks the channel for it.
 *
 * @category queries
 * @since 0.1.0
 */
export const awaitDisconnected = (self: CmId.CmId): Effect.Effect<void, RdmaCmError> =>
  Effect.suspend(() =>
    Resource.whileLive(
      self,
      Events.until(() => self.channel, Resource.raw(self), () => self.progress.isDisconnected)
    )
  )

/**
 * Moves a queue pair of verbs to a state, with the attributes that the connection manager has for it: `rdma_init_qp_attr(3)`
 * and `ibv_modify_qp`. The side that connects does INIT before, RTR and RTS after the answer; the one that accepts does all
 * three before. `changes` go in the place of what it has: its `minRnrTimer` is 0, which lets a sender that finds no receive
 * wait for 655 ms. Fails with `EINVAL` when the id has not come so far, and as `QueuePair.modify`.
 *
 * @category combinators
 * @since 0.1.0
 */
export const moveQueuePair = (
  self: CmId.CmId,
  queuePair: QueuePair.QueuePair,
  qpState: "init" | "rtr" | "rts",
  changes: Omit<typeof QueuePairAttributes.Modification.Encoded, "qpState"> = {}
): Effect.Effect<void, RdmaCmError | VerbsError | Schema.SchemaError> => {
  // For datagrams C has the attributes of INIT alone, whichever are asked for.
  if (queuePair.qpType === "ud" && qpState !== "init") {
    return QueuePair.modify(queuePair, { ...(qpState === "rtr" ? { qpState } : { qpState, sqPsn: 0 }), ...changes })
  }
  return Effect.flatMap(
    Resource.use(self, (id) => self.channel.cm.initQpAttr(id, qpState)),
    (attributes) => QueuePair.modify(queuePair, { ...attributes, ...changes })
  )
}

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

const failures = ["rejected", "unreachable", "connectError", "disconnected", "deviceRemoval"] as const

const isDatagram = ({ portSpace }: CmId.CmId): boolean => portSpace === "udp" || portSpace === "ipoib"

const awaitConnection = (
  self: CmId.CmId,
  call: string,
  types: ReadonlyArray<CmEvent.CmEventType>,
  start: Effect.Effect<void, RdmaCmError>
): Effect.Effect<CmEvent.CmEvent, RdmaCmError | ConnectionError.ConnectionError> =>
  Effect.flatMap(withEvent(self, "once", types, start), (event) => {
    const error = connectionError(call, event)
    return error === undefined ? Effect.succeed(event) : Effect.fail(error)
  })

const exactly = { onExcessProperty: "error" } as const

const decodeParameters = (parameters: ConnectionParameters.Input) =>
  Schema.decodeEffect(ConnectionParameters.ConnectionParameters)(parameters, exactly)

const decodeBacklog = Schema.decodeEffect(Schema.Struct({
  backlog: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 0x7fff_ffff })).pipe(
    Schema.withDecodingDefault(Effect.succeed(0))
  )
}))

const decodeUserEvent = Schema.decodeEffect(Schema.Struct({
  status: Schema.Int.check(Schema.isInt32()).pipe(Schema.withDecodingDefault(Effect.succeed(0))),
  arg: Schema.BigInt.check(Schema.isBetweenBigInt({ minimum: 0n, maximum: 2n ** 64n - 1n })).pipe(
    Schema.withDecodingDefault(Effect.succeed(0n))
  )
}))

const decodePrivateData = Schema.decodeEffect(Schema.Struct({
  privateData: Schema.Uint8Array.check(Schema.isMaxLength(0xff))
}))
