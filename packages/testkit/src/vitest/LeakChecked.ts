/**
 * `it` of `@effect/vitest` for tests that must leave nothing behind.
 *
 * @since 0.1.0
 */
import * as Vitest from "@effect/vitest"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as LeakCheck from "../LeakCheck.ts"

/**
 * Registers a test that runs under `LeakCheck.check`: it fails when anything that it made is alive after it, with a report
 * of what and where. `skip`, `only`, `skipIf`, `runIf`, `each`, `fails` and `prop` are those of `@effect/vitest`; of a property,
 * each run is checked.
 *
 * ```ts
 * import { Fabric } from "@effect-rdma/testkit"
 * import { it } from "@effect-rdma/testkit/vitest/LeakChecked"
 * import { DeviceContext, ProtectionDomain } from "@effect-rdma/verbs"
 * import { Effect } from "effect"
 *
 * it.effect("leaves nothing behind", () =>
 *   Effect.flatMap(DeviceContext.openByName("rxe0"), ProtectionDomain.alloc).pipe(
 *     Effect.provide(Fabric.layer)
 *   ))
 * ```
 *
 * @category combinators
 * @since 0.1.0
 */
export const it: {
  /** On the test's clock. */
  readonly effect: Vitest.Vitest.Tester<Scope.Scope>
  /** On the system's clock. */
  readonly live: Vitest.Vitest.Tester<Scope.Scope>
} = {
  effect: checked(Vitest.it.effect),
  live: checked(Vitest.it.live)
}

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

// Constructors that the test calls before its first step note the place as well.
function check<A, E, R>(self: () => Effect.Effect<A, E, R>) {
  return LeakCheck.check(Effect.suspend(self))
}

function test(register: Vitest.Vitest.Test<Scope.Scope>): Vitest.Vitest.Test<Scope.Scope> {
  return (name, self, timeout) => register(name, (context) => check(() => self(context)), timeout)
}

function checked(tester: Vitest.Vitest.Tester<Scope.Scope>): Vitest.Vitest.Tester<Scope.Scope> {
  return Object.assign(test(tester), {
    skip: test(tester.skip),
    skipIf: (condition: unknown) => test(tester.skipIf(condition)),
    runIf: (condition: unknown) => test(tester.runIf(condition)),
    only: test(tester.only),
    each: <T>(cases: ReadonlyArray<T>) => {
      const register = tester.each(cases)
      return <A, E>(
        name: string,
        self: Vitest.Vitest.TestFunction<A, E, Scope.Scope, [T, Vitest.TestContext]>,
        timeout?: number | Vitest.TestOptions
      ) => register(name, (value, context) => check(() => self(value, context)), timeout)
    },
    fails: test(tester.fails),
    prop: ((name, arbitraries, self, timeout) =>
      tester.prop(
        name,
        arbitraries,
        (values, context) => check(() => self(values, context)),
        timeout
      )) satisfies Vitest.Vitest.Tester<Scope.Scope>["prop"]
  })
}
