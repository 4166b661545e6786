/**
 * The events of an id whose messages flow.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type * as CmEvent from "../CmEvent.ts"
import type * as CmId from "../CmId.ts"
import * as EventChannel from "../EventChannel.ts"
import { connectionError, eventError } from "./idOperation.ts"
import * as Messages from "./messages.ts"

/** Takes every event of the id's channel from now on, and ends the messages with those that are an end. */
export const watch = (id: CmId.CmId, messages: Messages.Messages<"rc" | "ud">): Effect.Effect<void> =>
  Messages.work(messages, watching(id, messages))

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

const watching = (id: CmId.CmId, messages: Messages.Messages<"rc" | "ud">): Effect.Effect<void> =>
  Effect.matchEffect(EventChannel.next(id.channel), {
    onFailure: (error) => Messages.fail(messages, error),
    onSuccess: (event) => {
      const failure = failureOf(event)
      return Effect.andThen(
        failure === undefined ? Effect.void : Messages.fail(messages, failure),
        watching(id, messages)
      )
    }
  })

const failureOf = (event: CmEvent.CmEvent): Messages.Failure | undefined =>
  event.event === "multicastError"
    ? eventError("rdma_join_multicast", event)
    : connectionError("rdma_get_cm_event", event)
