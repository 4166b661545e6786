/**
 * A byte stream over RDMA with the calls of a socket: `rsocket(7)` and `rclose`. The other side may be any program that uses
 * rsockets, whichever language it is in.
 *
 * @since 0.1.0
 */
import * as CreationSite from "@effect-rdma/core/CreationSite"
import * as Resource from "@effect-rdma/core/Resource"
import * as Effect from "effect/Effect"
import type * as NetAddress from "effect/net/NetAddress"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import type * as Semaphore from "effect/Semaphore"
import * as Sink from "effect/Sink"
import * as Stream from "effect/Stream"
import * as Operation from "./internal/rsocketOperation.ts"
import { acquire } from "./internal/rsocketResource.ts"
import type * as RSockets from "./operations/RSockets.ts"
import * as RdmaCm from "./RdmaCm.ts"
import type { RdmaCmError } from "./RdmaCmError.ts"
import * as RSocketOption from "./RSocketOption.ts"

/**
 * How far an rsocket has come. One that is `failed` can only be released.
 *
 * @category models
 * @since 0.1.0
 */
export type State = "open" | "bound" | "listening" | "connecting" | "connected" | "failed"

/**
 * An rsocket.
 *
 * @category models
 * @since 0.1.0
 */
export interface RSocket extends Resource.Resource<"RSocket", RSockets.RSocketNumber> {
  /** @internal */
  readonly cm: RdmaCm.RdmaCm["Service"]
  /** @internal */
  readonly progress: { state: State; isSendShut: boolean }
  /** @internal */
  readonly sending: Semaphore.Semaphore
  /** @internal */
  readonly receiving: Semaphore.Semaphore
}

/**
 * The families of addresses that an rsocket can have. The native ones of InfiniBand do not fit into what C gives back.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Family = Schema.Literals(["ipv4", "ipv6"])

/**
 * Makes an rsocket, owned by the scope. It never blocks the process: its calls wait in the event loop or on a worker thread.
 *
 * Releasing one that is connected first tells the other side and sends what is under way. That is on a worker thread, and ends
 * when the other host has it all, or has been silent until its adapter gives up; {@link CloseTimeout} bounds it. One that
 * listens is released with the connections that nobody has accepted.
 *
 * Fails with `ENODEV` without an RDMA device, `EACCES` when the node refuses, and `EMFILE` without descriptors. On a library before
 * rdma-core 53 the first of a process takes longer, and {@link connect}, {@link accept} and {@link listen} fail with `ENOSPC` for
 * more than such a library bears: 131 connections, and 35 that listen.
 *
 * ```ts
 * import { RSocket } from "@effect-rdma/rdmacm"
 * import { Effect, Stream } from "effect"
 *
 * const ask = Effect.scoped(Effect.gen(function*() {
 *   const socket = yield* RSocket.make()
 *   yield* RSocket.connect(socket, "10.0.0.2:7471")
 *   yield* Stream.run(Stream.make(new TextEncoder().encode("hello")), RSocket.sink(socket))
 *   yield* RSocket.shutdown(socket, "send")
 *   return yield* Stream.mkString(Stream.decodeText(RSocket.stream(socket)))
 * }))
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = (
  family: typeof Family.Type = "ipv4"
): Effect.Effect<RSocket, RdmaCmError | Schema.SchemaError, RdmaCm.RdmaCm | Scope.Scope> => {
  const site = CreationSite.capture(make)
  return Effect.flatMap(
    Effect.all([RdmaCm.RdmaCm, decodeFamily(family)]),
    ([cm, family]) =>
      acquire({ pair: ["rsocket", "rclose"], site, cm, uses: [], state: "open", acquire: cm.rsocket(family) })
  )
}

/**
 * Binds it to an address of this host: `rbind`. Port 0 is a free one. Fails with `EADDRINUSE` for an address that is taken,
 * with `EADDRNOTAVAIL` for one of somebody else, with `ENODEV` for one without an RDMA device, and with `EINVAL` before the call
 * when it is bound already.
 *
 * @category combinators
 * @since 0.1.0
 */
export const bind = (self: RSocket, address: Input): Effect.Effect<void, RdmaCmError | Schema.SchemaError> =>
  Effect.flatMap(decodeAddress(address), (address) =>
    Operation.inState(
      self,
      ["open"],
      "rbind",
      Effect.map(Resource.use(self, (socket) => self.cm.rbind(socket, address)), () => {
        self.progress.state = "bound"
      })
    ))

/**
 * Lets others connect to it from now on: `rlisten`. `backlog` bounds those that librdmacm has not looked at; 0, the default,
 * is the most that the host allows. One that is not bound gets every address and a free port. Fails with `EADDRINUSE` when
 * somebody listens there already, and with `EINVAL` before the call when it listens or has failed.
 *
 * @category combinators
 * @since 0.1.0
 */
export const listen = (
  self: RSocket,
  options: { readonly backlog?: number } = {}
): Effect.Effect<void, RdmaCmError | Schema.SchemaError> =>
  Effect.flatMap(decodeBacklog(options), ({ backlog }) =>
    Operation.inState(
      self,
      ["open", "bound"],
      "rlisten",
      Effect.uninterruptible(Effect.map(Resource.use(self, (socket) => self.cm.rlisten(socket, backlog)), () => {
        self.progress.state = "listening"
      }))
    ))

/**
 * The next connection to an rsocket that listens: `raccept`. It is owned by the scope and outlives the listener. It waits
 * without a thread and can be interrupted, which loses none. Fails with `EINVAL` before the call when it does not listen.
 *
 * ```ts
 * import { RSocket } from "@effect-rdma/rdmacm"
 * import { Effect, Stream } from "effect"
 *
 * const echoOnce = Effect.scoped(Effect.gen(function*() {
 *   const listener = yield* RSocket.make()
 *   yield* RSocket.bind(listener, "10.0.0.1:7471")
 *   yield* RSocket.listen(listener)
 *   const socket = yield* RSocket.accept(listener)
 *   yield* Stream.run(RSocket.stream(socket), RSocket.sink(socket))
 * }))
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const accept = (self: RSocket): Effect.Effect<RSocket, RdmaCmError, Scope.Scope> => {
  const site = CreationSite.capture(accept)
  const { cm } = self
  const next: Effect.Effect<RSocket, RdmaCmError, Scope.Scope> = Effect.catchReason(
    acquire({
      pair: ["raccept", "rclose"],
      site,
      cm,
      uses: [self],
      state: "connected",
      acquire: Effect.suspend(() => cm.raccept(Resource.raw(self)))
    }),
    "RdmaCmError",
    "EAGAIN",
    () => Effect.andThen(Operation.ready(self, "readable"), next)
  )
  return Effect.andThen(
    Operation.inState(self, ["listening"], "raccept", Effect.void),
    // One at a time: each call is on a worker thread, and a connection is for one alone.
    self.receiving.withPermit(Effect.andThen(Operation.ready(self, "readable"), next))
  )
}

/**
 * Connects to an address, and waits until the other side has accepted: `rconnect`. It waits without a thread and can be
 * interrupted, after which the rsocket is `failed`.
 *
 * Fails with `ECONNREFUSED` when nobody listens there, with `ETIMEDOUT` when nobody answers for the address, for which C takes
 * about two minutes, with `ENETUNREACH` without a route, with `ENODEV` when it is not reached over RDMA, with `EISCONN` before
 * the call when it is connected, and with `EINVAL` when it listens or has failed.
 *
 * @category combinators
 * @since 0.1.0
 */
export const connect = (self: RSocket, address: Input): Effect.Effect<void, RdmaCmError | Schema.SchemaError> =>
  Effect.flatMap(decodeAddress(address), (address) =>
    Effect.suspend(() => {
      const { progress } = self
      return Operation.inState(
        self,
        ["open", "bound"],
        "rconnect",
        Effect.onExit(
          Effect.suspend(() => {
            progress.state = "connecting"
            return Effect.andThen(
              Resource.use(self, (socket) => self.cm.rconnect(socket, address)),
              connection(self)
            )
          }),
          (exit) =>
            Effect.sync(() => {
              progress.state = exit._tag === "Success" ? "connected" : "failed"
            })
        )
      )
    }))

/**
 * What has come, up to `maxLength` bytes (64 KiB unless said otherwise); none at the end: `rrecv`. One fiber reads at a time.
 * It waits without a thread and can be interrupted, which loses nothing.
 *
 * The end comes when the other side shuts down, releases its rsocket or ends as a process. Fails with `EIO` when the connection
 * broke, and with `ENOTCONN` before the call when it is not connected.
 *
 * @category combinators
 * @since 0.1.0
 */
export const read = (
  self: RSocket,
  options: { readonly maxLength?: number } = {}
): Effect.Effect<Uint8Array<ArrayBuffer>, RdmaCmError | Schema.SchemaError> =>
  Effect.flatMap(decodeLength(options), ({ maxLength }) => receive(self, maxLength))

/**
 * Sends bytes, and waits until the last has been taken over: `rsend`. They can be changed then; the other side may not have
 * them yet. One fiber writes at a time, so that its bytes stay together. It waits without a thread while the other side does
 * not read; interrupting it leaves sent what was sent.
 *
 * Fails with `ECONNRESET` when the other side has closed the connection, with `EIO` when it broke, with `EPIPE` after
 * {@link shutdown}, and with `ENOTCONN` before the call when it is not connected.
 *
 * @category combinators
 * @since 0.1.0
 */
export const write = (self: RSocket, bytes: Uint8Array): Effect.Effect<void, RdmaCmError> =>
  Operation.connected(
    self,
    "rsend",
    self.sending.withPermit(Operation.handOver(self, "rsend", bytes, (socket, rest) => self.cm.rsend(socket, rest)))
  )

/**
 * What comes, until the end, in pieces of up to `maxLength` bytes: see {@link read}. It reads only when it is pulled, so a slow
 * reader slows the other side down.
 *
 * @category combinators
 * @since 0.1.0
 */
export const stream = (
  self: RSocket,
  options: { readonly maxLength?: number } = {}
): Stream.Stream<Uint8Array<ArrayBuffer>, RdmaCmError | Schema.SchemaError> =>
  Stream.unwrap(Effect.map(decodeLength(options), ({ maxLength }) =>
    Stream.unfold(undefined, () =>
      Effect.map(
        receive(self, maxLength),
        (bytes) => bytes.length === 0 ? undefined : [bytes, undefined] as const
      ))))

/**
 * Sends every piece that it is given: see {@link write}. At its end the connection stays as it is; {@link shutdown} tells the
 * other side.
 *
 * @category combinators
 * @since 0.1.0
 */
export const sink = (self: RSocket): Sink.Sink<void, Uint8Array, never, RdmaCmError> =>
  Sink.forEach((bytes: Uint8Array) => write(self, bytes))

/**
 * Ends one direction or both: `rshutdown`. After `send` the other side reads what is under way, and then the end; after
 * `receive` this one does at once. Waits on a worker thread until the other host has what was sent, and cannot be interrupted;
 * a host that is silent is given up by the adapter. Fails with `ENOTCONN` before the call when it is not connected.
 *
 * @category combinators
 * @since 0.1.0
 */
export const shutdown = (
  self: RSocket,
  how: typeof Direction.Type
): Effect.Effect<void, RdmaCmError | Schema.SchemaError> =>
  Effect.flatMap(decodeDirection(how), (how) =>
    Operation.connected(
      self,
      "rshutdown",
      self.sending.withPermit(Effect.suspend(() => {
        if (how !== "receive") self.progress.isSendShut = true
        return Resource.use(self, (socket) => self.cm.rshutdown(socket, how))
      }))
    ))

/**
 * The directions that {@link shutdown} can end.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Direction = Schema.Literals(["receive", "send", "both"])

/**
 * Where it is bound: `rgetsockname`; `undefined` before.
 *
 * @category queries
 * @since 0.1.0
 */
export const localAddress = (self: RSocket): Effect.Effect<NetAddress.InetAddress | undefined, RdmaCmError> =>
  Resource.use(self, self.cm.rgetsockname)

/**
 * What it is connected to: `rgetpeername`; `undefined` before.
 *
 * @category queries
 * @since 0.1.0
 */
export const peerAddress = (self: RSocket): Effect.Effect<NetAddress.InetAddress | undefined, RdmaCmError> =>
  Effect.suspend(() =>
    self.progress.state === "connected"
      ? Resource.use(self, self.cm.rgetpeername)
      : Effect.undefined
  )

/**
 * Sets an option: `rsetsockopt`. Fails with `EINVAL` once it is too late for it: from connecting on for the sizes of queues and
 * tables, from binding on for `ReuseAddress`, which C would crash on.
 *
 * @category combinators
 * @since 0.1.0
 */
export const setOption = (
  self: RSocket,
  option: RSocketOption.RSocketOption
): Effect.Effect<void, RdmaCmError | Schema.SchemaError> =>
  Effect.flatMap(decodeOption(option), ({ _tag, value }) => {
    const set = Resource.use(self, (socket) => self.cm.rsetsockopt(socket, _tag, Number(value)))
    return _tag === "ReuseAddress" ? Operation.inState(self, ["open"], "rsetsockopt", set) : set
  })

/**
 * What an option is: `rgetsockopt`. Buffers are twice as large as they were set.
 *
 * ```ts
 * import { RSocket } from "@effect-rdma/rdmacm"
 *
 * const receiveBuffer = (socket: RSocket.RSocket) => RSocket.getOption(socket, "ReceiveBuffer")
 * ```
 *
 * @category queries
 * @since 0.1.0
 */
export const getOption = <const N extends RSocketOption.Name>(
  self: RSocket,
  name: N
): Effect.Effect<RSocketOption.Value<N>, RdmaCmError> =>
  Effect.map(
    Resource.use(self, (socket) => self.cm.rgetsockopt(socket, name)),
    (value) => RSocketOption.fromNative(name, value)
  )

export { CloseTimeout } from "./internal/rsocketResource.ts"

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

/** What a caller may give for an address. */
type Input = typeof Address.Encoded

const Address = Schema.Union([Schema.InetAddress, Schema.InetAddressFromString])

const decodeAddress = Schema.decodeEffect(Address)
const decodeFamily = Schema.decodeEffect(Family)
const decodeDirection = Schema.decodeEffect(Direction)
const decodeOption = Schema.decodeEffect(RSocketOption.RSocketOption)

const withDefault = (minimum: number, byDefault: number) =>
  Schema.Int.check(Schema.isBetween({ minimum, maximum: 0x7fff_ffff })).pipe(
    Schema.withDecodingDefault(Effect.succeed(byDefault))
  )

const decodeBacklog = Schema.decodeEffect(Schema.Struct({ backlog: withDefault(0, 0) }))
const decodeLength = Schema.decodeEffect(Schema.Struct({ maxLength: withDefault(1, 0x1_0000) }))

/** Waits until the attempt to connect has come to its end. */
const connection = (self: RSocket): Effect.Effect<void, RdmaCmError> =>
  Effect.andThen(
    Operation.ready(self, "writable"),
    Effect.flatMap(Resource.use(self, self.cm.rpoll), ({ isBroken, isHungUp, isWritable }) => {
      if (isBroken || isHungUp) return Operation.notedError(self, "rconnect", "ECONNREFUSED")
      return isWritable ? Effect.void : connection(self)
    })
  )

const receive = (self: RSocket, maxLength: number): Effect.Effect<Uint8Array<ArrayBuffer>, RdmaCmError> =>
  Operation.connected(
    self,
    "rrecv",
    self.receiving.withPermit(Effect.suspend(() => {
      const into = new Uint8Array(maxLength)
      return Effect.flatMap(
        Operation.whenReady(self, "readable", (socket) => self.cm.rrecv(socket, into)),
        (length) => length === 0 ? end(self) : Effect.succeed(into.subarray(0, length))
      )
    }))
  )

const nothing = new Uint8Array(0)

/** To C a connection that broke has come to its end like any other. */
const end = (self: RSocket): Effect.Effect<Uint8Array<ArrayBuffer>, RdmaCmError> =>
  Effect.flatMap(
    Resource.use(self, self.cm.rpoll),
    ({ isBroken }) => isBroken ? Operation.notedError(self, "rrecv", "EIO") : Effect.succeed(nothing)
  )
