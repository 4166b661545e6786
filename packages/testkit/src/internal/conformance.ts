/**
 * What the conformance suites have in common.
 *
 * @since 0.1.0
 */
import type * as NativeError from "@effect-rdma/core/NativeError"
import * as Resource from "@effect-rdma/core/Resource"
import { assert, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Result from "effect/Result"
import type * as Scope from "effect/Scope"
import * as Lane from "../conformance/Lane.ts"
import * as Faults from "../Faults.ts"

/** Registers a test of a suite. */
export type Register<Services> = (
  name: string,
  program: () => Effect.Effect<void, unknown, Services | Scope.Scope>,
  options?: { readonly timeout?: number }
) => void

/**
 * Registers the tests that a lane can run, and as skipped those that it cannot, with the reason in their name and on
 * standard error.
 */
export const testWhere =
  <Services>(lane: Lane.Lane<Services>) => (isThere: boolean, otherwise: string): Register<Services> =>
    isThere ? Lane.test(lane) : (name) => {
      process.stderr.write(`${lane.name}: skipped, since ${otherwise}: ${name}\n`)
      it.skip(`${lane.name}: ${name} (${otherwise})`)
    }

/** Runs a program on the lane's libraries and lets it see its own calls. */
export const recorded = <Step extends Effect.Effect<unknown, unknown, unknown>>(
  program: (calls: Effect.Effect<ReadonlyArray<Faults.ObservedCall>>) => Generator<Step, void, never>
) =>
  Effect.flatMap(
    Faults.start([]),
    (injection) => Faults.injectInto(injection)(Effect.gen(() => program(injection.calls)))
  )

/** The names of the calls, in order. */
export const namesOf = (calls: ReadonlyArray<Faults.ObservedCall>): ReadonlyArray<Faults.ObservedCall["call"]> =>
  calls.map(({ call }) => call)

/** How often a function was called. */
export const timesCalled = (calls: ReadonlyArray<Faults.ObservedCall>, name: Faults.ObservedCall["call"]): number =>
  calls.filter(({ call }) => call === name).length

/** A library error says which C function failed and why. */
export const assertReason = (
  error: NativeError.NativeError | { readonly _tag: string; readonly message: string },
  call: string,
  reason: NativeError.NativeError["reason"]["_tag"]
): void => {
  if (!("input" in error)) return assert.fail(`expected ${reason} of ${call}, got ${error.message}`)
  assert.deepStrictEqual({ call: error.call, reason: error.reason._tag }, { call, reason }, error.message)
  assert.include(error.message, call)
}

/** Bad input is a `SchemaError` that names the path of the field. */
export const assertPath = (
  error: { readonly _tag: string; readonly message: string },
  path: ReadonlyArray<string>
): void => {
  assert.strictEqual(error._tag, "SchemaError", error.message)
  if (path.length > 0) assert.include(error.message, `at ${path.map((key) => `["${key}"]`).join("")}`)
}

/** Runs an effect that must die because it used a dead handle. */
export const usesDeadHandle = <A, E, R>(
  effect: Effect.Effect<A, E, R>
): Effect.Effect<Resource.UseAfterRelease, never, R> =>
  Effect.flatMap(Effect.exit(effect), (exit) =>
    Effect.sync(() => {
      if (Exit.isSuccess(exit)) return assert.fail("a dead handle was used and nothing said so")
      const defect = Cause.findDefect(exit.cause)
      if (Result.isSuccess(defect) && defect.success instanceof Resource.UseAfterRelease) return defect.success
      return assert.fail(`expected UseAfterRelease, got ${Cause.pretty(exit.cause)}`)
    }))

/** Waiting is interrupted at once, again and again. */
export const assertInterruptible = <A, E, R>(wait: Effect.Effect<A, E, R>): Effect.Effect<void, never, R> =>
  Effect.gen(function*() {
    for (let round = 0; round < 3; round++) {
      const fiber = yield* Effect.forkChild(wait, { startImmediately: true })
      yield* Effect.yieldNow
      yield* Fiber.interrupt(fiber)
      assert.isTrue(Exit.hasInterrupts(yield* Fiber.await(fiber)))
    }
  })

/** Integers that a C field of an unsigned type can hold. */
export const assertUnsigned = (bits: number, fields: { readonly [name: string]: number }): void => {
  for (const [name, value] of Object.entries(fields)) {
    assert.isTrue(Number.isInteger(value) && value >= 0 && value < 2 ** bits, `${name} is ${value}`)
  }
}
