/**
 * The channel that tells of completions: `ibv_create_comp_channel(3)` and `ibv_destroy_comp_channel`, `ibv_get_cq_event(3)`
 * and `ibv_ack_cq_events`.
 *
 * @since 0.1.0
 */
import * as CreationSite from "@effect-rdma/core/CreationSite"
import * as Ledger from "@effect-rdma/core/Ledger"
import type * as Pointer from "@effect-rdma/core/Pointer"
import * as Resource from "@effect-rdma/core/Resource"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type * as CompletionQueue from "./CompletionQueue.ts"
import type * as DeviceContext from "./DeviceContext.ts"
import type { VerbsError } from "./VerbsError.ts"

/**
 * A completion channel. Every completion queue on it is released before it.
 *
 * @category models
 * @since 0.1.0
 */
export interface CompletionChannel extends Resource.Resource<"CompletionChannel", Pointer.Pointer<"ibv_comp_channel">> {
  readonly context: DeviceContext.DeviceContext
  /** @internal The queues on it by their `cq_context`, which is a number of ours. */
  readonly queues: Map<number, CompletionQueue.CompletionQueue>
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
    fields: () => ({ context, queues: new Map<number, CompletionQueue.CompletionQueue>() })
  })

/**
 * The completion queue of the next event. A queue gives one event for each `CompletionQueue.requestNotification`, at the
 * completion that comes after it. It waits without a thread and can be interrupted at any time. The event is acked in
 * the same step, so no queue's destruction can wait for an ack. Several who wait share the events: each goes to one of
 * them.
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
  Effect.catchReason(take(self), "VerbsError", "EAGAIN", () =>
    Effect.andThen(
      Resource.whileLive(self, Resource.use(self, self.context.verbs.awaitCqEvent)),
      next(self)
    ))

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

const take = (self: CompletionChannel): Effect.Effect<CompletionQueue.CompletionQueue, VerbsError> =>
  Effect.flatMap(
    // Counted in the same step, so that no interruption loses an event that was got.
    Effect.uninterruptible(
      Effect.tap(Resource.use(self, self.context.verbs.getCqEvent), () => countPair)
    ),
    ({ cqContext }) => {
      const queue = self.queues.get(cqContext)
      // Its release has begun meanwhile.
      return queue === undefined ? take(self) : Effect.succeed(queue)
    }
  )

const countPair = Effect.map(Ledger.Ledger, (ledger) => ledger.bracketed(["ibv_get_cq_event", "ibv_ack_cq_events"]))
