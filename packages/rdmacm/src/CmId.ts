/**
 * A communication identifier, the CM's socket: `rdma_create_id(3)` and `rdma_destroy_id`, and what is done on one. Each
 * operation starts the call and waits for its event on the id.
 *
 * @since 0.1.0
 */
import * as CreationSite from "@effect-rdma/core/CreationSite"
import type * as Pointer from "@effect-rdma/core/Pointer"
import * as Resource from "@effect-rdma/core/Resource"
import * as DeviceContext from "@effect-rdma/verbs/DeviceContext"
import * as Ece from "@effect-rdma/verbs/Ece"
import * as ProtectionDomain from "@effect-rdma/verbs/ProtectionDomain"
import type * as Verbs from "@effect-rdma/verbs/Verbs"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import * as CmAddress from "./CmAddress.ts"
import type * as CmEvent from "./CmEvent.ts"
import * as CmOption from "./CmOption.ts"
import * as ConnectionError from "./ConnectionError.ts"
import type * as ConnectionParameters from "./ConnectionParameters.ts"
import type * as EventChannel from "./EventChannel.ts"
import * as Events from "./internal/channelEvents.ts"
import { eventError, onDevice, refused, withEvent } from "./internal/idOperation.ts"
import { acquire } from "./internal/idResource.ts"
import * as PortSpace from "./PortSpace.ts"
import type * as RdmaCm from "./RdmaCm.ts"
import type { RdmaCmError } from "./RdmaCmError.ts"

/**
 * A CM id on an event channel; `channel` is the one that it was moved to last.
 *
 * @category models
 * @since 0.1.0
 */
export interface CmId extends Resource.Resource<"CmId", Pointer.Pointer<"rdma_cm_id">> {
  readonly channel: EventChannel.EventChannel
  readonly portSpace: PortSpace.PortSpace
  /** @internal */
  readonly progress: Events.Progress
}

/**
 * A request to connect: its id, and what the other side offers. `conn` is there for connections, `ud` for datagrams.
 *
 * @category models
 * @since 0.1.0
 */
export interface ConnectionRequest {
  readonly id: CmId
  readonly conn?: ConnectionParameters.ConnectionParameters
  readonly ud?: ConnectionParameters.DatagramParameters
}

/**
 * Creates a CM id, owned by the scope and destroyed before its channel. Whatever is made on it goes first, and events
 * are acked when they are read, so its destruction never waits.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = (
  channel: EventChannel.EventChannel,
  portSpace: PortSpace.PortSpace
): Effect.Effect<CmId, RdmaCmError | Schema.SchemaError, Scope.Scope> => {
  const site = CreationSite.capture(make)
  return Effect.flatMap(Effect.suspend(() => decodePortSpace(portSpace)), (portSpace) =>
    acquire({
      pair: ["rdma_create_id", "rdma_destroy_id"],
      site,
      channel,
      portSpace,
      acquire: Effect.suspend(() => channel.cm.createId(Resource.raw(channel), portSpace))
    }))
}

/**
 * What the id says of itself: its device, addresses and queues.
 *
 * @category queries
 * @since 0.1.0
 */
export const state = (self: CmId): Effect.Effect<RdmaCm.IdState> => Resource.use(self, self.channel.cm.readId)

/**
 * The device that the id is bound to, as a context that librdmacm keeps open: what is made on it is released with the scope,
 * and it is never closed by us. Fails with `EINVAL` when the id is bound to none.
 *
 * @category queries
 * @since 0.1.0
 */
export const context = (
  self: CmId
): Effect.Effect<DeviceContext.DeviceContext, RdmaCmError, Verbs.Verbs | Scope.Scope> => {
  const site = CreationSite.capture(context)
  return Effect.flatMap(state(self), ({ verbs }) =>
    verbs === undefined
      ? Effect.fail(refused("rdma_cm_id.verbs", "EINVAL", "The id is bound to no device: resolve an address before"))
      : DeviceContext.borrow(verbs, site))
}

/**
 * The protection domain that librdmacm has for the device of the id: what is made in it is released with the scope, before the
 * id, and it is never deallocated by us. Fails with `EINVAL` when the id is bound to no device.
 *
 * @category queries
 * @since 0.1.0
 */
export const domain = (
  self: CmId
): Effect.Effect<ProtectionDomain.ProtectionDomain, RdmaCmError, Verbs.Verbs | Scope.Scope> => {
  const site = CreationSite.capture(domain)
  return Effect.flatMap(Effect.all([state(self), context(self)]), ([{ pd }, context]) =>
    pd === undefined
      ? Effect.fail(refused("rdma_cm_id.pd", "EINVAL", "librdmacm has no domain for the id"))
      : ProtectionDomain.borrow(context, pd, self, site))
}

/**
 * Sets an option of the id: `rdma_set_option(3)`. Fails with `EINVAL` once it is too late for it, and with `EOPNOTSUPP` where the
 * kernel has it not.
 *
 * @category combinators
 * @since 0.1.0
 */
export const setOption = (
  self: CmId,
  option: CmOption.CmOption
): Effect.Effect<void, RdmaCmError | Schema.SchemaError> =>
  Effect.flatMap(
    Schema.decodeEffect(CmOption.CmOption)(option),
    (option) => Resource.use(self, (id) => self.channel.cm.setOption(id, option))
  )

/**
 * Binds the id to an address of this host: `rdma_bind_addr(3)`. Port 0 is a free one; an address that is not the wildcard
 * binds the device too. Fails with `EADDRNOTAVAIL` for an address of somebody else, with `EADDRINUSE` for one that is taken,
 * with `ENODEV` for one without an RDMA device, and with `EINVAL` when the id is bound already.
 *
 * @category combinators
 * @since 0.1.0
 */
export const bind = (
  self: CmId,
  address: CmAddress.Input
): Effect.Effect<void, RdmaCmError | Schema.SchemaError> =>
  Effect.flatMap(
    decodeAddress(address),
    (address) => Resource.use(self, (id) => self.channel.cm.bindAddr(id, address))
  )

/**
 * Where {@link resolveAddress} goes, from where, and how long it may take: 2 seconds unless said otherwise.
 *
 * @category models
 * @since 0.1.0
 */
export interface ResolveOptions {
  readonly destination: CmAddress.Input
  readonly source?: CmAddress.Input
  readonly timeout?: Duration.Input
}

/**
 * Finds the device that a destination is reached over, and binds the id to it: `rdma_resolve_addr(3)`. Waits without a thread
 * and can be interrupted.
 *
 * Fails with `EADDRNOTAVAIL` for a source of somebody else, with `ENETUNREACH` without a route, with `ETIMEDOUT` when nobody
 * answers for the address, with `ENODEV` when it is not reached over RDMA, and with `EINVAL` when the id is resolved already.
 *
 * ```ts
 * import { CmId, EventChannel } from "@effect-rdma/rdmacm"
 * import { Effect } from "effect"
 *
 * const resolved = Effect.gen(function*() {
 *   const channel = yield* EventChannel.make()
 *   const id = yield* CmId.make(channel, "tcp")
 *   yield* CmId.resolveAddress(id, { destination: "10.0.0.2:7471" })
 *   yield* CmId.resolveRoute(id)
 *   return id
 * })
 * ```
 *
 * @category combinators
 * @since 0.1.0
 */
export const resolveAddress = (
  self: CmId,
  { destination, source, timeout }: ResolveOptions
): Effect.Effect<void, RdmaCmError | ConnectionError.DeviceRemoved | Schema.SchemaError> =>
  Effect.flatMap(decodeRoute({ destination, ...(source === undefined ? undefined : { source }) }), (route) => {
    const timeoutMillis = millisOf(timeout)
    return resolved(
      self,
      "rdma_resolve_addr",
      ["addrResolved", "addrError"],
      Resource.use(self, (id) => self.channel.cm.resolveAddr(id, route.source, route.destination, timeoutMillis)),
      { destination: CmAddress.format(route.destination), timeoutMillis }
    )
  })

/**
 * Finds the path to the destination that was resolved before: `rdma_resolve_route(3)`, within 2 seconds unless said otherwise.
 * Waits without a thread and can be interrupted. Fails with `EINVAL` before the call when the id is bound to no device, and
 * from it when the address is not resolved or the route is; with `ETIMEDOUT` when no subnet manager answers.
 *
 * @category combinators
 * @since 0.1.0
 */
export const resolveRoute = (
  self: CmId,
  options: { readonly timeout?: Duration.Input } = {}
): Effect.Effect<void, RdmaCmError | ConnectionError.DeviceRemoved> =>
  Effect.suspend(() => {
    const timeoutMillis = millisOf(options.timeout)
    return resolved(
      self,
      "rdma_resolve_route",
      ["routeResolved", "routeError"],
      onDevice(self, "rdma_resolve_route", (id) => self.channel.cm.resolveRoute(id, timeoutMillis)),
      { timeoutMillis }
    )
  })

/**
 * The next request to connect to an id that listens. Its new id is owned by the scope and outlives the listener; accept it or
 * reject it. A request that nobody takes goes with the listener. It waits without a thread and can be interrupted, which
 * loses no request.
 *
 * ```ts
 * import { CmId } from "@effect-rdma/rdmacm"
 * import { Effect } from "effect"
 *
 * const refuseNext = (listener: CmId.CmId) =>
 *   Effect.scoped(Effect.flatMap(CmId.nextRequest(listener), ({ id }) =>
 *     CmId.reject(id, new TextEncoder().encode("not today"))))
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const nextRequest = (self: CmId): Effect.Effect<ConnectionRequest, RdmaCmError, Scope.Scope> => {
  const site = CreationSite.capture(nextRequest)
  const request = () => Events.requestTo(self.channel.events, Resource.raw(self))
  const claim = Effect.suspend(() => {
    const { channel, portSpace } = self
    let parameters: Pick<CmEvent.CmEvent, "conn" | "ud"> = {}
    return Effect.map(
      acquire({
        pair: ["RDMA_CM_EVENT_CONNECT_REQUEST", "rdma_destroy_id"],
        site,
        channel,
        portSpace,
        acquire: Effect.suspend(() => {
          const event = request()
          if (event === undefined) return Effect.fail(taken)
          Events.takeAll(channel.events, (other) => other === event)
          const { conn, ud } = event
          parameters = conn === undefined ? ud === undefined ? {} : { ud } : { conn }
          return Effect.succeed(event.id)
        })
      }),
      (id): ConnectionRequest => ({ id, ...parameters })
    )
  })
  return Effect.suspend(() =>
    Effect.andThen(
      Resource.whileLive(self, Events.until(() => self.channel, Resource.raw(self), () => request() !== undefined)),
      Effect.catch(claim, () => nextRequest(self))
    )
  )
}

/**
 * Moves the id, with its events, to another channel: `rdma_migrate_id(3)`. From then on it goes with that one. Operations that
 * wait on the id go on there.
 *
 * @category combinators
 * @since 0.1.0
 */
export const migrate = (self: CmId, channel: EventChannel.EventChannel): Effect.Effect<void, RdmaCmError> =>
  Effect.uninterruptible(Effect.suspend(() => {
    const from = self.channel
    if (from === channel) return Effect.void
    // In C it waits for acks, so nothing is read meanwhile.
    return Resource.use(
      self,
      (id) =>
        Resource.use(channel, (pointer) =>
          Resource.withLease(
            from,
            from.events.unacked.withPermit(
              Effect.map(from.cm.migrateId(id, pointer), () => {
                Resource.move(self, from, channel)
                Object.assign(self, { channel })
                Events.move(from.events, channel.events, id)
              })
            )
          ))
    )
  }))

/**
 * Says which options of its vendor this end proposes: `rdma_set_local_ece(3)`, before connecting or accepting, with what
 * `QueuePair.queryEce` told. Fails with `EINVAL` for a `vendorId` of 0, and when librdmacm made the queue pair.
 *
 * @category combinators
 * @since 0.1.0
 */
export const setLocalEce = (self: CmId, ece: Ece.Ece): Effect.Effect<void, RdmaCmError | Schema.SchemaError> =>
  Effect.flatMap(
    Schema.decodeEffect(Ece.Ece)(ece),
    (ece) => Resource.use(self, (id) => self.channel.cm.setLocalEce(id, ece))
  )

/**
 * Which options of its vendor the other end proposes, for `QueuePair.setEce`: `rdma_get_remote_ece(3)`. All zeroes when it
 * proposes none.
 *
 * @category queries
 * @since 0.1.0
 */
export const getRemoteEce = (self: CmId): Effect.Effect<Ece.Ece, RdmaCmError> =>
  Resource.use(self, self.channel.cm.getRemoteEce)

export {
  accept,
  awaitDisconnected,
  connect,
  disconnect,
  establish,
  listen,
  moveQueuePair,
  notify,
  reject,
  rejectEce,
  writeEvent
} from "./internal/connecting.ts"

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

/** Another fiber was faster. */
const taken = "taken"

const decodePortSpace = Schema.decodeEffect(PortSpace.PortSpace)
const decodeAddress = Schema.decodeEffect(CmAddress.CmAddress)
const decodeRoute = Schema.decodeEffect(Schema.Struct({
  destination: CmAddress.CmAddress,
  source: Schema.optionalKey(CmAddress.CmAddress)
}))

/** What C takes for a time, which it cuts down to 32 bits. */
const millisOf = (timeout: Duration.Input = "2 seconds"): number =>
  Math.min(Math.ceil(Duration.toMillis(Duration.fromInputUnsafe(timeout))), 0x7fff_ffff)

const resolved = (
  self: CmId,
  call: string,
  [done, failed]: readonly ["addrResolved", "addrError"] | readonly ["routeResolved", "routeError"],
  start: Effect.Effect<void, RdmaCmError>,
  input: RdmaCmError["input"]
): Effect.Effect<void, RdmaCmError | ConnectionError.DeviceRemoved> =>
  Effect.flatMap(
    withEvent(self, "again", [done, failed, "deviceRemoval"], start),
    (event): Effect.Effect<void, RdmaCmError | ConnectionError.DeviceRemoved> => {
      if (event.event === done) return Effect.void
      return Effect.fail(
        event.event === failed
          ? eventError(call, event, input)
          : new ConnectionError.DeviceRemoved({ call, status: event.status })
      )
    }
  )
