import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as FiberSet from "effect/FiberSet"
import type * as Scope from "effect/Scope"

/** What a fabric does later. */
export interface Timeline {
  /** Milliseconds of the clock. */
  readonly now: () => number
  /** Runs something later, unless the fabric ends before or what it gives is called. What is due at once keeps its order. */
  readonly after: (duration: Duration.Input, run: () => void) => () => void
}

/**
 * One fiber sleeps for all: so the order of what happens is that of the times, and of the calls where these are the same,
 * whatever the scheduler does with fibers.
 */
export const make: Effect.Effect<Timeline, never, Scope.Scope> = Effect.gen(function*() {
  const clock = yield* Clock.Clock
  const fork = yield* FiberSet.makeRuntime()
  const jobs: Array<Job> = []
  let sleeper: Sleeper | undefined
  let isAwake = false

  const wake = (until: number): void => {
    sleeper = undefined
    isAwake = true
    // A timer of the system can be early.
    const now = Math.max(until, clock.currentTimeMillisUnsafe())
    try {
      for (let [first] = jobs; first !== undefined && first.due <= now; [first] = jobs) {
        jobs.shift()
        first.run()
      }
    } finally {
      isAwake = false
      sleep()
    }
  }
  const sleep = (): void => {
    const due = jobs[0]?.due
    if (isAwake || (sleeper !== undefined && sleeper.until === due)) return
    sleeper?.stop()
    sleeper = undefined
    if (due === undefined) return
    const millis = Math.max(0, due - clock.currentTimeMillisUnsafe())
    const fiber = fork(Effect.delay(Effect.sync(() => wake(due)), millis))
    sleeper = { until: due, stop: () => fiber.interruptUnsafe() }
  }
  return {
    now: () => clock.currentTimeMillisUnsafe(),
    after: (duration, run) => {
      const job = { due: clock.currentTimeMillisUnsafe() + Duration.toMillis(duration), run }
      jobs.splice(placeOf(jobs, job.due), 0, job)
      sleep()
      return () => {
        const at = jobs.indexOf(job)
        if (at < 0) return
        jobs.splice(at, 1)
        sleep()
      }
    }
  }
})

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

interface Job {
  readonly due: number
  readonly run: () => void
}

interface Sleeper {
  readonly until: number
  readonly stop: () => void
}

/** Behind all that are due before or at the same time. */
const placeOf = (jobs: ReadonlyArray<Job>, due: number): number => {
  let low = 0
  let high = jobs.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((jobs[middle]?.due ?? Infinity) <= due) low = middle + 1
    else high = middle
  }
  return low
}
