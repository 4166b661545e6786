import * as WaitStrategy from "@effect-rdma/verbs/WaitStrategy"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import * as Random from "effect/Random"
import type * as Scheduler from "effect/Scheduler"

/** How a run is scheduled. */
export interface Options {
  /** Picks among the fibers that are ready; without it they run in the order in which they became so. */
  readonly seed: number | undefined
  /** A fiber gives way after so many operations: 2 or more. */
  readonly operations: number
  /** Interrupts the program before this step, counted from 1. */
  readonly interruptAt: number | undefined
  /** After so many steps a run is taken for one without end. */
  readonly maxSteps: number
}

/** How a run ended. A program is stuck when no fiber is ready and none waits for time to pass. */
export type Outcome<A, E> =
  | { readonly _tag: "Ended"; readonly steps: number; readonly exit: Exit.Exit<A, E> }
  | { readonly _tag: "Stuck"; readonly steps: number }
  | { readonly _tag: "Endless"; readonly steps: number }

/**
 * Runs a program under a scheduler and a clock of its own, so that a run is the same each time. Time passes
 * little by little with each step, and when no fiber is ready at once to whatever is due next.
 */
export const run = <A, E>(
  program: Effect.Effect<A, E>,
  context: Context.Context<never>,
  options: Options
): Effect.Effect<Outcome<A, E>> =>
  Effect.gen(function*() {
    const random = yield* Random.withSeed(Effect.service(Random.Random), options.seed ?? 0)
    const scheduler = new Simulated(options.operations, options.seed === undefined ? undefined : random)
    const clock = new SimulatedClock()
    const services = context.pipe(
      Context.add(Clock.Clock, clock),
      Context.add(Random.Random, random),
      Context.add(WaitStrategy.DeviceTimer, clock.after)
    )
    const fiber = Effect.runForkWith(services)(program, { scheduler })
    const goesOn = () => scheduler.isReady() || fiber.pollUnsafe() !== undefined
    let steps = 0
    for (;;) {
      for (let task = scheduler.next(); task !== undefined; task = scheduler.next()) {
        steps++
        if (steps === options.interruptAt) fiber.interruptUnsafe()
        clock.pass(stepMillis)
        if (steps > options.maxSteps) return abandon(fiber, { _tag: "Endless", steps })
        task()
      }
      const exit = fiber.pollUnsafe()
      if (exit !== undefined) return { _tag: "Ended", exit, steps }
      // What is not of the fibers gets its turn first: a promise, a callback of Node.
      yield* eventLoopTurn
      if (goesOn() || clock.advance()) continue
      yield* Effect.repeat(eventLoopTurn, { until: goesOn, times: patience })
      if (!goesOn()) return abandon(fiber, { _tag: "Stuck", steps })
    }
  })

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

// Who polls without a rest takes time too.
const stepMillis = 0.05

// Turns of the event loop; what is slower than that is not of a simulation.
const patience = 20

const eventLoopTurn = Effect.callback<void>((resume) => {
  const immediate = setImmediate(() => resume(Effect.void))
  return Effect.sync(() => clearImmediate(immediate))
})

const abandon = <Outcome>(fiber: Fiber.Fiber<unknown, unknown>, outcome: Outcome): Outcome => {
  fiber.interruptUnsafe()
  return outcome
}

interface Task {
  readonly priority: number
  readonly run: () => void
}

class Simulated implements Scheduler.Scheduler, Scheduler.SchedulerDispatcher {
  readonly executionMode = "async"
  private readonly tasks: Array<Task> = []
  private readonly operations: number
  private readonly random: Random.Random | undefined

  constructor(operations: number, random: Random.Random | undefined) {
    this.operations = operations
    this.random = random
  }

  makeDispatcher(): Scheduler.SchedulerDispatcher {
    return this
  }

  shouldYield(fiber: Fiber.Fiber<unknown, unknown>): boolean {
    return fiber.currentOpCount >= this.operations
  }

  scheduleTask(run: () => void, priority: number): void {
    let index = this.tasks.length
    while (index > 0 && (this.tasks[index - 1]?.priority ?? priority) > priority) index--
    this.tasks.splice(index, 0, { run, priority })
  }

  flush(): void {
    for (let task = this.next(); task !== undefined; task = this.next()) task()
  }

  isReady(): boolean {
    return this.tasks.length > 0
  }

  next(): (() => void) | undefined {
    const first = this.tasks[0]
    if (first === undefined) return undefined
    if (this.random === undefined) return this.tasks.shift()?.run
    const rivals = this.tasks.findLastIndex(({ priority }) => priority === first.priority) + 1
    return this.tasks.splice(Math.floor(this.random.nextDoubleUnsafe() * rivals), 1)[0]?.run
  }
}

interface Sleeper {
  readonly due: number
  readonly wake: () => void
}

class SimulatedClock implements Clock.Clock {
  private now = 0
  private sleepers: Array<Sleeper> = []

  currentTimeMillisUnsafe(): number {
    return this.now
  }
  currentTimeNanosUnsafe(): bigint {
    return BigInt(Math.round(this.now * 1_000_000))
  }
  monotonicTimeNanosUnsafe(): bigint {
    return this.currentTimeNanosUnsafe()
  }
  readonly currentTimeMillis = Effect.sync(() => this.currentTimeMillisUnsafe())
  readonly currentTimeNanos = Effect.sync(() => this.currentTimeNanosUnsafe())
  readonly monotonicTimeNanos = Effect.sync(() => this.monotonicTimeNanosUnsafe())

  sleep(duration: Duration.Duration): Effect.Effect<void> {
    const millis = Duration.toMillis(duration)
    if (millis <= 0) return Effect.yieldNow
    if (!Number.isFinite(millis)) return Effect.never
    return Effect.callback((resume) => Effect.sync(this.after(millis, () => resume(Effect.void))))
  }

  readonly after: WaitStrategy.Timer = (millis, wake) => {
    const sleeper = { due: this.now + millis, wake }
    this.sleepers.push(sleeper)
    return () => {
      this.sleepers = this.sleepers.filter((other) => other !== sleeper)
    }
  }

  /** Lets so much time pass, and wakes who is due. */
  pass(millis: number): void {
    const end = this.now + millis
    for (let first = this.first(); first !== undefined && first.due <= end; first = this.first()) this.wake(first)
    this.now = end
  }

  /** Lets time pass to the first sleeper that is due, and wakes it. */
  advance(): boolean {
    const first = this.first()
    if (first === undefined) return false
    this.wake(first)
    return true
  }

  private first(): Sleeper | undefined {
    return this.sleepers.reduce<Sleeper | undefined>(
      (first, sleeper) => first === undefined || sleeper.due < first.due ? sleeper : first,
      undefined
    )
  }

  private wake(sleeper: Sleeper): void {
    this.sleepers = this.sleepers.filter((other) => other !== sleeper)
    this.now = sleeper.due
    sleeper.wake()
  }
}
