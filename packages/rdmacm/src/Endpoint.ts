/**
 * Endpoints: an address that was found, as an id that is resolved or bound in one call: `rdma_create_ep(3)`, `rdma_destroy_ep` and
 * `rdma_get_request(3)`.
 *
 * @since 0.1.0
 */
import * as CreationSite from "@effect-rdma/core/CreationSite"
import type * as Pointer from "@effect-rdma/core/Pointer"
import * as Resource from "@effect-rdma/core/Resource"
import * as QueuePairInitAttributes from "@effect-rdma/verbs/QueuePairInitAttributes"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import type * as AddressInfoAttributes from "./AddressInfoAttributes.ts"
import type * as CmEvent from "./CmEvent.ts"
import type * as CmId from "./CmId.ts"
import type * as EventChannel from "./EventChannel.ts"
import { lacksQueue } from "./internal/idOperation.ts"
import { acquire } from "./internal/idResource.ts"
import * as RdmaCm from "./RdmaCm.ts"
import type { RdmaCmError } from "./RdmaCmError.ts"

/**
 * The queue pair that librdmacm makes on the id, if any, with completion queues of its own, in its domain of the device. An
 * endpoint that listens makes one on the id of each request instead.
 *
 * @category models
 * @since 0.1.0
 */
export interface Options {
  readonly queuePair?: Omit<typeof QueuePairInitAttributes.QueuePairInitAttributes.Encoded, "qpType">
}

/**
 * An endpoint on a channel, as an id with its route resolved, or bound for a `passive` address; owned by the scope and released
 * with all that librdmacm made on it, before the channel. It is on a worker thread for up to four seconds, which cannot be
 * interrupted. Fails as `CmId.resolveAddress`, `CmId.resolveRoute`, `CmId.bind` and `CmQueuePair.make`.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = (
  channel: EventChannel.EventChannel,
  info: AddressInfoAttributes.AddressInfo,
  options: Options = {}
): Effect.Effect<CmId.CmId, RdmaCmError | Schema.SchemaError, Scope.Scope> => {
  const site = CreationSite.capture(make)
  return Effect.flatMap(initOf(info, options), (init) =>
    acquire({
      pair: ["rdma_create_ep", "rdma_destroy_ep"],
      site,
      channel,
      portSpace: info.portSpace,
      isEndpoint: true,
      acquire: Effect.flatMap(
        Effect.suspend(() => channel.cm.createEp(info, undefined, init)),
        (id) => migrated(channel, id)
      )
    }))
}

/**
 * An endpoint that listens, with a channel of its own.
 *
 * @category models
 * @since 0.1.0
 */
export interface Listener extends Resource.Resource<"Endpoint", Pointer.Pointer<"rdma_cm_id">> {
  readonly cm: RdmaCm.RdmaCm["Service"]
  readonly info: AddressInfoAttributes.AddressInfo
}

/**
 * An endpoint that listens on a `passive` address, owned by the scope. Fails as `CmId.bind` and `CmId.listen`.
 *
 * @category constructors
 * @since 0.1.0
 */
export const listen = (
  info: AddressInfoAttributes.AddressInfo,
  options: Options & { readonly backlog?: number } = {}
): Effect.Effect<Listener, RdmaCmError | Schema.SchemaError, RdmaCm.RdmaCm | Scope.Scope> => {
  const site = CreationSite.capture(listen)
  return Effect.flatMap(Effect.all([RdmaCm.RdmaCm, initOf(info, options)]), ([cm, init]) =>
    Resource.make({
      kind: "Endpoint",
      pair: ["rdma_create_ep", "rdma_destroy_ep"],
      site,
      parents: [],
      cannotRefuse: true,
      acquire: Effect.tap(
        cm.createEp(info, undefined, init),
        (id) => Effect.tapError(cm.listen(id, options.backlog ?? 0), () => cm.destroyEp(id))
      ),
      release: cm.destroyEp,
      fields: () => ({ cm, info })
    }))
}

/**
 * What the id of a listener says of itself: where it listens.
 *
 * @category queries
 * @since 0.1.0
 */
export const state = (self: Listener): Effect.Effect<RdmaCm.IdState> => Resource.use(self, self.cm.readId)

/**
 * The next request to a listener, on a channel: `rdma_get_request(3)`. Its id is owned by the scope and outlives the listener;
 * accept or reject it. It waits without a thread and can be interrupted.
 *
 * @category constructors
 * @since 0.1.0
 */
export const nextRequest = (
  self: Listener,
  channel: EventChannel.EventChannel
): Effect.Effect<CmId.ConnectionRequest, RdmaCmError, Scope.Scope> => {
  const site = CreationSite.capture(nextRequest)
  const claim = Effect.suspend(() => {
    let parameters: Pick<CmEvent.CmEvent, "conn" | "ud"> = {}
    return Effect.map(
      acquire({
        pair: ["rdma_get_request", "rdma_destroy_ep"],
        site,
        channel,
        portSpace: self.info.portSpace,
        isEndpoint: true,
        acquire: Effect.flatMap(Resource.use(self, self.cm.getRequest), ({ event: { conn, ud }, id }) => {
          parameters = conn === undefined ? ud === undefined ? {} : { ud } : { conn }
          return migrated(channel, id)
        })
      }),
      (id): CmId.ConnectionRequest => ({ id, ...parameters })
    )
  })
  return Effect.catchReason(
    claim,
    "RdmaCmError",
    "EAGAIN",
    () => Effect.andThen(Resource.whileLive(self, Resource.use(self, self.cm.awaitRequest)), nextRequest(self, channel))
  )
}

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

const initOf = ({ qpType }: AddressInfoAttributes.AddressInfo, { queuePair }: Options) =>
  queuePair === undefined
    ? Effect.succeed(undefined)
    : Effect.flatMap(
      Schema.decodeEffect(QueuePairInitAttributes.QueuePairInitAttributes)({ ...queuePair, qpType }),
      (init) => {
        const problem = lacksQueue("rdma_create_ep", init.cap)
        return problem === undefined
          ? Effect.succeed({ ...init, sendCq: undefined, recvCq: undefined, srq: undefined })
          : Effect.fail(problem)
      }
    )

/** From the channel that C made for it to one of ours. */
const migrated = (channel: EventChannel.EventChannel, id: Pointer.Pointer<"rdma_cm_id">) =>
  Effect.as(
    Effect.tapError(channel.cm.migrateId(id, Resource.raw(channel)), () => channel.cm.destroyEp(id)),
    id
  )
