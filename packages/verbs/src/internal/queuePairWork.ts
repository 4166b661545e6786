/**
 * What is under way on a queue pair, and what must hold before more is posted.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Scheduler from "effect/Scheduler"
import type * as SendBatch from "../operations/SendBatch.ts"
import type * as QueuePair from "../QueuePair.ts"
import type * as QueuePairState from "../QueuePairState.ts"
import type { VerbsError } from "../VerbsError.ts"
import { orRefused, refused } from "./refused.ts"
import * as RequestQueue from "./requestQueue.ts"

export interface Work {
  readonly sends: RequestQueue.RequestQueue
  /** Its own: with a shared receive queue it has none. */
  readonly receives: RequestQueue.RequestQueue
  /** Every send has a completion. */
  readonly signalsAll: boolean
  /** Where it was put last. The device moves on by itself, but never back to where nothing can be posted. */
  state: QueuePairState.QueuePairState
  /** A batch holds the lock of the send queue: whoever posts there now waits for ever. */
  isBuilding: boolean
}

export const make = ({ maxRecvWr, maxSendWr }: QueuePair.QueuePair["cap"], signalsAll: boolean): Work => ({
  sends: RequestQueue.make(maxSendWr, true),
  receives: RequestQueue.make(maxRecvWr, true),
  signalsAll,
  state: "reset",
  isBuilding: false
})

/** Nothing is under way any more: the queue pair is destroyed. */
export const close = ({ receives, sends }: Work): void => {
  RequestQueue.close(sends)
  RequestQueue.close(receives)
}

/** Notes a transition. */
export const moved = (work: Work, state: QueuePairState.QueuePairState): void => {
  work.state = state
  if (state !== "reset") return
  RequestQueue.drop(work.sends)
  RequestQueue.drop(work.receives)
}

export const isSignaled = (
  { signalsAll }: Pick<Work, "signalsAll">,
  flags: ReadonlyArray<SendBatch.SendFlag> | undefined
): boolean =>
  // Mostly it is the first: that is quicker than to search.
  signalsAll || (flags !== undefined && (flags[0] === "signaled" || flags.includes("signaled")))

/** Throws what forbids to post sends at all. */
export const ensureSending = (call: string, { qpType, work }: QueuePair.QueuePair): void => {
  if (work.isBuilding) {
    throw refused(call, "EBUSY", "A batch of the queue pair is being built: C would wait for ever")
  }
  if (work.sends.capacity === 0) throw refused(call, "EINVAL", "The queue pair has no send queue", { qpType })
  const { state } = work
  if (state === "reset" || state === "init" || state === "rtr") {
    throw refused(call, "EINVAL", "The queue pair sends from RTS on: toRts or connect", { state })
  }
}

/** Throws what forbids to post receives at all. */
export const ensureReceiving = (call: string, { qpType, srq, work }: QueuePair.QueuePair): void => {
  if (work.receives.capacity === 0) {
    const hint = srq === undefined ? "The queue pair has no receive queue" : "It receives from its shared queue"
    throw refused(call, "EINVAL", hint, { qpType })
  }
  if (work.state === "reset") {
    throw refused(call, "EINVAL", "The queue pair takes receives from INIT on: toInit or connect")
  }
}

/** Throws when so many more find no room. */
export const ensureRoom = (call: string, queue: RequestQueue.RequestQueue, count: number): void => {
  const { capacity, inFlight, promised, signaled, undelivered } = queue
  if (RequestQueue.hasRoom(queue, undelivered + count)) return
  const input = { count, capacity, inFlight, undelivered }
  if (count > capacity) throw refused(call, "ENOMEM", `The queue was made for ${capacity} requests`, input)
  throw refused(
    call,
    "ENOMEM",
    RequestQueue.hasRoom(queue, count)
      ? "The completions of earlier requests must be polled first"
      : signaled + promised === 0
      ? "The queue is full of requests without a completion: signal one at least every time that the queue is filled"
      : "The queue is full: poll the completions of earlier requests first",
    input
  )
}

/**
 * Runs what numbers requests, posts them and takes back what was refused without a yield to other fibers. Who posts in
 * between would complete out of order, or lose the place to those who are taken back.
 */
export const inOneTurn = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.provideService(effect, Scheduler.PreventSchedulerYield, true)

/** Posts one send by a call of its own, which is told the number of the request. */
export const postOne = <A>(
  call: string,
  self: QueuePair.QueuePair,
  { flags, wrId }: { readonly wrId: bigint; readonly flags: ReadonlyArray<SendBatch.SendFlag> },
  post: (wrId: bigint) => Effect.Effect<A, VerbsError>
): Effect.Effect<A, VerbsError> =>
  inOneTurn(orRefused(() => {
    const { work } = self
    ensureSending(call, self)
    ensureRoom(call, work.sends, 1)
    const own = RequestQueue.begin(work.sends, wrId, isSignaled(work, flags))
    return Effect.onError(post(own), () => Effect.sync(() => RequestQueue.undo(work.sends, own)))
  }))
