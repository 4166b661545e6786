/**
 * The channel that events of CM ids arrive on: `rdma_create_event_channel(3)` and `rdma_destroy_event_channel`.
 *
 * @since 0.1.0
 */
import * as CreationSite from "@effect-rdma/core/CreationSite"
import * as Ledger from "@effect-rdma/core/Ledger"
import type * as Pointer from "@effect-rdma/core/Pointer"
import * as Resource from "@effect-rdma/core/Resource"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type * as CmEvent from "./CmEvent.ts"
import * as Events from "./internal/channelEvents.ts"
import * as RdmaCm from "./RdmaCm.ts"
import type { RdmaCmError } from "./RdmaCmError.ts"

/**
 * An event channel. Every id on it is destroyed before it.
 *
 * @category models
 * @since 0.1.0
 */
export interface EventChannel extends Resource.Resource<"EventChannel", Pointer.Pointer<"rdma_event_channel">> {
  readonly cm: RdmaCm.RdmaCm["Service"]
  /** @internal */
  readonly events: Events.ChannelEvents
}

/**
 * Creates an event channel, owned by the scope. Fails with `EACCES` when `/dev/infiniband/rdma_cm` refuses, with
 * `RdmaUnavailable` when the kernel has no RDMA.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = (): Effect.Effect<EventChannel, RdmaCmError, RdmaCm.RdmaCm | Scope.Scope> => {
  const site = CreationSite.capture(make)
  return Effect.flatMap(RdmaCm.RdmaCm, (cm) => {
    const events = Events.make(countPair)
    return Resource.make({
      kind: "EventChannel",
      pair: ["rdma_create_event_channel", "rdma_destroy_event_channel"],
      site,
      parents: [],
      cannotRefuse: true,
      acquire: cm.createEventChannel,
      // The ids of requests that nobody took are nobody else's.
      release: (channel) =>
        Effect.andThen(
          Effect.forEach(Events.takeAll(events, () => true), (event) =>
            event.event === "connectRequest" ? cm.destroyId(event.id) : Effect.void, { discard: true }),
          cm.destroyEventChannel(channel)
        ),
      fields: () => ({ cm, events })
    })
  })
}

/**
 * The next event of any id of the channel that no operation on an id waits for, in their order. It waits without a thread and
 * can be interrupted at any time. The event is copied and acked before anything else happens on the channel, so no id's
 * destruction can wait for an ack.
 *
 * A `connectRequest` is not among them: it brings an id that somebody has to own, see `CmId.nextRequest`.
 *
 * @category queries
 * @since 0.1.0
 */
export const next = (self: EventChannel): Effect.Effect<CmEvent.CmEvent, RdmaCmError> =>
  Events.next(() => self, undefined, ({ event }) => event !== "connectRequest")

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

const countPair = Effect.map(Ledger.Ledger, (ledger) => ledger.bracketed(["rdma_get_cm_event", "rdma_ack_cm_event"]))
