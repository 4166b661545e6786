/**
 * The error of what is refused before any native call.
 *
 * @since 0.1.0
 */
import * as Errno from "@effect-rdma/core/Errno"
import * as NativeReason from "@effect-rdma/core/NativeReason"
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import { VerbsError } from "../VerbsError.ts"

/** `call` would fail with `errno`, or end the process: `hint` says why. */
export const refused = (
  call: string,
  errno: Parameters<typeof Errno.numberOf>[0],
  hint: string,
  input: VerbsError["input"] = {}
): VerbsError => new VerbsError({ call, reason: NativeReason.fromErrno(Errno.numberOf(errno)), input, hint })

/** A number as C takes it, without a sign: what is called from JS would cut it down. Throws what is refused. */
export const ensureUnsigned = (call: string, name: string, value: number | undefined, bits: number = 32): number => {
  // For every piece of every request: a power that is computed would be most of it.
  const end = bits === 32 ? 0x1_0000_0000 : 2 ** bits
  if (value !== undefined && Number.isInteger(value) && value >= 0 && value < end) return value
  throw outOfRange(call, name, value, `an integer of ${bits} bits without a sign`)
}

/** As {@link ensureUnsigned}, for 64 bits. */
export const ensureUnsigned64 = (call: string, name: string, value: bigint | undefined): bigint => {
  if (typeof value === "bigint" && BigInt.asUintN(64, value) === value) return value
  throw outOfRange(call, name, value, "a bigint of 64 bits without a sign")
}

const outOfRange = (call: string, name: string, value: unknown, what: string): VerbsError =>
  refused(call, "EINVAL", `${name} must be ${what}`, { [name]: String(value) })

/** Runs what throws errors of what it refuses. */
export const orRefused = <A, E, R>(
  run: (fiber: Fiber.Fiber<unknown, unknown>) => Effect.Effect<A, E, R>
): Effect.Effect<A, E | VerbsError, R> =>
  Effect.withFiber((fiber): Effect.Effect<A, E | VerbsError, R> => {
    try {
      return run(fiber)
    } catch (thrown) {
      if (thrown instanceof VerbsError) return Effect.fail(thrown)
      throw thrown
    }
  })
