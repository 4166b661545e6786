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
import * as Semaphore from "effect/Semaphore"
import type * as CmEvent from "./CmEvent.ts"
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
  /**
   * Taken while an event is got and not yet acked, and while an id is destroyed.
   *
   * @internal
   */
  readonly unacked: Semaphore.Semaphore
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
  return Effect.flatMap(RdmaCm.RdmaCm, (cm) =>
    Resource.make({
      kind: "EventChannel",
      pair: ["rdma_create_event_channel", "rdma_destroy_event_channel"],
      site,
      parents: [],
      cannotRefuse: true,
      acquire: cm.createEventChannel,
      release: cm.destroyEventChannel,
      fields: () => ({ cm, unacked: Semaphore.makeUnsafe(1) })
    }))
}

/**
 * The next event of any id of the channel. It waits without a thread and can be interrupted at any time. The event is
 * copied and acked before anything else happens on the channel, so no id's destruction can wait for an ack.
 *
 * @category queries
 * @since 0.1.0
 */
export const next = (self: EventChannel): Effect.Effect<CmEvent.CmEvent, RdmaCmError> =>
  Effect.flatMap(take(self), (event) =>
    event === undefined
      ? Effect.andThen(Resource.whileLive(self, Resource.use(self, self.cm.awaitCmEvent)), next(self))
      : Effect.succeed(event))

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

// The event that is there, if any. No id of the channel is destroyed between its get and its ack: it would wait for the
// ack, with the JS thread blocked.
const take = (self: EventChannel): Effect.Effect<CmEvent.CmEvent | undefined, RdmaCmError> =>
  Effect.uninterruptible(
    Resource.use(self, (channel) =>
      self.unacked.withPermit(Effect.matchEffect(self.cm.getCmEvent(channel), {
        onFailure: (error) => error.reason._tag === "EAGAIN" ? Effect.succeed(undefined) : Effect.fail(error),
        onSuccess: ({ event, pointer }) => Effect.as(Effect.andThen(self.cm.ackCmEvent(pointer), countPair), event)
      })))
  )

const countPair = Effect.map(Ledger.Ledger, (ledger) => ledger.bracketed(["rdma_get_cm_event", "rdma_ack_cm_event"]))
