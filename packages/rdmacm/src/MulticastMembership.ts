/**
 * The membership of a datagram id in a multicast group: `rdma_join_multicast(3)` and `rdma_leave_multicast`.
 *
 * @since 0.1.0
 */
import * as CreationSite from "@effect-rdma/core/CreationSite"
import * as Errno from "@effect-rdma/core/Errno"
import type * as Pointer from "@effect-rdma/core/Pointer"
import * as Resource from "@effect-rdma/core/Resource"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import * as CmAddress from "./CmAddress.ts"
import type * as CmId from "./CmId.ts"
import type * as ConnectionParameters from "./ConnectionParameters.ts"
import * as Events from "./internal/channelEvents.ts"
import { eventError, onDevice } from "./internal/idOperation.ts"
import type { RdmaCmError } from "./RdmaCmError.ts"

/**
 * A membership. `group` says where datagrams to the group go, and with which key.
 *
 * @category models
 * @since 0.1.0
 */
export interface MulticastMembership
  extends Resource.Resource<"MulticastMembership", { readonly id: Pointer.Pointer<"rdma_cm_id"> }>
{
  readonly cmId: CmId.CmId
  readonly address: CmAddress.CmAddress
  readonly group: ConnectionParameters.DatagramParameters
}

/**
 * How an id joins: as a `fullMember`, which is what `rdma_join_multicast` does, or to send only.
 *
 * @category schemas
 * @since 0.1.0
 */
export const JoinFlags = Schema.Literals(["fullMember", "sendOnlyFullMember"])

/**
 * Joins a group, and waits until the network says so; owned by the scope, which leaves it, before its id is destroyed. A queue
 * pair of verbs is attached with `MulticastAttachment`, to the GID and LID of the `group`. It waits without a thread and can be
 * interrupted, which leaves the group.
 *
 * Fails with `EINVAL` before the call when the id is bound to no device, and from it for an id that is none of datagrams; with
 * the errno of the event when the network refuses.
 *
 * @category constructors
 * @since 0.1.0
 */
export const join = (
  cmId: CmId.CmId,
  address: CmAddress.Input,
  options: { readonly joinFlags?: typeof JoinFlags.Type } = {}
): Effect.Effect<MulticastMembership, RdmaCmError | Schema.SchemaError, Scope.Scope> => {
  const site = CreationSite.capture(join)
  return Effect.flatMap(decode({ address, ...options }), ({ address, joinFlags }) => {
    const context = nextContext++
    const call = joinFlags === undefined ? "rdma_join_multicast" : "rdma_join_multicast_ex"
    return Effect.flatMap(
      Resource.make({
        kind: "MulticastMembership",
        pair: ["rdma_join_multicast", "rdma_leave_multicast"],
        site,
        parents: [cmId],
        acquire: onDevice(cmId, call, (id) => {
          const { cm } = cmId.channel
          return Effect.as(
            joinFlags === undefined
              ? cm.joinMulticast(id, address, context)
              : cm.joinMulticastEx(id, address, joinFlags, context),
            { id }
          )
        }),
        // In C it waits for acks.
        release: ({ id }) => {
          const { cm, events } = cmId.channel
          return events.unacked.withPermit(Effect.andThen(
            Effect.catch(
              cm.leaveMulticast(id, address),
              // The device of the id is gone, and its memberships with it.
              (error) => error.reason.errno === ENXIO ? Effect.void : Effect.fail(error)
            ),
            Effect.sync(() => void Events.takeAll(events, (event) => event.multicastContext === context))
          ))
        },
        fields: () => ({ cmId, address })
      }),
      (self) =>
        Effect.flatMap(
          Effect.suspend(() =>
            Resource.whileLive(
              self,
              Events.next(
                () => cmId.channel,
                Resource.raw(cmId),
                ({ event, multicastContext }) => multicastContext === context || event === "deviceRemoval"
              )
            )
          ),
          (event) =>
            event.ud === undefined
              ? Effect.fail(eventError(call, event, { address: CmAddress.format(address) }))
              : Effect.succeed(Object.assign(self, { group: event.ud }))
        )
    )
  })
}

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

const ENXIO = Errno.numberOf("ENXIO")

/** What C hands back with the events of a membership. */
let nextContext = 1n

const decode = Schema.decodeEffect(Schema.Struct({
  address: CmAddress.CmAddress,
  joinFlags: Schema.optionalKey(JoinFlags)
}))
