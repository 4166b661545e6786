/**
 * Things of several resources: all of them or none.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"

/**
 * Acquires in a scope of its own, which goes with the caller's. When it fails or is interrupted, what it has acquired is
 * released at once: who tries again in one long scope gathers nothing.
 */
export const inOwnScope = <A, E, R>(
  effect: Effect.Effect<A, E, R>
): Effect.Effect<A, E, Exclude<R, Scope.Scope> | Scope.Scope> =>
  Effect.uninterruptibleMask((restore) =>
    Effect.flatMap(Effect.scope, (outer) =>
      Effect.flatMap(Scope.fork(outer), (own) =>
        Effect.onExit(
          restore(Scope.provide(effect, own)),
          (exit) => Exit.isSuccess(exit) ? Effect.void : Scope.close(own, exit)
        )))
  )
