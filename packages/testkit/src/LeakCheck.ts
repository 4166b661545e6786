/**
 * Proof that a program leaves nothing behind.
 *
 * @since 0.1.0
 */
import * as CreationSite from "@effect-rdma/core/CreationSite"
import * as Ledger from "@effect-rdma/core/Ledger"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"

/**
 * Something was still alive at the end: what, where it was made, and on what.
 *
 * @category errors
 * @since 0.1.0
 */
export class LeakError extends Schema.TaggedError<LeakError>("@effect-rdma/testkit/LeakError")("LeakError", {
  leaks: Schema.Array(Schema.String),
  report: Schema.String
}) {
  override get message() {
    return this.report
  }
}

/**
 * Runs a program in a scope of its own with a fresh ledger and creation sites, and dies with {@link LeakError} when
 * anything that it made, on whatever parents, is alive after that scope has closed: something that went into a longer
 * scope, or whose release failed. The program's own outcome is kept otherwise.
 *
 * ```ts
 * import { LeakCheck } from "@effect-rdma/testkit"
 * import { DeviceContext, ProtectionDomain } from "@effect-rdma/verbs"
 * import { Effect } from "effect"
 *
 * const program = LeakCheck.check(
 *   Effect.flatMap(DeviceContext.openByName("rxe0"), ProtectionDomain.alloc)
 * )
 * ```
 *
 * @category combinators
 * @since 0.1.0
 */
export const check = <A, E, R>(program: Effect.Effect<A, E, R>): Effect.Effect<A, E, Exclude<R, Scope.Scope>> =>
  Effect.suspend(() => checkIn(Ledger.makeUnsafe(), program))

/**
 * {@link check} with a ledger that the caller keeps, to look at its totals afterwards.
 *
 * @category combinators
 * @since 0.1.0
 */
export const checkIn = <A, E, R>(
  ledger: Ledger.Ledger,
  program: Effect.Effect<A, E, R>
): Effect.Effect<A, E, Exclude<R, Scope.Scope>> =>
  Effect.scoped(program).pipe(
    Effect.provideService(Ledger.Ledger, ledger),
    Effect.provideService(CreationSite.CaptureSites, true),
    Effect.ensuring(Effect.suspend(() => dieOfLeaks(ledger)))
  )

/**
 * Dies with {@link LeakError} when the ledger of the program has anything alive that we own.
 *
 * @category combinators
 * @since 0.1.0
 */
export const assertNothingAlive: Effect.Effect<void> = Effect.flatMap(Ledger.Ledger, (ledger) => dieOfLeaks(ledger))

/**
 * A fresh ledger with creation sites, for what runs as long as the layer is there: it dies with {@link LeakError} at its end
 * when anything is alive then.
 *
 * ```ts
 * import { Fabric, LeakCheck } from "@effect-rdma/testkit"
 * import { DeviceContext } from "@effect-rdma/verbs"
 * import { it } from "@effect/vitest"
 * import { Layer } from "effect"
 *
 * export const tests = () =>
 *   it.layer(Layer.merge(LeakCheck.layer, Fabric.layer))("my library", (it) => {
 *     it.effect("opens a device", () => DeviceContext.openByName("rxe0"))
 *   })
 * ```
 *
 * @category layers
 * @since 0.1.0
 */
export const layer: Layer.Layer<never> = Layer.fresh(Layer.effectContext(Effect.map(
  Effect.acquireRelease(Effect.sync(Ledger.makeUnsafe), dieOfLeaks),
  (ledger) => Context.make(Ledger.Ledger, ledger).pipe(Context.add(CreationSite.CaptureSites, true))
)))

/**
 * What is alive, as a person can act on it: each resource with the call and the place that made it, below its parent, and
 * why it was not released.
 *
 * @category getters
 * @since 0.1.0
 */
export const report = (alive: ReadonlyArray<Ledger.Entry>): string =>
  `${alive.length} RDMA resource(s) still alive:\n${Ledger.formatTree(alive)}\n${
    Array.from(new Set(alive.map(whyAlive))).join("\n")
  }`

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

function dieOfLeaks(ledger: Ledger.Ledger): Effect.Effect<void> {
  const leaks = ledger.live().filter((entry) => entry.ownership === "owned")
  return leaks.length === 0
    ? Effect.void
    : Effect.die(new LeakError({ leaks: leaks.map(Ledger.formatEntry), report: report(leaks) }))
}

const whyAlive = ({ pair: [acquire, release], state }: Ledger.Entry): string => {
  switch (state) {
    case "leaked":
      return `${release} failed: the native object stays until the process ends.`
    case "releasing":
      return `${release} waits for something that is under way on it.`
    case "live":
    case "released":
      return `What ${acquire} made went into a scope that is still open.`
  }
}
