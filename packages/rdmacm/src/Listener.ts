/**
 * Accepts connections: a stream of those who ask for one, each of which is accepted into a scope or rejected.
 *
 * @since 0.1.0
 */
import * as Resource from "@effect-rdma/core/Resource"
import type * as Verbs from "@effect-rdma/verbs/Verbs"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import type * as CmAddress from "./CmAddress.ts"
import * as CmId from "./CmId.ts"
import type * as Connection from "./Connection.ts"
import * as ConnectionError from "./ConnectionError.ts"
import * as ConnectionOptions from "./ConnectionOptions.ts"
import * as Destination from "./Destination.ts"
import * as EventChannel from "./EventChannel.ts"
import { portSpaceOf } from "./internal/attempts.ts"
import * as Connecting from "./internal/connection.ts"
import { refused } from "./internal/idOperation.ts"
import { inOwnScope } from "./internal/ownScope.ts"
import { frame, PrivateData, unframe } from "./internal/privateData.ts"
import type * as RdmaCm from "./RdmaCm.ts"
import type { RdmaCmError } from "./RdmaCmError.ts"

/**
 * A listener. `address` is where it listens, with the port that it got.
 *
 * @category models
 * @since 0.1.0
 */
export interface Listener {
  readonly id: CmId.CmId
  readonly address: CmAddress.CmAddress
  /** Those who ask for a connection, in their order; it ends with the listener. Nobody is taken who is not asked for. */
  readonly connections: Stream.Stream<Incoming, RdmaCmError>
  /** @internal */
  readonly held: Set<Scope.Closeable>
}

/**
 * Somebody who asks for a connection: {@link accept} or {@link reject} it. One that is neither is released, and so
 * rejected, with its listener.
 *
 * @category models
 * @since 0.1.0
 */
export interface Incoming {
  readonly id: CmId.CmId
  /** What the other side said with its request. */
  readonly privateData: Uint8Array
  /** @internal */
  readonly listener: Listener
  /** @internal */
  readonly scope: Scope.Closeable
}

/**
 * Listens on an address or a name, of which the first address that will do is taken; port 0 is a free one, and `0.0.0.0` or `::`
 * every address of the host. At most `backlog` requests wait to be taken; 0, the default, is the most that the host allows.
 * Owned by the scope. Connections that were accepted do not end with it.
 *
 * Fails with `EADDRINUSE` when another one listens there, with `EADDRNOTAVAIL` for an address of somebody else, with `ENODEV` for
 * one without an RDMA device, and with `CandidatesFailed` when none of several addresses will do.
 *
 * ```ts
 * import { Connection, Listener } from "@effect-rdma/rdmacm"
 * import { Effect, Stream } from "effect"
 *
 * export const echoServer = Effect.scoped(Effect.gen(function*() {
 *   const listener = yield* Listener.make({ address: "0.0.0.0:7471" })
 *   yield* Listener.serve(listener, Effect.fnUntraced(function*(incoming) {
 *     const connection = yield* Listener.accept(incoming)
 *     yield* Stream.runForEach(Connection.messages(connection), (message) => Connection.send(connection, message))
 *   }))
 * }))
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = (
  options: { readonly address: Destination.Input; readonly backlog?: number }
): Effect.Effect<Listener, ConnectionError.ConnectError, RdmaCm.RdmaCm | Scope.Scope> =>
  Effect.flatMap(decode({ address: options.address }), ({ address: destination }) => {
    const portSpace = portSpaceOf(destination)
    return Destination.firstOf(
      destination,
      { portSpace, isPassive: true },
      (address) =>
        inOwnScope(Effect.gen(function*() {
          const id = yield* CmId.make(yield* EventChannel.make(), portSpace)
          yield* CmId.bind(id, address)
          yield* CmId.listen(id, options.backlog === undefined ? {} : { backlog: options.backlog })
          const { localAddress = address } = yield* CmId.state(id)
          const held = new Set<Scope.Closeable>()
          yield* Effect.addFinalizer((exit) =>
            Effect.forEach(held, (scope) => Scope.close(scope, exit), { discard: true })
          )
          const listener: Listener = {
            id,
            address: localAddress,
            held,
            connections: Stream.suspend(() => Stream.fromPull(Effect.succeed(nextOf(listener))))
          }
          return listener
        }))
    )
  })

/**
 * Accepts a connection into the scope: makes the queues with their memory, posts the receives, accepts, and waits until the
 * other side is ready. It does not end with the listener. Up to 195 bytes of `privateData` go with the answer. Otherwise as
 * `Connection.connect`; when it fails or is interrupted, the other side is rejected.
 *
 * Fails with `ConnectionClosed` when the listener went before, with `EINVAL` when the request was answered already or the other
 * side has gone.
 *
 * @category constructors
 * @since 0.1.0
 */
export const accept = (
  self: Incoming,
  options: ConnectionOptions.Input & { readonly privateData?: Uint8Array } = {}
): Effect.Effect<
  Connection.Connection,
  ConnectionError.AttemptError | Schema.SchemaError,
  Verbs.Verbs | RdmaCm.RdmaCm | Scope.Scope
> =>
  Effect.flatMap(decodeAccept(options), ({ privateData, ...depths }) =>
    inOwnScope(Effect.gen(function*() {
      yield* adopt(self)
      const { id } = self
      yield* CmId.migrate(id, yield* EventChannel.make())
      const messages = yield* Connecting.prepare(id, { ...depths, domain: options.domain })
      yield* Connecting.makeReady(id, messages)
      yield* CmId.accept(id, { ...Connecting.parametersOf(depths, messages), privateData: frame(privateData) })
      return yield* Connecting.watched(id, messages, self.privateData, options.keepAlive)
    })))

/**
 * Rejects a connection. Up to 147 bytes of `privateData` tell the other side why: they are in its `ConnectionRejected`. Fails
 * with `ConnectionClosed` and `EINVAL` as {@link accept}.
 *
 * @category operations
 * @since 0.1.0
 */
export const reject = (
  self: Incoming,
  privateData: Uint8Array = new Uint8Array()
): Effect.Effect<void, RdmaCmError | ConnectionError.ConnectionClosed | Schema.SchemaError> =>
  Effect.flatMap(
    decodeReject({ privateData }),
    ({ privateData }) => Effect.scoped(Effect.andThen(adopt(self), CmId.reject(self.id, frame(privateData))))
  )

/**
 * Hands each who asks for a connection to a fiber of its own, with a scope that is closed when the handler ends. A handler that
 * fails, dies or is interrupted ends its own connection and no other; the failure is logged. It goes on until the listener
 * is released, and then waits for the handlers. Interrupting it interrupts them.
 *
 * @category operations
 * @since 0.1.0
 */
export const serve = <E, R>(
  self: Listener,
  handler: (incoming: Incoming) => Effect.Effect<unknown, E, R>,
  options: { readonly concurrency?: number | "unbounded" } = {}
): Effect.Effect<void, RdmaCmError, Exclude<R, Scope.Scope>> =>
  self.connections.pipe(
    Stream.mapEffect(
      (incoming) =>
        Effect.scoped(Effect.suspend(() => handler(incoming))).pipe(
          Effect.ensuring(release(incoming)),
          Effect.catchCause((cause) => Effect.logError(`the handler of ${incoming.id} failed`, cause))
        ),
      { concurrency: options.concurrency ?? "unbounded", unordered: true }
    ),
    Stream.runDrain
  )

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

const decode = Schema.decodeEffect(Schema.Struct({ address: Destination.Destination }))

const optionalData = (max: number) =>
  PrivateData(max).pipe(Schema.withDecodingDefault(Effect.succeed(new Uint8Array())))

const decodeAccept = Schema.decodeEffect(
  Schema.Struct({ ...ConnectionOptions.ConnectionOptions.fields, privateData: optionalData(196) })
)

const decodeReject = Schema.decodeEffect(Schema.Struct({ privateData: optionalData(148) }))

/** The next who asks, in a scope of its own that the listener holds until somebody answers. */
const nextOf = (self: Listener): Effect.Effect<readonly [Incoming], RdmaCmError | Cause.Done> =>
  Effect.uninterruptibleMask((restore) =>
    Effect.flatMap(Scope.make(), (scope) =>
      restore(Scope.provide(CmId.nextRequest(self.id), scope)).pipe(
        Effect.onError((cause) => Scope.close(scope, Exit.failCause(cause))),
        Effect.map(({ conn, id }) => {
          self.held.add(scope)
          const privateData = unframe(conn?.privateData ?? new Uint8Array())
          return [{ id, privateData, listener: self, scope }] as const
        }),
        // The end of the listener is the end of the stream, not its failure.
        Effect.catchCause((cause): Effect.Effect<never, RdmaCmError | Cause.Done> =>
          Resource.isLive(self.id) ? Effect.failCause(cause) : Cause.done()
        )
      ))
  )

/** Takes the request over from its listener, once. */
const adopt = (
  { id, listener, scope }: Incoming
): Effect.Effect<void, ConnectionError.ConnectionClosed | RdmaCmError, Scope.Scope> =>
  Effect.uninterruptible(Effect.suspend((): Effect.Effect<
    void,
    ConnectionError.ConnectionClosed | RdmaCmError,
    Scope.Scope
  > => {
    if (!Resource.isLive(id)) {
      return Effect.fail(new ConnectionError.ConnectionClosed({ call: "rdma_accept", status: 0 }))
    }
    if (!listener.held.delete(scope)) {
      return Effect.fail(refused("rdma_accept", "EINVAL", "The request was answered already"))
    }
    return Effect.addFinalizer((exit) => Scope.close(scope, exit))
  }))

/** Lets go of a request that nobody has answered. */
const release = ({ listener, scope }: Incoming) =>
  Effect.suspend(() => listener.held.delete(scope) ? Scope.close(scope, Exit.void) : Effect.void)
