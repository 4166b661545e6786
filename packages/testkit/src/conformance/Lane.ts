/**
 * Where a suite runs: on the in-memory fabric, or on a real library over ibsim, Soft-RoCE or hardware.
 *
 * @since 0.1.0
 */
import * as Ledger from "@effect-rdma/core/Ledger"
import type * as Library from "@effect-rdma/core/Library"
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import { recordTotals } from "../internal/coverage.ts"
import * as LeakCheck from "../LeakCheck.ts"

/**
 * A lane gives the services of its libraries, and tells what the other side (the kernel, the fabric) holds for this
 * process: `snapshot` must be the same before and after a test.
 *
 * @category models
 * @since 0.1.0
 */
export interface Lane<Services> {
  readonly name: string
  readonly layer: Layer.Layer<Services, Library.LibraryNotFound | Library.SymbolNotFound>
  readonly snapshot: Effect.Effect<unknown, never, Services>
}

/**
 * One test of a suite on a lane. It fails when the program fails, when the ledger is not empty after it, and when the
 * other side holds something that it did not hold before. The pairs that it acquired and released are recorded. `timeout` is
 * in milliseconds, where the usual one is too short.
 *
 * @category combinators
 * @since 0.1.0
 */
export const test = <Services>(lane: Lane<Services>) =>
(
  name: string,
  program: () => Effect.Effect<void, unknown, Services | Scope.Scope>,
  options: { readonly timeout?: number } = {}
): void =>
  it.live(`${lane.name}: ${name}`, () =>
    Effect.gen(function*() {
      const before = yield* lane.snapshot
      const ledger = Ledger.makeUnsafe()
      yield* LeakCheck.checkIn(ledger, Effect.suspend(program))
      recordTotals(lane.name, ledger.totals())
      assert.deepStrictEqual(yield* lane.snapshot, before)
    }).pipe(Effect.provide(lane.layer)), options)
