/**
 * The channel that tells of completions: `ibv_create_comp_channel(3)` and `ibv_destroy_comp_channel`, `ibv_get_cq_event(3)`
 * and `ibv_ack_cq_events`.
 *
 * @since 0.1.0
 */
import * as CreationSite from "@effect-rdma/core/CreationSite"
import type * as Pointer from "@effect-rdma/core/Pointer"
import * as Resource from "@effect-rdma/core/Resource"
import type * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type * as CompletionQueue from "./CompletionQueue.ts"
import type * as DeviceContext from "./DeviceContext.ts"
import * as ChannelEvents from "./internal/channelEvents.ts"
import type { VerbsError } from "./VerbsError.ts"

/**
 * A completion channel. Every completion queue on it is released before it.
 *
 * @category models
 * @since 0.1.0
 */
export interface CompletionChannel extends Resource.Resource<"CompletionChannel", Pointer.Pointer<"ibv_comp_channel">> {
  readonly context: DeviceContext.DeviceContext
  /** @internal */
  readonly events: ChannelEvents.ChannelEvents
}

/**
 * Creates a completion channel, owned by the scope. Blocks for a system call. Fails with `EMFILE` when the process has no
 * descriptor left, `EIO` when the device is gone.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = (
  context: DeviceContext.DeviceContext
): Effect.Effect<CompletionChannel, VerbsError, Scope.Scope> =>
  Resource.make({
    kind: "CompletionChannel",
    pair: ["ibv_create_comp_channel", "ibv_destroy_comp_channel"],
    site: CreationSite.capture(make),
    parents: [context],
    goneWithDevice: true,
    acquire: Resource.use(context, context.verbs.createCompChannel),
    release: context.verbs.destroyCompChannel,
    fields: () => ({ context, events: ChannelEvents.make(["ibv_get_cq_event", "ibv_ack_cq_events"]) })
  })

/**
 * The completion queue of the next event. A queue gives one event for each `CompletionQueue.requestNotification`, at the
 * completion that comes after it. It waits without a thread and can be interrupted at any time. The event is acked in
 * the same step, so no queue's destruction can wait for an ack. Several who wait share the events: each goes to one of
 * them, and those of a queue on which others sleep, as in `CompletionQueue.next`, go to these.
 *
 * Fails with `EIO` when the device is gone. Dies with `UseAfterRelease` when the channel is released.
 *
 * ```ts
 * import { CompletionChannel, CompletionQueue } from "@effect-rdma/verbs"
 * import { Effect } from "effect"
 *
 * const nextEvent = Effect.fnUntraced(function*(
 *   channel: CompletionChannel.CompletionChannel,
 *   queue: CompletionQueue.CompletionQueue
 * ) {
 *   yield* CompletionQueue.requestNotification(queue)
 *   return yield* CompletionChannel.next(channel)
 * })
 * ```
 *
 * @category queries
 * @since 0.1.0
 */
export const next = (self: CompletionChannel): Effect.Effect<CompletionQueue.CompletionQueue, VerbsError> =>
  ChannelEvents.next(self)
