/**
 * The events of a completion channel. Whoever reads one may have waited for another queue, so each is told to those who
 * sleep on its queue, and kept for those who ask the channel when there is none.
 *
 * @since 0.1.0
 */
import * as Ledger from "@effect-rdma/core/Ledger"
import * as Resource from "@effect-rdma/core/Resource"
import * as Effect from "effect/Effect"
import type * as CompletionChannel from "../CompletionChannel.ts"
import type * as CompletionQueue from "../CompletionQueue.ts"
import type { VerbsError } from "../VerbsError.ts"

export interface ChannelEvents {
  /** The queues on the channel by their `cq_context`, which is a number of ours. */
  readonly queues: Map<number, CompletionQueue.CompletionQueue>
  /** The queues whose event nobody has taken yet. */
  readonly pending: Set<CompletionQueue.CompletionQueue>
  /** Those who wait for any event. */
  readonly waiting: Set<() => void>
  /** What each event counts as in the ledger. */
  readonly pair: Ledger.Pair
}

export const make = (pair: Ledger.Pair): ChannelEvents => ({
  queues: new Map(),
  pending: new Set(),
  waiting: new Set(),
  pair
})

/** The queue of the next event that no sleeper was told of. */
export const next = (
  self: CompletionChannel.CompletionChannel
): Effect.Effect<CompletionQueue.CompletionQueue, VerbsError> =>
  Effect.suspend(() => {
    const { pending, waiting } = self.events
    for (const queue of pending) {
      pending.delete(queue)
      return Effect.succeed(queue)
    }
    return Effect.andThen(whileReading(self, waiting, () => pending.size > 0), next(self))
  })

/** Reads events until `isTold`, or until one of those in `told` is called, to which it adds its own. */
export const whileReading = (
  self: CompletionChannel.CompletionChannel,
  told: Set<() => void>,
  isTold: () => boolean
): Effect.Effect<void, VerbsError> =>
  Effect.raceFirst(
    Effect.callback<void>((resume) => {
      if (isTold()) return resume(Effect.void)
      const tell = () => {
        told.delete(tell)
        resume(Effect.void)
      }
      told.add(tell)
      return Effect.sync(() => told.delete(tell))
    }),
    Effect.forever(Effect.catchReason(
      read(self),
      "VerbsError",
      "EAGAIN",
      () => Resource.whileLive(self, Resource.use(self, self.context.verbs.awaitCqEvent))
    ))
  )

/** Tells those who are there now: who is told may come back at once. */
export const tellAll = (told: ReadonlySet<() => void>): void => {
  for (const tell of Array.from(told)) tell()
}

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

/** Reads one event and tells of it in the same step, so that no interruption loses it. */
const read = (self: CompletionChannel.CompletionChannel): Effect.Effect<void, VerbsError> =>
  Effect.uninterruptible(Effect.flatMap(
    Resource.use(self, self.context.verbs.getCqEvent),
    ({ cqContext }) => {
      const { pair, pending, queues, waiting } = self.events
      const queue = queues.get(cqContext)
      // Without one its release has begun meanwhile.
      if (queue !== undefined) {
        const { sleeping } = queue.completions
        if (sleeping.size === 0) pending.add(queue)
        tellAll(sleeping.size === 0 ? waiting : sleeping)
      }
      return Effect.map(Ledger.Ledger, (ledger) => ledger.bracketed(pair))
    }
  ))
