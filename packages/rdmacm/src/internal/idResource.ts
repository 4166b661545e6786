/**
 * How an id becomes a handle, whoever made it.
 *
 * @since 0.1.0
 */
import type * as CreationSite from "@effect-rdma/core/CreationSite"
import type * as Pointer from "@effect-rdma/core/Pointer"
import * as Resource from "@effect-rdma/core/Resource"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type * as CmId from "../CmId.ts"
import type * as EventChannel from "../EventChannel.ts"
import type * as PortSpace from "../PortSpace.ts"
import * as Events from "./channelEvents.ts"

interface Acquisition<E> {
  readonly pair: readonly [acquire: string, release: string]
  readonly site: CreationSite.CreationSite | undefined
  readonly channel: EventChannel.EventChannel
  readonly portSpace: PortSpace.PortSpace
  readonly acquire: Effect.Effect<Pointer.Pointer<"rdma_cm_id">, E>
  /** What the id needs beside its channel. */
  readonly others?: ReadonlyArray<Resource.Any>
  /** The release of an endpoint, which returns nothing. */
  readonly isEndpoint?: boolean
}

export const acquire = <E>(
  { acquire, channel, isEndpoint = false, others = [], pair, portSpace, site }: Acquisition<E>
): Effect.Effect<CmId.CmId, E, Scope.Scope> => {
  let made: CmId.CmId | undefined
  return Effect.map(
    Resource.make({
      kind: "CmId",
      pair,
      site,
      parents: [channel, ...others],
      cannotRefuse: isEndpoint,
      acquire,
      release: (id: Pointer.Pointer<"rdma_cm_id">) =>
        Effect.suspend(() => {
          const { cm, events } = (made ?? { channel }).channel
          return events.unacked.withPermit(Effect.suspend(() =>
            // The ids of requests that nobody took go with the one that listens.
            Effect.flatMap(
              Effect.exit(Effect.forEach(Events.forget(events, id), cm.destroyId, { discard: true })),
              (exit) => Effect.andThen(isEndpoint ? cm.destroyEp(id) : cm.destroyId(id), exit)
            )
          ))
        }),
      fields: (id) => ({ channel, portSpace, progress: Events.follow(channel.events, id) })
    }),
    (id) => made = id
  )
}
