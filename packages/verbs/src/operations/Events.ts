/**
 * The part of the seam of libibverbs for asynchronous events.
 *
 * @since 0.1.0
 */
import type * as Pointer from "@effect-rdma/core/Pointer"
import type * as Effect from "effect/Effect"
import type * as AsyncEvent from "../AsyncEvent.ts"
import type { VerbsError } from "../VerbsError.ts"

/**
 * What devices report by themselves.
 *
 * @category services
 * @since 0.1.0
 */
export interface Operations {
  /**
   * Gets an event and acks it by `ibv_ack_async_event` in the same turn: between the two no destroy may start, since it
   * would wait for the ack and stop the process. `EAGAIN` when there is none, `EIO` when the device is gone and has told
   * so. Sets the descriptor of the context to `O_NONBLOCK`.
   */
  readonly getAsyncEvent: (
    context: Pointer.Pointer<"ibv_context">
  ) => Effect.Effect<AsyncEvent.AsyncEvent, VerbsError>
  /** Waits until the context has an event, or its device is gone. */
  readonly awaitAsyncEvent: (context: Pointer.Pointer<"ibv_context">) => Effect.Effect<void, VerbsError>
}
