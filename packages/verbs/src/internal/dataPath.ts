/**
 * The way from a handle to the functions that move data.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import type * as DeviceContext from "../DeviceContext.ts"
import type * as DataPath from "../operations/DataPath.ts"
import type { VerbsError } from "../VerbsError.ts"
import { orRefused } from "./refused.ts"

/** Runs in one turn with them; an error that it throws is a failure. */
export const withDataPath = <A, E>(
  { verbs }: DeviceContext.DeviceContext,
  run: (dataPath: DataPath.DataPath, fiber: Fiber.Fiber<unknown, unknown>) => Effect.Effect<A, E>
): Effect.Effect<A, E | VerbsError> => {
  const { dataPath } = verbs
  // What the library has at once needs no step of the fiber.
  return isThere(dataPath)
    ? orRefused((fiber) => run(dataPath.value, fiber))
    : Effect.flatMap(dataPath, (dataPath) => orRefused((fiber) => run(dataPath, fiber)))
}

const isThere = <A>(effect: Effect.Effect<A>): effect is Exit.Success<A> =>
  Exit.isExit(effect) && Exit.isSuccess(effect)
