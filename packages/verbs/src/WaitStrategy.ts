/**
 * How those who await completions wait for them.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"

/**
 * The ways to wait, from the quickest to the thriftiest:
 *
 * - `spin` polls again and again for `slice`, and lets the event loop have a turn in between: it costs a whole core, and no
 *   other fiber runs during a slice;
 * - `turn` polls once in each turn of the event loop: a core as well, but everything else runs;
 * - `channel` sleeps until the completion channel tells of one. Where the queue has no channel it is `turn`.
 *
 * @category models
 * @since 0.1.0
 */
export type WaitStrategy =
  | { readonly _tag: "spin"; readonly slice: Duration.Input }
  | { readonly _tag: "turn" }
  | { readonly _tag: "channel" }

/**
 * The strategy of the fiber, `channel` unless it says otherwise.
 *
 * ```ts
 * import { CompletionQueue, WaitStrategy } from "@effect-rdma/verbs"
 * import { Effect } from "effect"
 *
 * const soon = (queue: CompletionQueue.CompletionQueue) =>
 *   CompletionQueue.next(queue).pipe(
 *     Effect.provideService(WaitStrategy.WaitStrategy, { _tag: "spin", slice: "100 micros" })
 *   )
 * ```
 *
 * @category references
 * @since 0.1.0
 */
export const WaitStrategy = Context.Reference<WaitStrategy>("@effect-rdma/verbs/WaitStrategy", {
  defaultValue: () => ({ _tag: "channel" })
})

/**
 * How long an awaited send that was interrupted may still take to complete. The device may use its memory until then,
 * so the interruption waits; after that the queue pair is moved to ERR, which flushes the request. It is time of the
 * system's clock, whatever `Clock` the program has. One second unless the fiber says otherwise.
 *
 * @category references
 * @since 0.1.0
 */
export const InterruptionGrace = Context.Reference<Duration.Input>("@effect-rdma/verbs/InterruptionGrace", {
  defaultValue: () => "1 second"
})

/**
 * Calls back after so many milliseconds, unless it is cancelled by what it returns.
 *
 * @category models
 * @since 0.1.0
 */
export type Timer = (millis: number, callBack: () => void) => () => void

/**
 * The timer of {@link InterruptionGrace} and of the flush after it: the system's, so that a clock that stands still keeps
 * no memory from its owner. Where the devices are simulated, the simulation's.
 *
 * @category references
 * @since 0.1.0
 */
export const DeviceTimer = Context.Reference<Timer>("@effect-rdma/verbs/DeviceTimer", {
  defaultValue: () => (millis, callBack) => {
    const timer = setTimeout(callBack, millis)
    return () => clearTimeout(timer)
  }
})
