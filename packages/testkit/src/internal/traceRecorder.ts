import * as Cause from "effect/Cause"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type { Call, Outcome, Trace } from "../Trace.ts"
import * as Seams from "./seams.ts"
import * as Value from "./traceValue.ts"

/** Sees each call, and what becomes of memory. */
export interface Recorder {
  readonly wrap: <Services>(context: Context.Context<Services>) => Context.Context<Services>
  readonly trace: () => Trace
}

export const make = (): Recorder => {
  const calls: Array<MutableCall> = []
  const regions: Array<{ readonly bytes: Uint8Array; readonly seen: Uint8Array }> = []

  const begin = (name: string, args: ReadonlyArray<unknown>): MutableCall => {
    for (const bytes of registeredIn(name, args)) regions.push({ bytes, seen: new Uint8Array(bytes.length) })
    const call: MutableCall = {
      call: name,
      args: args.map(Value.copy),
      outcome: { _tag: "pending" },
      endedAfter: Number.MAX_SAFE_INTEGER,
      memory: []
    }
    calls.push(call)
    return call
  }
  const end = (call: MutableCall, outcome: Outcome): void => {
    call.outcome = outcome
    call.endedAfter = calls.length
    call.memory = regions.flatMap(({ bytes, seen }, region) => changeIn(bytes, seen, region))
  }

  const record = <A, E>(
    name: string,
    args: ReadonlyArray<unknown>,
    run: Effect.Effect<A, E>
  ): Effect.Effect<A, E> =>
    Effect.suspend(() => {
      const call = begin(name, args)
      return Effect.onExit(run, (exit) => Effect.sync(() => end(call, outcomeOf(exit))))
    })
  const recorder = {
    fallible: record,
    infallible: record,
    synchronous: <A>(name: string, args: ReadonlyArray<unknown>, run: () => A): A => {
      const call = begin(name, args)
      const value = run()
      end(call, { _tag: "returned", value: Value.copy(value) })
      return value
    }
  }
  return {
    wrap: Seams.intercept(() => ({ verbs: recorder, rdmaCm: recorder, umad: recorder })),
    trace: () => calls
  }
}

/** The memory that a call lends to the device. */
export const registeredIn = (call: string, args: ReadonlyArray<unknown>): ReadonlyArray<Uint8Array> =>
  /^ibv_re(?:re)?g_/.test(call)
    ? args.flatMap((arg) =>
      typeof arg === "object" && arg !== null && !(arg instanceof Uint8Array) ? Object.values(arg) : [arg]
    )
      .filter((arg) => arg instanceof Uint8Array)
    : []

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

type MutableCall = { -readonly [Field in keyof Call]: Call[Field] }

const outcomeOf = (exit: Exit.Exit<unknown, unknown>): Outcome => {
  if (Exit.isSuccess(exit)) return { _tag: "returned", value: Value.copy(exit.value) }
  const [reason] = exit.cause.reasons
  if (reason?._tag === "Fail") return { _tag: "failed", error: reason.error }
  if (reason?._tag === "Interrupt") return { _tag: "interrupted" }
  return { _tag: "died", message: Cause.pretty(exit.cause) }
}

/** What has changed since it was looked at last, as one piece. */
const changeIn = (bytes: Uint8Array, seen: Uint8Array, region: number): Call["memory"] => {
  // Given back and detached.
  if (bytes.length !== seen.length) return []
  const first = bytes.findIndex((byte, index) => byte !== seen[index])
  if (first === -1) return []
  const last = bytes.findLastIndex((byte, index) => byte !== seen[index])
  const changed = bytes.slice(first, last + 1)
  seen.set(changed, first)
  return [{ region, offset: first, bytes: changed }]
}
