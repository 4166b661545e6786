/**
 * A reliable connection: messages with back pressure, and reads and writes of the other side's memory.
 *
 * @since 0.1.0
 */
import type * as MemoryRegion from "@effect-rdma/verbs/MemoryRegion"
import type * as ProtectionDomain from "@effect-rdma/verbs/ProtectionDomain"
import * as QueuePair from "@effect-rdma/verbs/QueuePair"
import type * as Verbs from "@effect-rdma/verbs/Verbs"
import * as Cause from "effect/Cause"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Schedule from "effect/Schedule"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as CmAddress from "./CmAddress.ts"
import * as CmId from "./CmId.ts"
import * as ConnectionError from "./ConnectionError.ts"
import * as ConnectionOptions from "./ConnectionOptions.ts"
import * as Destination from "./Destination.ts"
import * as EventChannel from "./EventChannel.ts"
import { attempts, portSpaceOf } from "./internal/attempts.ts"
import * as Connecting from "./internal/connection.ts"
import { refused } from "./internal/idOperation.ts"
import * as Messages from "./internal/messages.ts"
import { frame, PrivateData, unframe } from "./internal/privateData.ts"
import type * as RdmaCm from "./RdmaCm.ts"
import type * as RemoteMemory from "./RemoteMemory.ts"

/**
 * A connection that is set up. `device` and `portNum` are those that it goes through, `localAddress` and `peerAddress` its
 * ends, `privateData` what the other side said when it connected or accepted. Memory for {@link read} and {@link write} is
 * registered in `domain`; everything else of verbs can be done with `queuePair`, and of librdmacm with `id`.
 *
 * @category models
 * @since 0.1.0
 */
export interface Connection {
  readonly id: CmId.CmId
  readonly queuePair: QueuePair.QueuePair<"rc">
  readonly domain: ProtectionDomain.ProtectionDomain
  readonly device: string
  readonly portNum: number
  readonly localAddress: CmAddress.CmAddress
  readonly peerAddress: CmAddress.CmAddress
  readonly privateData: Uint8Array
  readonly messageSize: number
  /** @internal */
  readonly messages: Messages.Messages<"rc">
}

/**
 * How moving data on a connection fails: `ConnectionClosed` once the other side has ended it, `DeviceRemoved`, or the
 * completion that broke it.
 *
 * @category errors
 * @since 0.1.0
 */
export type TransferError = Messages.Failure

/**
 * Where to connect to and how. `timeout` bounds each attempt at an address: without it librdmacm gives up by itself, on an address
 * or a route after 2 seconds, on an answer after a minute or more. `retry` says which errors are tried again, when, and for how
 * long. Up to 55 bytes of `privateData` go with the request.
 *
 * @category models
 * @since 0.1.0
 */
export interface ConnectOptions extends ConnectionOptions.Input {
  readonly address: Destination.Input
  readonly source?: CmAddress.Input
  readonly privateData?: Uint8Array
  readonly timeout?: Duration.Input
  readonly retry?: Schedule.Schedule<unknown, ConnectionError.ConnectError>
}

/**
 * Connects to an address or to a name, of which each address is tried in turn: resolves it, makes the queues with their
 * memory, posts the receives and connects. All is owned by the scope, which disconnects, waits for the other side's answer
 * (`ShutdownGrace`), flushes what is under way and releases, in this order. It waits without a thread and can be interrupted at
 * any time; what fails or is interrupted leaves nothing. What arrives is waited for as the `WaitStrategy` of this fiber says, what
 * is sent as that of the sender.
 *
 * Fails with `ConnectionRejected`, whose private data is what `Listener.reject` said, when the other side says no or nobody
 * listens there (`invalidServiceId`); with another `ConnectionError`, as the events tell; with `ConnectionTimedOut`; with
 * `CandidatesFailed`, the failures of all addresses of a name; and as `CmId.resolveAddress` and the constructors of verbs.
 *
 * ```ts
 * import { Connection } from "@effect-rdma/rdmacm"
 * import { Effect, Schedule } from "effect"
 *
 * export const hello = Effect.scoped(Effect.gen(function*() {
 *   const connection = yield* Connection.connect({
 *     address: "10.0.0.2:7471",
 *     timeout: "2 seconds",
 *     retry: Schedule.exponential("50 millis").pipe(Schedule.upTo({ duration: "10 seconds" }))
 *   })
 *   yield* Connection.send(connection, new TextEncoder().encode("hello"))
 *   return yield* Connection.receive(connection)
 * }))
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const connect = (
  options: ConnectOptions
): Effect.Effect<Connection, ConnectionError.ConnectError, RdmaCm.RdmaCm | Verbs.Verbs | Scope.Scope> =>
  Effect.flatMap(
    decode(options),
    ({ address, privateData, source, ...depths }) =>
      attempts(address, { ...options, portSpace: portSpaceOf(address) }, (destination) =>
        Effect.gen(function*() {
          const id = yield* CmId.make(yield* EventChannel.make(), portSpaceOf(destination))
          yield* CmId.resolveAddress(id, { destination, ...(source === undefined ? undefined : { source }) })
          yield* CmId.resolveRoute(id)
          const messages = yield* Connecting.prepare(id, { ...depths, domain: options.domain })
          const { conn } = yield* Effect.catchTag(
            CmId.connect(id, { ...Connecting.parametersOf(depths, messages), privateData: frame(privateData) }),
            "ConnectionRejected",
            ({ call, privateData, reason, status }) =>
              new ConnectionError.ConnectionRejected({ call, reason, status, privateData: unframe(privateData) })
          )
          yield* Connecting.makeReady(id, messages)
          yield* CmId.establish(id)
          const said = unframe(conn?.privateData ?? new Uint8Array())
          return yield* Connecting.watched(id, messages, said, options.keepAlive)
        }))
  )

/**
 * Sends a message of at most `messageSize` bytes, and waits until the other side has it in one of its receives. The bytes are
 * copied when there is a place, so they are the caller's again as soon as this ends, however it does. It waits while
 * `sendDepth` messages are under way, and while the other side does not take those that it has.
 *
 * Who is interrupted while there is no place has sent nothing; later than that the message still goes out.
 *
 * Fails with `EMSGSIZE` before any call for a message that is too long, and as {@link TransferError}.
 *
 * @category operations
 * @since 0.1.0
 */
export const send = (self: Connection, message: Uint8Array): Effect.Effect<void, TransferError> =>
  Messages.send(self.messages, message)

/**
 * The next message, as a copy; its place in registered memory is then posted for another one. What has arrived before the
 * connection ended is given before the failure. It waits without a thread, and who is interrupted has taken none.
 *
 * @category operations
 * @since 0.1.0
 */
export const receive = (self: Connection): Effect.Effect<Uint8Array, TransferError> =>
  Messages.receive(self.messages, (bytes) => bytes.slice())

/**
 * All messages until the other side ends the connection; nothing is taken that is not asked for. Fails as {@link receive}
 * otherwise.
 *
 * ```ts
 * import { Connection } from "@effect-rdma/rdmacm"
 * import { Stream } from "effect"
 *
 * export const echo = (connection: Connection.Connection) =>
 *   Stream.runForEach(Connection.messages(connection), (message) => Connection.send(connection, message))
 * ```
 *
 * @category operations
 * @since 0.1.0
 */
export const messages = (
  self: Connection
): Stream.Stream<Uint8Array, Exclude<TransferError, ConnectionError.ConnectionClosed>> =>
  Stream.fromPull(Effect.succeed(
    receive(self).pipe(
      Effect.map((message) => [message] as const),
      Effect.catchTag("ConnectionClosed", () => Cause.done())
    )
  ))

/**
 * A part of a region here, all of it by default, and where it is on the other side: from `remoteOffset` of its memory on.
 *
 * @category models
 * @since 0.1.0
 */
export interface Transfer {
  readonly region: MemoryRegion.MemoryRegion
  readonly offset?: number
  readonly length?: number
  readonly remote: RemoteMemory.RemoteMemory
  readonly remoteOffset?: number
}

/**
 * Writes bytes of a region to memory of the other side, and waits until they are there. The region is the device's until
 * then, as `QueuePair.rdmaWrite` says, under interruption too.
 *
 * Fails with `EINVAL` before any call for bytes that are not in the region or in the memory there; with a
 * `WorkCompletionError` of `remAccessErr` when the other side refuses the key, which ends the connection; and as
 * {@link TransferError}.
 *
 * @category operations
 * @since 0.1.0
 */
export const write = (self: Connection, transfer: Transfer): Effect.Effect<void, TransferError> =>
  Effect.flatMap(
    placed(transfer),
    (request) => Effect.asVoid(Messages.guarded(self.messages, QueuePair.rdmaWrite(self.queuePair, request)))
  )

/**
 * Reads memory of the other side into a region, which must be writable here, and waits until the bytes are there. As
 * {@link write}.
 *
 * @category operations
 * @since 0.1.0
 */
export const read = (self: Connection, transfer: Transfer): Effect.Effect<void, TransferError> =>
  Effect.flatMap(
    placed(transfer),
    (request) => Effect.asVoid(Messages.guarded(self.messages, QueuePair.rdmaRead(self.queuePair, request)))
  )

/**
 * Waits until the connection has ended, by whichever side, or its device is gone.
 *
 * @category queries
 * @since 0.1.0
 */
export const awaitEnd = (self: Connection): Effect.Effect<void, TransferError> => CmId.awaitDisconnected(self.id)

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

const Connect = Schema.Struct({
  ...ConnectionOptions.ConnectionOptions.fields,
  address: Destination.Destination,
  source: Schema.optionalKey(CmAddress.CmAddress),
  privateData: PrivateData(56).pipe(Schema.withDecodingDefault(Effect.succeed(new Uint8Array())))
})

const decode = Schema.decodeEffect(Connect)

const placed = ({ length, offset = 0, region, remote, remoteOffset = 0 }: Transfer) => {
  const count = length ?? Number(region.length) - offset
  return Number.isInteger(remoteOffset) && remoteOffset >= 0 && remoteOffset + count <= remote.length
    ? Effect.succeed({
      sgList: [{ region, offset, length: count }],
      remote: { remoteAddr: remote.address + BigInt(remoteOffset), rkey: remote.rkey }
    })
    : Effect.fail(
      refused("ibv_post_send", "EINVAL", `The memory of the other side has ${remote.length} bytes`, {
        remoteOffset,
        length: count
      })
    )
}
