/**
 * Proof that a program ends well whatever happens to it: it is run again and again in memory, each time with another
 * native call that fails, another order of its fibers, or an interruption at another point, and looked at afterwards.
 *
 * A run has a scheduler and a clock of its own. So it takes no time to wait, is the same each time, and a program that
 * would hang is seen to.
 *
 * @since 0.1.0
 */
import * as CreationSite from "@effect-rdma/core/CreationSite"
import * as Ledger from "@effect-rdma/core/Ledger"
import { ReleaseError } from "@effect-rdma/core/ReleaseError"
import { UseAfterRelease } from "@effect-rdma/core/Resource"
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import * as Fabric from "./Fabric.ts"
import { FabricMisuse } from "./FabricMisuse.ts"
import * as Faults from "./Faults.ts"
import type * as Calls from "./internal/calls.ts"
import * as Seams from "./internal/seams.ts"
import * as Simulation from "./internal/simulation.ts"
import * as LeakCheck from "./LeakCheck.ts"

/**
 * What is done to a program in one run. It is plain data: printed, it can be given to {@link replay}.
 *
 * @category models
 * @since 0.1.0
 */
export interface Plan {
  readonly faults: ReadonlyArray<Faults.Fault>
  /** The program is interrupted before this step, counted from 1. A step is what a fiber does until it gives way. */
  readonly interruptAt?: number
  /** Shuffles the fibers that are ready. Without it they run in the order in which they became so. */
  readonly seed?: number
}

/**
 * What a run had to show for:
 *
 * - `leak`: something was alive at its end;
 * - `hang`: it waits for what never comes, or goes on without end;
 * - `dead handle`: a handle was used after its release;
 * - `misuse`: a call that would crash or freeze a process: a pointer that was released twice, a destroy with events that
 *   nobody acknowledged;
 * - `failed release`: a release failed that no fault is the reason of;
 * - `defect`: the program died otherwise;
 * - `failure`: it failed although nothing was done to it but to order its fibers;
 * - `lost error`: a call failed and the program succeeded, without a later call of that function that did.
 *
 * @category models
 * @since 0.1.0
 */
export interface Finding {
  readonly kind: "leak" | "hang" | "dead handle" | "misuse" | "failed release" | "defect" | "failure" | "lost error"
  readonly problem: string
  readonly plan: Plan
}

/**
 * What an exploration did: the runs, the native calls that can fail and the steps of the plain run, and the first thing
 * that was found, by the simplest plan that shows it.
 *
 * @category models
 * @since 0.1.0
 */
export interface Report {
  readonly runs: number
  readonly calls: number
  readonly steps: number
  readonly finding: Finding | undefined
}

/**
 * A program was found to go wrong. The message has the plan to {@link replay}.
 *
 * @category errors
 * @since 0.1.0
 */
export class ExplorerError extends Data.TaggedError("ExplorerError")<{
  readonly report: Report
  readonly finding: Finding
}> {
  override get message() {
    const { finding: { kind, plan, problem }, report } = this
    return `${kind} in run ${report.runs}: ${problem}\nplan: ${JSON.stringify(plan)}`
  }
}

/**
 * How a program is explored.
 *
 * @category models
 * @since 0.1.0
 */
export interface Options<Services, LayerError = never> {
  /** The libraries, built anew for each run. What it calls while it is built is not made to fail. */
  readonly layer: Layer.Layer<Services, LayerError>
  /** What a call fails with: ENOMEM unless told; a release fails with EBUSY. */
  readonly errno?: Faults.Fault["errno"]
  /** The functions whose failure the program may pass over in silence. */
  readonly mayFail?: ReadonlyArray<Faults.FallibleCall>
  /** Tries pairs of failing calls as well. */
  readonly pairs?: boolean
  /** At most so many runs: 1,000 unless told. What does not fit is left out evenly. */
  readonly runs?: number
}

/**
 * Explores a program: as it is; with its fibers in other orders; with each native call failing, releases too; with an
 * interruption at each of its steps. It stops at the first finding.
 *
 * The program must not wait for the world outside: sockets, files and timers of Node are not part of a run.
 *
 * ```ts
 * import { Explorer, Fabric } from "@effect-rdma/testkit"
 * import { DeviceContext, ProtectionDomain } from "@effect-rdma/verbs"
 * import { Effect } from "effect"
 *
 * const program = Effect.flatMap(DeviceContext.openByName("rxe0"), (context) => ProtectionDomain.alloc(context))
 *
 * const report = Explorer.explore(program, { layer: Fabric.layer })
 * ```
 *
 * @category combinators
 * @since 0.1.0
 */
export const explore = Effect.fnUntraced(function*<A, E, Services, LayerError>(
  program: Effect.Effect<A, E, Services | Scope.Scope | Faults.Injection>,
  options: Options<Services, LayerError>
): Effect.fn.Return<Report> {
  const asItIs = yield* runPlan(program, options, { faults: [] }, longestRun)
  const calls = asItIs.calls.filter(({ canFail }) => canFail)
  const report = { calls: calls.length, steps: asItIs.steps }
  if (asItIs.finding !== undefined) return { ...report, runs: 1, finding: asItIs.finding }
  let runs = 1
  for (const plan of plansOf(asItIs, options)) {
    runs++
    const { finding } = yield* runPlan(program, options, plan, 20 * asItIs.steps + 50_000)
    if (finding !== undefined) return { ...report, runs, finding }
  }
  return { ...report, runs, finding: undefined }
})

/**
 * {@link explore} that fails with {@link ExplorerError} when something was found. In a property test it is the property:
 * the program that fails is shrunk.
 *
 * ```ts
 * import { Explorer, Fabric } from "@effect-rdma/testkit"
 * import { DeviceContext, ProtectionDomain } from "@effect-rdma/verbs"
 * import { it } from "@effect/vitest"
 * import { Effect, Schema } from "effect"
 *
 * const domains = (count: number) =>
 *   Effect.flatMap(DeviceContext.openByName("rxe0"), (context) =>
 *     Effect.forEach(Array.from({ length: count }), () => ProtectionDomain.alloc(context)))
 *
 * export const tests = () =>
 *   it.effect.prop(
 *     "any number of domains",
 *     [Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 5 }))],
 *     ([count]) => Explorer.check(domains(count), { layer: Fabric.layer })
 *   )
 * ```
 *
 * @category combinators
 * @since 0.1.0
 */
export const check = <A, E, Services, LayerError>(
  program: Effect.Effect<A, E, Services | Scope.Scope | Faults.Injection>,
  options: Options<Services, LayerError>
): Effect.Effect<Report, ExplorerError> =>
  Effect.gen(function*() {
    const report = yield* explore(program, options)
    if (report.finding !== undefined) return yield* new ExplorerError({ report, finding: report.finding })
    return report
  })

/**
 * Runs a program once by a plan, as {@link explore} did.
 *
 * @category combinators
 * @since 0.1.0
 */
export const replay = <A, E, Services, LayerError>(
  program: Effect.Effect<A, E, Services | Scope.Scope | Faults.Injection>,
  options: Options<Services, LayerError>,
  plan: Plan
): Effect.Effect<Finding | undefined> =>
  Effect.map(runPlan(program, options, plan, longestRun), ({ finding }) => finding)

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

const longestRun = 1_000_000

// Small enough that a fiber gives way between nearly any two of its calls.
const operations = 4

const shuffles = 20

interface Run {
  readonly steps: number
  readonly calls: ReadonlyArray<Faults.ObservedCall>
  readonly finding: Finding | undefined
}

/** Everything to try, the simplest first. */
const plansOf = <Services, LayerError>(
  { calls, steps }: Run,
  { errno = "ENOMEM", pairs = false, runs = 1000 }: Options<Services, LayerError>
): ReadonlyArray<Plan> => {
  const orders = Array.from({ length: shuffles }, (_, seed): Plan => ({ faults: [], seed: seed + 1 }))
  const counts = new Map<string, number>()
  const faults = calls.flatMap(({ call }): ReadonlyArray<Faults.Fault> => {
    if (!Faults.isFallible(call)) return []
    const nth = (counts.get(call) ?? 0) + 1
    counts.set(call, nth)
    return [{ call, nth, errno: Faults.isRelease(call) ? "EBUSY" : errno }]
  })
  const failures = faults.map((fault): Plan => ({ faults: [fault] }))
  const interruptions = Array.from({ length: steps }, (_, step): Plan => ({ faults: [], interruptAt: step + 1 }))
  const twice = !pairs ?
    [] :
    faults.flatMap((first, index) => faults.slice(index + 1).map((second): Plan => ({ faults: [first, second] })))
  const room = runs - 1
  const simple = [...evenly(orders, room / 10), ...evenly(failures, pairs ? room / 4 : room / 2)]
  const interrupted = evenly(interruptions, pairs ? room / 3 : room - simple.length)
  return [...simple, ...interrupted, ...evenly(twice, room - simple.length - interrupted.length)]
}

const evenly = <A>(all: ReadonlyArray<A>, atMost: number): ReadonlyArray<A> =>
  all.length <= atMost ?
    all :
    all.filter((_, index) =>
      Math.floor((index * atMost) / all.length) !== Math.floor(((index + 1) * atMost) / all.length)
    )

const runPlan = Effect.fnUntraced(function*<A, E, Services, LayerError>(
  program: Effect.Effect<A, E, Services | Scope.Scope | Faults.Injection>,
  { layer, mayFail = [] }: Options<Services, LayerError>,
  plan: Plan,
  maxSteps: number
): Effect.fn.Return<Run> {
  const ledger = Ledger.makeUnsafe()
  const injection = yield* Faults.start(plan.faults)
  const misuses: Array<FabricMisuse> = []
  const objects: Array<Fabric.NativeObject> = []
  const whole = Effect.scoped(Effect.flatMap(Layer.build(layer), (services) => {
    const fabric = Context.getOrUndefined(services, Fabric.Fabric)
    return Effect.scoped(program).pipe(
      Effect.ensuring(fabric === undefined ? Effect.void : Effect.map(fabric.objects, (left) => objects.push(...left))),
      Faults.injectInto(injection),
      Effect.provideContext(watching(fabric, misuses, objects)(services))
    )
  }))
  const context = Context.make(Ledger.Ledger, ledger).pipe(Context.add(CreationSite.CaptureSites, true))
  const outcome = yield* Simulation.run(whole, context, {
    seed: plan.seed,
    operations,
    interruptAt: plan.interruptAt,
    maxSteps
  })
  const calls = yield* injection.calls
  const isPlain = plan.faults.length === 0 && plan.interruptAt === undefined
  const found = findingIn({ ledger, outcome, calls, misuses, objects, mayFail, isPlain })
  return { steps: outcome.steps, calls, finding: found === undefined ? undefined : { ...found, plan } }
})

/** Notes what would crash or freeze a process, and what is still on a context that is closed. */
const watching = (
  fabric: Fabric.Fabric["Service"] | undefined,
  misuses: Array<FabricMisuse>,
  left: Array<Fabric.NativeObject>
) => {
  const note = (defect: unknown) => {
    if (defect instanceof FabricMisuse) misuses.push(defect)
  }
  const watch = <A, E>(
    call: Faults.FallibleCall | Faults.InfallibleCall,
    args: ReadonlyArray<unknown>,
    run: Effect.Effect<A, E>
  ): Effect.Effect<A, E> => {
    const watched = Effect.onError(
      run,
      (cause) => Effect.sync(() => cause.reasons.filter(Cause.isDieReason).forEach(({ defect }) => note(defect)))
    )
    if (call !== "ibv_close_device" || fabric === undefined) return watched
    return Effect.flatMap(fabric.objects, (objects) => {
      left.push(...objects.filter(({ context, kind }) => context === args[0] && kind !== "DeviceContext"))
      return watched
    })
  }
  const watcher = {
    fallible: watch,
    infallible: watch,
    synchronous: <A>(_call: unknown, _args: unknown, run: () => A): A => {
      try {
        return run()
      } catch (defect) {
        note(defect)
        throw defect
      }
    }
  }
  return Seams.intercept({ verbs: watcher, rdmaCm: watcher, umad: watcher })
}

interface Evidence {
  readonly ledger: Ledger.Ledger
  readonly outcome: Simulation.Outcome<unknown, unknown>
  readonly calls: ReadonlyArray<Faults.ObservedCall>
  readonly misuses: ReadonlyArray<FabricMisuse>
  readonly objects: ReadonlyArray<Fabric.NativeObject>
  readonly mayFail: ReadonlyArray<Faults.FallibleCall>
  /** Nothing was done to it. */
  readonly isPlain: boolean
}

const findingIn = (
  { calls, isPlain, ledger, mayFail, misuses, objects, outcome }: Evidence
): Omit<Finding, "plan"> | undefined => {
  const fired = calls.filter(({ failedWith }) => failedWith !== undefined)
  const releaseFailed = fired.some(({ call }) => Faults.isRelease(call))
  const [misuse] = misuses
  if (misuse !== undefined) return { kind: "misuse", problem: misuse.message }
  if (outcome._tag !== "Ended") {
    const what = outcome._tag === "Stuck" ? "it waits for what never comes" : `no end after ${outcome.steps} steps`
    return { kind: "hang", problem: `${what}; the last calls were ${lastOf(calls)}` }
  }
  const { exit } = outcome
  for (const defect of defectsOf(exit)) {
    if (defect instanceof LeakCheck.LeakError && !releaseFailed) return { kind: "leak", problem: defect.message }
    if (defect instanceof UseAfterRelease) return { kind: "dead handle", problem: defect.message }
    if (defect instanceof ReleaseError) {
      if (!releaseFailed) return { kind: "failed release", problem: defect.message }
      // Effect makes a typed error a defect when a release fails while it is under way.
    } else if (!releaseFailed) return { kind: "defect", problem: Cause.pretty(Cause.die(defect)) }
  }
  const alive = ledger.live().filter(({ ownership, state }) =>
    ownership === "owned" && !(state === "leaked" && releaseFailed)
  )
  if (alive.length > 0) return { kind: "leak", problem: LeakCheck.report(alive) }
  if (objects.length > ledger.live().length && !(releaseFailed && Exit.isFailure(exit))) {
    const made = objects.map(({ host, kind }) => `${kind} on ${host}`).join(", ")
    return { kind: "leak", problem: `native objects that no handle owns: ${made}` }
  }
  if (isPlain && Exit.isFailure(exit)) return { kind: "failure", problem: Cause.pretty(exit.cause) }
  const lost = Exit.isSuccess(exit) &&
    fired.find(({ call }) => !mayFail.some((tolerated) => tolerated === call) && !succeededLater(calls, call))
  if (lost) return { kind: "lost error", problem: `${lost.call} failed, and the program succeeded` }
  return undefined
}

const defectsOf = (exit: Exit.Exit<unknown, unknown>): ReadonlyArray<unknown> =>
  Exit.isFailure(exit) ? exit.cause.reasons.filter(Cause.isDieReason).map(({ defect }) => defect) : []

const succeededLater = (calls: ReadonlyArray<Faults.ObservedCall>, name: Calls.FallibleCall | Calls.InfallibleCall) => {
  const failed = calls.findLastIndex(({ call, failedWith }) => call === name && failedWith !== undefined)
  return calls.slice(failed + 1).some(({ call }) => call === name)
}

const lastOf = (calls: ReadonlyArray<Faults.ObservedCall>): string =>
  calls.slice(-5).map(({ call }) => call).join(", ") || "none"
