/**
 * The ways to wait for completions.
 *
 * @since 0.1.0
 */
import * as Resource from "@effect-rdma/core/Resource"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type * as CompletionChannel from "../CompletionChannel.ts"
import type * as CompletionQueue from "../CompletionQueue.ts"
import type * as DataPath from "../operations/DataPath.ts"
import type { VerbsError } from "../VerbsError.ts"
import * as WaitStrategy from "../WaitStrategy.ts"
import * as ChannelEvents from "./channelEvents.ts"
import { withDataPath } from "./dataPath.ts"

/** Polls once, and gives `undefined` when there was nothing. */
export type Look<A> = (dataPath: DataPath.DataPath) => Effect.Effect<A, VerbsError> | undefined

/** Waits until `look` gives something, in the way of the fiber's strategy. */
export const until = <A>(
  self: CompletionQueue.CompletionQueue,
  look: Look<A>
): Effect.Effect<A, VerbsError> =>
  withDataPath(self.context, (dataPath, fiber) => {
    const found = look(dataPath)
    if (found !== undefined) return found
    const strategy = fiber.getRef(WaitStrategy.WaitStrategy)
    switch (strategy._tag) {
      case "spin":
        return spin(self, dataPath, look, millisOf(strategy.slice), undefined)
      case "turn":
        return turn(self, dataPath, look, performance.now())
      case "channel":
        return self.channel === undefined
          ? turn(self, dataPath, look, performance.now())
          : sleep(self, self.channel, dataPath, look)
    }
  })

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

/** `asked` is when the device was asked last whether it is there: an empty queue does not tell that it is gone. */
const turn = <A>(
  self: CompletionQueue.CompletionQueue,
  dataPath: DataPath.DataPath,
  look: Look<A>,
  asked: number
): Effect.Effect<A, VerbsError> =>
  Effect.flatMap(
    Effect.yieldNow,
    () => look(dataPath) ?? afterAsking(self, asked, (asked) => turn(self, dataPath, look, asked))
  )

/** Mostly that of the wait before: to read a duration costs as much as many polls. */
let lastSlice: { readonly input: Duration.Input; readonly millis: number } = { input: 0, millis: 0 }

const millisOf = (input: Duration.Input): number => {
  if (lastSlice.input !== input) {
    lastSlice = { input, millis: Duration.toMillis(Duration.fromInputUnsafe(input)) }
  }
  return lastSlice.millis
}

/** All in one step until something is found, or the slice is over. */
const spin = <A>(
  self: CompletionQueue.CompletionQueue,
  dataPath: DataPath.DataPath,
  look: Look<A>,
  millis: number,
  asked: number | undefined
): Effect.Effect<A, VerbsError> => {
  let polls = 8
  let start: number | undefined
  let now = 0
  do {
    // To ask for the time costs as much as a poll, and far more where the clock is a device: first it is not asked for,
    // and then ever less often, as long as a slice has many of these rounds.
    for (let left = polls; left > 0; left--) {
      const found = look(dataPath)
      if (found !== undefined) return found
    }
    const before = now
    now = performance.now()
    if (start === undefined) start = now
    else if (now - before < millis / 16) polls *= 2
  } while (now < start + millis)
  return Effect.flatMap(
    Effect.yieldNow,
    () => afterAsking(self, asked ?? start, (asked) => spin(self, dataPath, look, millis, asked))
  )
}

const afterAsking = <A>(
  self: CompletionQueue.CompletionQueue,
  asked: number,
  goOn: (asked: number) => Effect.Effect<A, VerbsError>
): Effect.Effect<A, VerbsError> => {
  const now = performance.now()
  return now - asked < askMillis
    ? goOn(asked)
    : Effect.flatMap(Resource.use(self.context, self.context.verbs.queryDevice), () => goOn(now))
}

const askMillis = 100

/**
 * Asks for an event, looks once more, since what came before it gives none, and sleeps. Who sleeps is known before the
 * event is asked for: anybody may read it.
 */
const sleep = <A>(
  self: CompletionQueue.CompletionQueue,
  channel: CompletionChannel.CompletionChannel,
  dataPath: DataPath.DataPath,
  look: Look<A>
): Effect.Effect<A, VerbsError> =>
  Effect.suspend(() => {
    const { sleeping } = self.completions
    const told = { value: false }
    const tell = () => {
      told.value = true
    }
    sleeping.add(tell)
    return Effect.andThen(
      Resource.use(self, (cq) => self.context.verbs.reqNotifyCq(cq, false)),
      Effect.suspend(() => {
        const found = look(dataPath)
        if (found !== undefined) return Effect.asSome(found)
        return Effect.as(
          Resource.whileLive(self, ChannelEvents.whileReading(channel, sleeping, () => told.value)),
          Option.none<A>()
        )
      })
    ).pipe(Effect.ensuring(Effect.sync(() => sleeping.delete(tell))))
  }).pipe(Effect.flatMap(Option.match({
    onNone: () => Effect.suspend(() => look(dataPath) ?? sleep(self, channel, dataPath, look)),
    onSome: Effect.succeed
  })))
