/**
 * How completions are taken from a queue: part of the module `CompletionQueue`.
 *
 * @since 0.1.0
 */
import * as Ledger from "@effect-rdma/core/Ledger"
import * as Resource from "@effect-rdma/core/Resource"
import * as Array from "effect/Array"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import type { CompletionQueue, ExtendedCompletionQueue } from "../CompletionQueue.ts"
import type * as ExtendedCompletion from "../ExtendedCompletion.ts"
import type { VerbsError } from "../VerbsError.ts"
import type * as WorkCompletion from "../WorkCompletion.ts"
import * as Completions from "./completions.ts"
import * as Waiting from "./completionWaiting.ts"
import { withDataPath } from "./dataPath.ts"
import { refused } from "./refused.ts"

/**
 * Reads the completions of an extended queue and tells how many: `ibv_start_poll` and `ibv_end_poll` of
 * `ibv_create_cq_ex(3)`. Does not block. Each is copied out, and only then given to `each`, so no lock of the provider is
 * held meanwhile. `each` is a plain function: all is one step, and no interruption loses a completion. It returns `false`
 * to leave the rest in the queue; when it throws, the effect dies with what it threw. An empty queue gives 0, and one call
 * reads at most `cqe` completions, so that a device that is faster than `each` cannot keep the thread. What was taken from
 * the device on behalf of requests that are awaited on the same queue comes first, with what {@link poll} tells of it: none
 * of the times and tags. Fails with `EINVAL` for a queue that is not an extended one.
 *
 * ```ts
 * import { CompletionQueue } from "@effect-rdma/verbs"
 * import type { ExtendedCompletion } from "@effect-rdma/verbs"
 * import { Effect } from "effect"
 *
 * const atMost = (queue: CompletionQueue.ExtendedCompletionQueue, count: number) => {
 *   const completions: Array<ExtendedCompletion.ExtendedCompletion> = []
 *   return Effect.as(
 *     CompletionQueue.pollExtended(queue, (completion) => completions.push(completion) < count),
 *     completions
 *   )
 * }
 * ```
 *
 * @category operations
 * @since 0.1.0
 */
export const pollExtended = (
  self: ExtendedCompletionQueue,
  each: (completion: ExtendedCompletion.ExtendedCompletion) => boolean
): Effect.Effect<number, VerbsError> =>
  Effect.tap(
    Resource.use(self, (pointer) => {
      const wcFlags: ExtendedCompletionQueue["wcFlags"] | undefined = self.wcFlags
      // Code without types can pass any queue, and the struct of another one ends before the functions of a poll.
      if (wcFlags === undefined) return Effect.fail(notExtended())
      let left = self.cqe
      let count = 0
      for (; left > 0; left--) {
        const completion = Completions.shift(self.completions)
        if (completion === undefined) break
        count++
        if (!each(completion)) return Effect.succeed(count)
      }
      if (left === 0) return Effect.succeed(count)
      const deliveries = Completions.makeDeliveries()
      const polled = self.context.verbs.startPoll(pointer, wcFlags, (completion) => {
        const isWanted = !Completions.isForPoller(completion, deliveries) || ++count > 0 && each(completion)
        return isWanted && --left > 0
      })
      return Effect.map(polled, () => count).pipe(
        Effect.ensuring(Effect.sync(() => Completions.deliver(deliveries)))
      )
    }),
    (count) => count === 0 ? Effect.void : countPoll
  )

/**
 * Takes at most `max` completions, the oldest first, and none when there is none: `ibv_poll_cq(3)`. Does not block. All is
 * one step. Those of requests that somebody awaits go there and are not among them. It works on extended queues too.
 *
 * Fails with `EINVAL` for a `max` that is no integer of 1 to 65,536, before any call, and with the reason `UnknownErrno`
 * when the provider cannot read the queue.
 *
 * ```ts
 * import { CompletionQueue } from "@effect-rdma/verbs"
 * import { Effect } from "effect"
 *
 * const failures = (queue: CompletionQueue.CompletionQueue) =>
 *   Effect.map(
 *     CompletionQueue.poll(queue, 64),
 *     (completions) => completions.filter((completion) => completion.status !== "success")
 *   )
 * ```
 *
 * @category operations
 * @since 0.1.0
 */
export const poll = (
  self: CompletionQueue,
  max: number = 16
): Effect.Effect<ReadonlyArray<WorkCompletion.WorkCompletion>, VerbsError> =>
  isMax(max)
    ? withDataPath(self.context, (dataPath) => {
      const { completions, error } = Completions.poll(self, dataPath, max)
      return error === undefined ? Effect.succeed(completions) : Effect.fail(error)
    })
    : Effect.fail(notMax(max))

/**
 * Waits until there are completions, and takes at most `max`. It waits as the fiber's `WaitStrategy` says, and can be
 * interrupted at any time: while it waits it has taken none. Dies with `UseAfterRelease` when the queue is released.
 *
 * Fails as {@link poll}, and with `EIO` when the device is gone.
 *
 * @category operations
 * @since 0.1.0
 */
export const next = (
  self: CompletionQueue,
  max: number = 16
): Effect.Effect<Array.NonEmptyReadonlyArray<WorkCompletion.WorkCompletion>, VerbsError> =>
  isMax(max)
    ? Waiting.until(self, (dataPath) => {
      const { completions, error } = Completions.poll(self, dataPath, max)
      if (error !== undefined) return Effect.fail(error)
      return Array.isReadonlyArrayNonEmpty(completions) ? Effect.succeed(completions) : undefined
    })
    : Effect.fail(notMax(max))

/**
 * All completions from now on that nobody awaits. Nothing is taken that is not asked for: at most `max` at once are read
 * ahead, and the rest waits in the queue, whose `cqe` bounds it. A failed request is a completion like any other, with its
 * `status`. It waits as {@link next}, never ends by itself, and fails as that.
 *
 * ```ts
 * import { CompletionQueue } from "@effect-rdma/verbs"
 * import { Stream } from "effect"
 *
 * const received = (queue: CompletionQueue.CompletionQueue) =>
 *   CompletionQueue.stream(queue).pipe(
 *     Stream.filter((completion) => completion.status === "success" && completion.opcode === "recv")
 *   )
 * ```
 *
 * @category operations
 * @since 0.1.0
 */
export const stream = (
  self: CompletionQueue,
  max: number = 16
): Stream.Stream<WorkCompletion.WorkCompletion, VerbsError> => Stream.fromPull(Effect.succeed(next(self, max)))

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

const isMax = (max: number): boolean => Number.isInteger(max) && max >= 1 && max <= mostAtOnce

const notMax = (max: number): VerbsError =>
  refused("ibv_poll_cq", "EINVAL", `max must be an integer of 1 to ${mostAtOnce}`, { max })

// A batch that takes some milliseconds: the thread has other things to do.
const mostAtOnce = 0x1_0000

const notExtended = () => refused("ibv_start_poll", "EINVAL", "The queue was not made by makeExtended", {})

const countPoll = Effect.map(Ledger.Ledger, (ledger) => ledger.bracketed(["ibv_start_poll", "ibv_end_poll"]))
