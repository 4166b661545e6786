/**
 * What the conformance suites of the data path have in common: waits for completions and events, which end.
 *
 * @since 0.1.0
 */
import * as AsyncEvent from "@effect-rdma/verbs/AsyncEvent"
import * as AsyncEvents from "@effect-rdma/verbs/AsyncEvents"
import * as CompletionQueue from "@effect-rdma/verbs/CompletionQueue"
import type * as DeviceContext from "@effect-rdma/verbs/DeviceContext"
import type * as WorkCompletion from "@effect-rdma/verbs/WorkCompletion"
import { assert } from "@effect/vitest"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"

const limit: Duration.Input = "10 seconds"

/** Waits, but not for ever. */
export const within = <A, E, R>(what: string, effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.timeoutOrElse(effect, {
    duration: limit,
    orElse: () => Effect.sync(() => assert.fail(`${what}: not within ${limit}`))
  })

/** Waits for so many completions. */
export const take = Effect.fnUntraced(function*(queue: CompletionQueue.CompletionQueue, count: number) {
  const taken: Array<WorkCompletion.WorkCompletion> = []
  while (taken.length < count) {
    const next = CompletionQueue.next(queue, count - taken.length)
    taken.push(...(yield* within(`${count} completions, after ${outcomes(taken)}`, next)))
  }
  return taken
})

/** The number and the status of each. */
export const outcomes = (completions: ReadonlyArray<WorkCompletion.WorkCompletion>): ReadonlyArray<string> =>
  completions.map(({ status, wrId }) => `${wrId} ${status}`)

/** Waits for completions with these numbers and statuses. */
export const assertTaken = Effect.fnUntraced(function*(
  queue: CompletionQueue.CompletionQueue,
  expected: ReadonlyArray<string>
) {
  const taken = yield* take(queue, expected.length)
  assert.deepStrictEqual(outcomes(taken), expected)
  return taken
})

/** Waits for one that succeeded. */
export const takeOne = Effect.fnUntraced(function*(queue: CompletionQueue.CompletionQueue) {
  const [taken] = yield* take(queue, 1)
  return taken?.status === "success" ? taken : assert.fail(`it ended with ${taken?.status}`)
})

/** For some time nothing comes. */
export const assertQuiet = Effect.fnUntraced(function*(...queues: ReadonlyArray<CompletionQueue.CompletionQueue>) {
  yield* Effect.sleep("40 millis")
  for (const queue of queues) assert.deepStrictEqual(outcomes(yield* CompletionQueue.poll(queue)), [])
})

/** Waits for the next event of an object. */
export const nextEvent = (
  context: DeviceContext.DeviceContext,
  handle: Parameters<typeof AsyncEvent.concerns>[1]
): Effect.Effect<string, unknown> =>
  within(
    `an event of ${handle.kind}`,
    AsyncEvents.stream(context).pipe(
      Stream.filter((event) => AsyncEvent.concerns(event, handle)),
      Stream.runHead,
      Effect.flatMap(Effect.fromOption),
      Effect.map(({ event }) => event)
    )
  )

/** For some time there is no event of an object. */
export const assertNoEvent = (
  context: DeviceContext.DeviceContext,
  handle: Parameters<typeof AsyncEvent.concerns>[1]
): Effect.Effect<void, unknown> =>
  AsyncEvents.stream(context).pipe(
    Stream.filter((event) => AsyncEvent.concerns(event, handle)),
    Stream.runForEach(({ event }) => Effect.sync(() => assert.fail(`${handle.kind} told ${event}`))),
    Effect.timeoutOption("40 millis"),
    Effect.asVoid
  )
