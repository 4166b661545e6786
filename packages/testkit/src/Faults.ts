/**
 * Failures on purpose: the n-th call of any C function fails with any errno, instead of the native call or after it. It
 * works on every implementation of the seams: the fabric, a real library, a mock.
 *
 * @since 0.1.0
 */
import * as Errno from "@effect-rdma/core/Errno"
import * as NativeReason from "@effect-rdma/core/NativeReason"
import { RdmaCmError } from "@effect-rdma/rdmacm/RdmaCmError"
import { UmadError } from "@effect-rdma/umad/UmadError"
import { VerbsError } from "@effect-rdma/verbs/VerbsError"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Calls from "./internal/calls.ts"
import * as Seams from "./internal/seams.ts"

/**
 * A C function that can fail. One that returns nothing cannot, and is not among them.
 *
 * @category models
 * @since 0.1.0
 */
export type FallibleCall = Calls.FallibleCall

/**
 * A C function that cannot fail.
 *
 * @category models
 * @since 0.1.0
 */
export type InfallibleCall = Calls.InfallibleCall

/**
 * Whether a C function can fail.
 *
 * @category guards
 * @since 0.1.0
 */
export const isFallible = (call: FallibleCall | InfallibleCall): call is FallibleCall => Calls.isFallible(call)

/**
 * Whether a C function releases what another one acquired.
 *
 * @category guards
 * @since 0.1.0
 */
export const isRelease = (call: FallibleCall | InfallibleCall): boolean => releases.test(call)

/**
 * A failure to come. `nth` counts from 1 the calls of `call`, or all calls that can fail when it is left out. Errno 0 is
 * what some providers do: NULL without an errno, the reason `UnknownErrno`.
 *
 * By default the failure comes `"instead"` of the native call, which is not made. One that comes `"after"` it is for
 * releases on real libraries: the program sees a failed release, and the object is gone all the same. After a create it
 * would leave what nobody can release. A call that fails by itself fails with its own error.
 *
 * @category models
 * @since 0.1.0
 */
export interface Fault {
  readonly call?: FallibleCall
  readonly nth: number
  readonly errno: Errno.ErrnoName | Errno.ErrnoAlias | 0
  readonly when?: "instead" | "after"
}

/**
 * A call as it was made, with the arguments of the seam's member; `failedWith` is the errno of the fault that fell on
 * it.
 *
 * @category models
 * @since 0.1.0
 */
export interface ObservedCall {
  readonly call: FallibleCall | InfallibleCall
  readonly args: ReadonlyArray<unknown>
  readonly canFail: boolean
  readonly failedWith: number | undefined
}

/**
 * Faults under way: counters that started at zero, and what was seen.
 *
 * @category services
 * @since 0.1.0
 */
export class Injection extends Context.Service<Injection, {
  /** Every call of the wrapped seams so far, in the order in which they started. */
  readonly calls: Effect.Effect<ReadonlyArray<ObservedCall>>
  /** How many calls that can fail were made so far: the range of `nth` without a `call`. */
  readonly fallible: Effect.Effect<number>
  /** Wraps the seams in a context, whichever are there, and those of every host of a fabric in it. */
  readonly wrap: <Services>(context: Context.Context<Services>) => Context.Context<Services>
}>()("@effect-rdma/testkit/Injection") {}

/**
 * Starts to count. Without faults it only records; its `fallible` is then how many failures there are to try:
 *
 * ```ts
 * import { Fabric, Faults } from "@effect-rdma/testkit"
 * import { DeviceContext } from "@effect-rdma/verbs"
 * import { Effect } from "effect"
 *
 * const program = Effect.scoped(DeviceContext.openByName("rxe0"))
 *
 * const everyFailure = Effect.gen(function*() {
 *   const dry = yield* Faults.start([])
 *   yield* Faults.injectInto(dry)(program)
 *   for (let nth = 1; nth <= (yield* dry.fallible); nth++) {
 *     yield* Effect.exit(program.pipe(Faults.inject([{ nth, errno: "EIO" }])))
 *   }
 * }).pipe(Effect.provide(Fabric.layer))
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const start = (faults: ReadonlyArray<Fault>): Effect.Effect<Injection["Service"]> =>
  Effect.sync(() => {
    for (const { call, nth } of faults) {
      if (!Number.isInteger(nth) || nth < 1) throw new RangeError(`a fault counts calls from 1, not ${nth}`)
      if (call !== undefined && !Calls.isFallible(call)) throw new RangeError(`${call} is not a call that can fail`)
    }
    const calls: Array<ObservedCall> = []
    const counts = new Map<FallibleCall | undefined, number>()

    const count = (call: FallibleCall | undefined): number => {
      const next = (counts.get(call) ?? 0) + 1
      counts.set(call, next)
      return next
    }

    /** Notes a call, and tells how it is to fail. */
    const observe = (call: FallibleCall, args: ReadonlyArray<unknown>) => {
      const nthOfCall = count(call)
      const nthOfAll = count(undefined)
      const fault = faults.find((fault) =>
        fault.call === undefined ? fault.nth === nthOfAll : fault.call === call && fault.nth === nthOfCall
      )
      const failedWith = fault === undefined ? undefined : fault.errno === 0 ? 0 : Errno.numberOf(fault.errno)
      calls.push({ call, args, canFail: true, failedWith })
      return failedWith === undefined ? undefined : { reason: NativeReason.fromErrno(failedWith), when: fault?.when }
    }

    const interceptor = <E>(error: (call: string, reason: NativeReason.NativeReason) => E): Calls.Interceptor<E> => ({
      fallible: (call, args, run) =>
        Effect.suspend(() => {
          const fault = observe(call, args)
          if (fault === undefined) return run
          const failure = Effect.fail(error(call, fault.reason))
          return fault.when === "after" ? Effect.andThen(run, failure) : failure
        }),
      synchronous: (call, args, run, failed) => {
        const fault = observe(call, args)
        if (fault === undefined) return run()
        if (fault.when === "after") run()
        return failed(error(call, fault.reason))
      },
      infallible: (call, args, run) =>
        Effect.suspend(() => {
          calls.push({ call, args, canFail: false, failedWith: undefined })
          return run
        })
    })

    return Injection.of({
      calls: Effect.sync(() => Array.from(calls)),
      fallible: Effect.sync(() => counts.get(undefined) ?? 0),
      wrap: Seams.intercept({
        verbs: interceptor((call, reason) => new VerbsError({ call, reason, input: {}, hint })),
        rdmaCm: interceptor((call, reason) => new RdmaCmError({ call, reason, input: {}, hint })),
        umad: interceptor((call, reason) => new UmadError({ call, reason, input: {}, hint }))
      })
    })
  })

/**
 * Runs a program with an injection that was started before, so that its calls can be read afterwards. Only what the
 * program takes from its context is wrapped: a handle that was made outside keeps its own seam.
 *
 * @category combinators
 * @since 0.1.0
 */
export const injectInto =
  (injection: Injection["Service"]) =>
  <A, E, R>(program: Effect.Effect<A, E, R>): Effect.Effect<A, E, Exclude<R, Injection>> =>
    Effect.provideService(
      Effect.updateContext(program, (context: Context.Context<R>) => injection.wrap(context)),
      Injection,
      injection
    )

/**
 * Runs a program with faults in the seams of its context, counted from the start at each run. The program can ask for
 * the `Injection`.
 *
 * @category combinators
 * @since 0.1.0
 */
export const inject =
  (faults: ReadonlyArray<Fault>) =>
  <A, E, R>(program: Effect.Effect<A, E, R>): Effect.Effect<A, E, Exclude<R, Injection>> =>
    Effect.flatMap(start(faults), (injection) => injectInto(injection)(program))

/**
 * Puts faults into the seams that a layer gives, and gives the `Injection` as well. Each build counts from the start.
 *
 * ```ts
 * import { Fabric, Faults } from "@effect-rdma/testkit"
 *
 * const secondHandleFails = Fabric.layer.pipe(
 *   Faults.layer([{ call: "ibv_create_ah", nth: 2, errno: "ENOMEM" }])
 * )
 * ```
 *
 * @category layers
 * @since 0.1.0
 */
export const layer =
  (faults: ReadonlyArray<Fault>) =>
  <ROut, E, RIn>(self: Layer.Layer<ROut, E, RIn>): Layer.Layer<ROut | Injection, E, RIn> =>
    Layer.fresh(Layer.flatMap(self, (context) =>
      Layer.effectContext(Effect.map(
        start(faults),
        (injection) => Context.add(injection.wrap(context), Injection, injection)
      ))))

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

const releases =
  /^(?:(?:ibv|rdma|umad)_(?:exp_)?(?:ack|close|dealloc|dereg|destroy|detach|done|free|leave|release|unimport|unregister)|close$)/

const hint = "A fault put this failure here"
