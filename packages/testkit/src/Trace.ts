/**
 * The native calls of a program as values: to look at, to print, and to play back. A trace that was recorded on a real
 * library is a mock in tests that have none: a cassette.
 *
 * @since 0.1.0
 */
import type { RdmaCm } from "@effect-rdma/rdmacm/RdmaCm"
import type { Umad } from "@effect-rdma/umad/Umad"
import type { Verbs } from "@effect-rdma/verbs/Verbs"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"
import type * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as SchemaIssue from "effect/SchemaIssue"
import * as SchemaTransformation from "effect/SchemaTransformation"
import * as Recorder from "./internal/traceRecorder.ts"
import * as Replay from "./internal/traceReplay.ts"
import * as Value from "./internal/traceValue.ts"

/**
 * How a call ended: with a value, with the error of its library, by an interruption, or with a defect. `pending` is one
 * that had not ended when the trace did.
 *
 * @category models
 * @since 0.1.0
 */
export type Outcome =
  | { readonly _tag: "returned"; readonly value: unknown }
  | { readonly _tag: "failed"; readonly error: unknown }
  | { readonly _tag: "interrupted" }
  | { readonly _tag: "died"; readonly message: string }
  | { readonly _tag: "pending" }

/**
 * One native call: the C function, the arguments of the seam's member, how it ended, and after how many calls of the trace
 * that had begun. `memory` is what registered memory had become by then: the place in the order of registrations, and the
 * bytes from an offset on.
 *
 * @category models
 * @since 0.1.0
 */
export interface Call {
  readonly call: string
  readonly args: ReadonlyArray<unknown>
  readonly outcome: Outcome
  readonly endedAfter: number
  readonly memory: ReadonlyArray<{ readonly region: number; readonly offset: number; readonly bytes: Uint8Array }>
}

/**
 * Calls in the order in which they began.
 *
 * @category models
 * @since 0.1.0
 */
export type Trace = ReadonlyArray<Call>

export {
  /**
   * The program did something else than the trace says.
   *
   * @category errors
   * @since 0.1.0
   */
  TraceDeparture
} from "./internal/traceReplay.ts"

/**
 * Runs a program, and gives its exit and its trace: the calls of what it takes from its context, and of every host of a fabric in it.
 *
 * ```ts
 * import { Fabric, Trace } from "@effect-rdma/testkit"
 * import { DeviceContext, ProtectionDomain } from "@effect-rdma/verbs"
 * import { Effect } from "effect"
 *
 * const program = Effect.scoped(Effect.flatMap(DeviceContext.openByName("rxe0"), (context) => ProtectionDomain.alloc(context)))
 *
 * const inOrder = Effect.gen(function*() {
 *   const { trace } = yield* Trace.record(program)
 *   return Trace.hasInOrder(trace, ["ibv_alloc_pd", "ibv_dealloc_pd", "ibv_close_device"])
 * }).pipe(Effect.provide(Fabric.layer))
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const record = <A, E, R>(
  program: Effect.Effect<A, E, R>
): Effect.Effect<{ readonly exit: Exit.Exit<A, E>; readonly trace: Trace }, never, R> =>
  Effect.suspend(() => {
    const recorder = Recorder.make()
    return Effect.updateContext(program, (context: Context.Context<R>) => recorder.wrap(context)).pipe(
      Effect.exit,
      Effect.map((exit) => ({ exit, trace: recorder.trace() }))
    )
  })

/**
 * The libraries as they were when a trace was recorded: each call must be the next one of the trace, with the same
 * arguments, and ends as it did. Addresses of the program's memory may be others, in the same places.
 *
 * The program dies with {@link TraceDeparture} when it makes another call, and the layer when it ends before all were made.
 * What is written by a peer into memory is there after the next call, and without one is not. Calls that take a function
 * (`ibv_start_poll`, `ibv_wr_start`) cannot be played back.
 *
 * ```ts
 * import { Fabric, Trace } from "@effect-rdma/testkit"
 * import { DeviceContext } from "@effect-rdma/verbs"
 * import { Effect } from "effect"
 *
 * const program = Effect.scoped(DeviceContext.openByName("rxe0"))
 *
 * const twice = Effect.gen(function*() {
 *   const { trace } = yield* Trace.record(program).pipe(Effect.provide(Fabric.layer))
 *   yield* program.pipe(Effect.provide(Trace.replay(trace)))
 * })
 * ```
 *
 * @category layers
 * @since 0.1.0
 */
export const replay = (trace: Trace): Layer.Layer<Verbs | RdmaCm | Umad> => Replay.layer(trace)

/**
 * Whether the trace has calls of these functions, in this order. Others may be in between.
 *
 * @category predicates
 * @since 0.1.0
 */
export const hasInOrder = (trace: Trace, calls: ReadonlyArray<string>): boolean => {
  let found = 0
  for (const { call } of trace) if (call === calls[found]) found++
  return found === calls.length
}

/**
 * A trace as JSON text, for a file.
 *
 * @category conversions
 * @since 0.1.0
 */
export const print = (trace: Trace): string =>
  `[\n${trace.map((call) => JSON.stringify(Value.encode(call))).join(",\n")}\n]\n`

/**
 * The trace that {@link print} wrote. Fails with a `SchemaError` for what is no trace.
 *
 * @category conversions
 * @since 0.1.0
 */
export const parse = (text: string): Effect.Effect<Trace, Schema.SchemaError> =>
  Effect.flatMap(Schema.decodeEffect(Values)(text), Schema.decodeUnknownEffect(Calls))

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

const Outcome = Schema.Union([
  Schema.Struct({ _tag: Schema.Literal("returned"), value: Schema.Unknown }),
  Schema.Struct({ _tag: Schema.Literal("failed"), error: Schema.Unknown }),
  Schema.Struct({ _tag: Schema.Literal("interrupted") }),
  Schema.Struct({ _tag: Schema.Literal("died"), message: Schema.String }),
  Schema.Struct({ _tag: Schema.Literal("pending") })
])

const Count = Schema.Int.check(Schema.isGreaterThanOrEqualTo(0))

const Calls = Schema.Array(Schema.Struct({
  call: Schema.String,
  args: Schema.Array(Schema.Unknown),
  outcome: Outcome,
  endedAfter: Count,
  memory: Schema.Array(Schema.Struct({ region: Count, offset: Count, bytes: Schema.instanceOf(Uint8Array) }))
}))

const Values = Schema.fromJsonString(Schema.Unknown).pipe(Schema.decodeTo(
  Schema.Unknown,
  SchemaTransformation.transformEffect<unknown, unknown>({
    decode: (json, options) =>
      Effect.try({
        try: () => Value.decode(json),
        catch: (error) => new SchemaIssue.InvalidValue({ expected: `a trace: ${String(error)}` }, json, options)
      }),
    encode: (calls) => Effect.sync(() => Value.encode(calls))
  })
))
