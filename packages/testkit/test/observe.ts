import * as Errno from "@effect-rdma/core/Errno"
import type * as NativeError from "@effect-rdma/core/NativeError"
import * as FabricMisuse from "@effect-rdma/testkit/FabricMisuse"
import { assert } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"

/** The call must fail with this errno; 0 is NULL without one. */
export const assertRefused = <A, E extends Pick<NativeError.NativeError, "call" | "reason">, R>(
  run: Effect.Effect<A, E, R>,
  call: string,
  errno: Errno.ErrnoName | 0
): Effect.Effect<void, A, R> =>
  Effect.map(Effect.flip(run), (error) => {
    assert.strictEqual(error.call, call)
    assert.strictEqual(
      error.reason.errno,
      errno === 0 ? 0 : Errno.numberOf(errno),
      `${Errno.format(error.reason.errno)} instead of ${errno}`
    )
  })

/** The call must die with `FabricMisuse`, and say this. */
export const assertMisuse = <A, E, R>(
  run: Effect.Effect<A, E, R>,
  call: string,
  problem: RegExp
): Effect.Effect<void, never, R> =>
  Effect.map(Effect.exit(run), (exit) => {
    assert(Exit.isFailure(exit), "it did not fail")
    const defect = Cause.squash(exit.cause)
    assert.instanceOf(defect, FabricMisuse.FabricMisuse)
    assert.strictEqual(defect.call, call)
    assert.match(defect.problem, problem)
  })
