/**
 * The asynchronous events of a device: `ibv_get_async_event(3)` and `ibv_ack_async_event`.
 *
 * @since 0.1.0
 */
import * as Ledger from "@effect-rdma/core/Ledger"
import * as Resource from "@effect-rdma/core/Resource"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import type * as AsyncEvent from "./AsyncEvent.ts"
import type * as DeviceContext from "./DeviceContext.ts"
import type { VerbsError } from "./VerbsError.ts"

/**
 * The next event of a context. It waits without a thread and can be interrupted at any time. The event is copied and acked in
 * one step, so no object's destruction can wait for an ack. Several who wait share the events: each goes to one of them.
 *
 * Fails with `EIO` when the device is gone, after its `deviceFatal`. Dies with `UseAfterRelease` when the context is
 * released.
 *
 * ```ts
 * import { AsyncEvent, AsyncEvents } from "@effect-rdma/verbs"
 * import type { DeviceContext } from "@effect-rdma/verbs"
 * import { Effect } from "effect"
 *
 * const logNext = (context: DeviceContext.DeviceContext) =>
 *   Effect.flatMap(AsyncEvents.next(context), (event) => Effect.logInfo(AsyncEvent.format(event)))
 * ```
 *
 * @category queries
 * @since 0.1.0
 */
export const next = (self: DeviceContext.DeviceContext): Effect.Effect<AsyncEvent.AsyncEvent, VerbsError> =>
  Effect.catchReason(take(self), "VerbsError", "EAGAIN", () =>
    Effect.andThen(
      Resource.whileLive(self, Resource.use(self, self.verbs.awaitAsyncEvent)),
      next(self)
    ))

/**
 * The events of a context, one after the other, as {@link next} gives them.
 *
 * @category queries
 * @since 0.1.0
 */
export const stream = (self: DeviceContext.DeviceContext): Stream.Stream<AsyncEvent.AsyncEvent, VerbsError> =>
  Stream.fromEffectRepeat(next(self))

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

// Counted in the same step, so that no interruption loses an event that was got.
const take = (self: DeviceContext.DeviceContext): Effect.Effect<AsyncEvent.AsyncEvent, VerbsError> =>
  Effect.uninterruptible(
    Effect.tap(Resource.use(self, self.verbs.getAsyncEvent), () => countPair)
  )

const countPair = Effect.map(
  Ledger.Ledger,
  (ledger) => ledger.bracketed(["ibv_get_async_event", "ibv_ack_async_event"])
)
