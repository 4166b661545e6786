/**
 * Datagrams: messages to any number of peers, without a connection, an order or an acknowledgement.
 *
 * @since 0.1.0
 */
import * as Resource from "@effect-rdma/core/Resource"
import * as AddressHandle from "@effect-rdma/verbs/AddressHandle"
import type * as ProtectionDomain from "@effect-rdma/verbs/ProtectionDomain"
import type * as QueuePair from "@effect-rdma/verbs/QueuePair"
import type * as ReceivedDatagram from "@effect-rdma/verbs/ReceivedDatagram"
import type * as Verbs from "@effect-rdma/verbs/Verbs"
import type { VerbsError } from "@effect-rdma/verbs/VerbsError"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Schedule from "effect/Schedule"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import * as CmAddress from "./CmAddress.ts"
import * as CmId from "./CmId.ts"
import type * as ConnectionError from "./ConnectionError.ts"
import * as ConnectionOptions from "./ConnectionOptions.ts"
import * as Destination from "./Destination.ts"
import * as EventChannel from "./EventChannel.ts"
import { attempts } from "./internal/attempts.ts"
import * as Datagrams from "./internal/datagrams.ts"
import { refused } from "./internal/idOperation.ts"
import * as Messages from "./internal/messages.ts"
import { inOwnScope } from "./internal/ownScope.ts"
import { frame, PrivateData, unframe } from "./internal/privateData.ts"
import { watch } from "./internal/watch.ts"
import type * as RdmaCm from "./RdmaCm.ts"
import type { RdmaCmError } from "./RdmaCmError.ts"

/**
 * A socket. `maxLength` is the most bytes of a datagram: what the MTU of its port carries. `device`, `portNum` and
 * `localAddress` say where it is.
 *
 * @category models
 * @since 0.1.0
 */
export interface DatagramSocket {
  readonly id: CmId.CmId
  readonly queuePair: QueuePair.QueuePair<"ud">
  readonly domain: ProtectionDomain.ProtectionDomain
  readonly device: string
  readonly portNum: number
  readonly localAddress: CmAddress.CmAddress
  readonly maxLength: number
  readonly qkey: number
  /** @internal */
  readonly messages: Messages.Messages<"ud">
}

/**
 * Where datagrams go: a queue pair behind an address.
 *
 * @category models
 * @since 0.1.0
 */
export interface DatagramPeer {
  readonly handle: AddressHandle.AddressHandle
  readonly qpNum: number
  readonly qkey: number
}

/**
 * A datagram that was received, and what its completion tells of the sender.
 *
 * @category models
 * @since 0.1.0
 */
export interface Datagram {
  readonly bytes: Uint8Array
  readonly qpNum: number
  readonly sender: ReceivedDatagram.ReceivedDatagram
}

/**
 * How sending and receiving fails.
 *
 * @category errors
 * @since 0.1.0
 */
export type TransferError = Messages.Failure

/**
 * How many datagrams may be under way, and the domain to use, as for connections.
 *
 * @category models
 * @since 0.1.0
 */
export interface Depths extends Partial<typeof ConnectionOptions.Depths.Encoded> {
  readonly domain?: ProtectionDomain.ProtectionDomain
}

/**
 * Opens a socket on an address of this host, where {@link lookup} finds it: whoever asks is told its queue pair and up to 135
 * bytes of `privateData`. Port 0 is a free one. The address must be that of a device, not a wildcard. Owned by the scope.
 *
 * Fails with `EADDRINUSE` when somebody listens there, with `EADDRNOTAVAIL` for an address of somebody else, with `EINVAL`
 * before any call for a wildcard.
 *
 * ```ts
 * import { DatagramSocket } from "@effect-rdma/rdmacm"
 * import { Effect } from "effect"
 *
 * export const answering = Effect.scoped(Effect.gen(function*() {
 *   const socket = yield* DatagramSocket.listen({ address: "10.0.0.1:7471" })
 *   const datagram = yield* DatagramSocket.receive(socket)
 *   const peer = yield* DatagramSocket.senderOf(socket, datagram)
 *   yield* DatagramSocket.send(socket, peer, datagram.bytes)
 * }))
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const listen = (
  options: Depths & { readonly address: Destination.Input; readonly privateData?: Uint8Array }
): Effect.Effect<DatagramSocket, ConnectionError.ConnectError, RdmaCm.RdmaCm | Verbs.Verbs | Scope.Scope> =>
  Effect.flatMap(
    decodeListen(options),
    ({ address: destination, privateData, ...depths }) =>
      Destination.firstOf(
        destination,
        { portSpace: "udp", isPassive: true },
        (address) =>
          inOwnScope(Effect.gen(function*() {
            const id = yield* CmId.make(yield* EventChannel.make(), "udp")
            yield* CmId.bind(id, address)
            const socket = yield* Datagrams.open(id, { ...depths, domain: options.domain })
            yield* CmId.listen(id)
            yield* Messages.work(socket.messages, answerAll(socket, frame(privateData)))
            yield* watch(id, socket.messages)
            return socket
          }))
      )
  )

/**
 * Opens a socket on the device that a destination is reached over, for talks with whoever is there: {@link lookup} says how to
 * send to it. Owned by the scope. `timeout` bounds each attempt at an address of a name, and `retry` says which errors are
 * tried again. Fails as `CmId.resolveAddress`.
 *
 * @category constructors
 * @since 0.1.0
 */
export const towards = (
  options: Depths & {
    readonly address: Destination.Input
    readonly source?: CmAddress.Input
    readonly timeout?: Duration.Input
    readonly retry?: Schedule.Schedule<unknown, ConnectionError.ConnectError>
  }
): Effect.Effect<DatagramSocket, ConnectionError.ConnectError, RdmaCm.RdmaCm | Verbs.Verbs | Scope.Scope> =>
  Effect.flatMap(
    decodeTowards(options),
    ({ address, source, ...depths }) =>
      attempts(address, { ...options, portSpace: "udp" }, (destination) =>
        Effect.gen(function*() {
          const id = yield* CmId.make(yield* EventChannel.make(), "udp")
          yield* CmId.resolveAddress(id, { destination, ...(source === undefined ? undefined : { source }) })
          const socket = yield* Datagrams.open(id, { ...depths, domain: options.domain })
          yield* watch(id, socket.messages)
          return socket
        }))
  )

/**
 * Asks an address which queue pair listens there, and gives where to send to, owned by the scope. Up to 179 bytes of
 * `privateData` go with the question. It waits without a thread and can be interrupted; `timeout` and `retry` are as in
 * {@link towards}.
 *
 * Fails with `PeerUnreachable`, of status 1 when nobody listens there and 2 when it was rejected; with `EINVAL` when the address
 * is reached over another device than the socket's; and as `CmId.resolveAddress`.
 *
 * ```ts
 * import { DatagramSocket } from "@effect-rdma/rdmacm"
 * import { Effect } from "effect"
 *
 * export const ask = Effect.scoped(Effect.gen(function*() {
 *   const socket = yield* DatagramSocket.towards({ address: "10.0.0.2:7471" })
 *   const peer = yield* DatagramSocket.lookup(socket, { address: "10.0.0.2:7471" })
 *   yield* DatagramSocket.send(socket, peer, new TextEncoder().encode("who is there?"))
 *   return yield* Effect.timeout(DatagramSocket.receive(socket), "1 second")
 * }))
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const lookup = (
  self: DatagramSocket,
  options: {
    readonly address: Destination.Input
    readonly privateData?: Uint8Array
    readonly timeout?: Duration.Input
    readonly retry?: Schedule.Schedule<unknown, ConnectionError.ConnectError>
  }
): Effect.Effect<
  DatagramPeer & { readonly privateData: Uint8Array },
  ConnectionError.ConnectError,
  RdmaCm.RdmaCm | Scope.Scope
> =>
  Effect.flatMap(decodeLookup(options), ({ address, privateData }) =>
    Effect.scoped(
      attempts(address, { ...options, portSpace: "udp" }, (destination) => ask(self, destination, frame(privateData)))
    ).pipe(
      Effect.flatMap(({ ahAttr, ...answer }) =>
        Effect.map(AddressHandle.make(self.domain, ahAttr), (handle) => ({ ...answer, handle }))
      )
    ))

/**
 * The sender of a datagram as somebody to send to, owned by the scope. Fails as `AddressHandle.fromReceived`.
 *
 * @category constructors
 * @since 0.1.0
 */
export const senderOf = (
  self: DatagramSocket,
  { qpNum, sender }: Datagram
): Effect.Effect<DatagramPeer, VerbsError | Schema.SchemaError, Scope.Scope> =>
  Effect.map(
    AddressHandle.fromReceived(self.domain, self.portNum, sender),
    (handle) => ({ handle, qpNum, qkey: self.qkey })
  )

/**
 * Sends a datagram of at most `maxLength` bytes, and waits until it has left; nobody tells whether it arrives. The bytes are
 * copied when there is a place: as in `Connection.send`, who is interrupted before has sent nothing.
 *
 * Fails with `EMSGSIZE` before any call for one that is too long, which the device would drop without a word.
 *
 * @category operations
 * @since 0.1.0
 */
export const send = (
  self: DatagramSocket,
  { handle: ah, qkey, qpNum }: DatagramPeer,
  bytes: Uint8Array
): Effect.Effect<void, TransferError> => Messages.send(self.messages, bytes, { ah, remoteQpn: qpNum, remoteQkey: qkey })

/**
 * The next datagram, as a copy. Those that arrive while `receiveDepth` wait to be taken are lost. It waits without a thread, and
 * who is interrupted has taken none.
 *
 * @category operations
 * @since 0.1.0
 */
export const receive = (self: DatagramSocket): Effect.Effect<Datagram, TransferError> =>
  Messages.receive(self.messages, Datagrams.read)

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

const optionalData = (max: number) =>
  PrivateData(max).pipe(Schema.withDecodingDefault(Effect.succeed(new Uint8Array())))

const decodeListen = Schema.decodeEffect(
  Schema.Struct({
    ...ConnectionOptions.Depths.fields,
    address: Destination.Destination,
    privateData: optionalData(136)
  })
)

const decodeTowards = Schema.decodeEffect(
  Schema.Struct({
    ...ConnectionOptions.Depths.fields,
    address: Destination.Destination,
    source: Schema.optionalKey(CmAddress.CmAddress)
  })
)

const decodeLookup = Schema.decodeEffect(
  Schema.Struct({ address: Destination.Destination, privateData: optionalData(180) })
)

/** Tells everybody who asks which queue pair is here. One who has gone meanwhile is nobody's concern. */
const answerAll = ({ id, messages, queuePair: { qpNum } }: DatagramSocket, privateData: Uint8Array) =>
  Effect.scoped(
    Effect.flatMap(CmId.nextRequest(id), (request) => Effect.exit(CmId.accept(request.id, { qpNum, privateData })))
  ).pipe(
    Effect.forever,
    Effect.catch((error: RdmaCmError) => Messages.fail(messages, error))
  )

const ask = Effect.fnUntraced(function*(
  { domain }: DatagramSocket,
  destination: CmAddress.CmAddress,
  privateData: Uint8Array
) {
  const id = yield* CmId.make(yield* EventChannel.make(), "udp")
  yield* CmId.resolveAddress(id, { destination })
  const { verbs } = yield* CmId.state(id)
  if (verbs !== Resource.raw(domain.context)) {
    return yield* refused("rdma_connect", "EINVAL", "It is reached over another device than the socket's", {
      destination: CmAddress.format(destination)
    })
  }
  yield* CmId.resolveRoute(id)
  const { ud } = yield* CmId.connect(id, { privateData })
  if (ud?.ahAttr === undefined) {
    return yield* refused("rdma_connect", "ENODATA", "The answer does not tell where datagrams go")
  }
  return { ahAttr: ud.ahAttr, qpNum: ud.qpNum, qkey: ud.qkey, privateData: unframe(ud.privateData) }
})
