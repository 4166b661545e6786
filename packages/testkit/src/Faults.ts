/**
 * Failures on purpose, as data: any call of any C function fails with any errno, instead of the native call or after it. It
 * works on every implementation of the seams: the fabric, a real library, a mock. On a fabric, cables and devices fail too,
 * and completions and events are lost, late, or there twice.
 *
 * @since 0.1.0
 */
import * as Errno from "@effect-rdma/core/Errno"
import * as NativeReason from "@effect-rdma/core/NativeReason"
import { RdmaCmError } from "@effect-rdma/rdmacm/RdmaCmError"
import { UmadError } from "@effect-rdma/umad/UmadError"
import { VerbsError } from "@effect-rdma/verbs/VerbsError"
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Scope from "effect/Scope"
import * as Fabric from "./Fabric.ts"
import * as Arming from "./internal/arming.ts"
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
 * Which calls: those that fit all that is given. `nth` counts them from 1, and leaves one; without it each of them is meant.
 * All of it but `where` is plain data, so what was printed can be run again.
 *
 * @category models
 * @since 0.1.0
 */
export interface Where {
  /** All calls that can fail, when it is left out. */
  readonly call?: FallibleCall
  /** On a fabric: the calls of this host. */
  readonly host?: string
  /** On a fabric: the calls on something that was made on this device. */
  readonly device?: string
  readonly where?: (call: Omit<ObservedCall, "failedWith">) => boolean
  readonly nth?: number
  /** Of the calls that are meant, so large a part, from 0 to 1, by chance. The same `seed` gives the same ones. */
  readonly probability?: number
  readonly seed?: number
}

/**
 * A failure to come. Errno 0 is what some providers do: NULL without an errno, the reason `UnknownErrno`.
 *
 * By default the failure comes `"instead"` of the native call, which is not made. One that comes `"after"` it is for
 * releases on real libraries: the program sees a failed release, and the object is gone all the same. After a create it
 * would leave what nobody can release. A call that fails by itself fails with its own error.
 *
 * @category models
 * @since 0.1.0
 */
export interface Failure extends Where {
  readonly arrival?: never
  readonly errno: Errno.ErrnoName | Errno.ErrnoAlias | 0
  readonly when?: "instead" | "after"
}

/**
 * Something that happens to a fabric just before a call, which is then made:
 *
 * - `unplug`: the device is taken away;
 * - `link`: the cable of a port is pulled out, or plugged in again; with `for`, so long on Effect's Clock, and then the other
 *   way round;
 * - `disturb`: the link at a port is slow from then on, or loses a part of what goes over it, as by `Fabric.disturb`;
 * - `node`: a switch or an adapter of the subnet loses its power, or gets it back;
 * - `fatal`: the device reports that it cannot go on;
 * - `die`: all cables of a host are pulled out, so that it answers nobody.
 *
 * @category models
 * @since 0.1.0
 */
export interface Incident extends Where {
  readonly arrival?: never
  readonly happens:
    | { readonly _tag: "unplug" | "fatal"; readonly host: string; readonly device: string }
    | {
      readonly _tag: "link"
      readonly host: string
      readonly device: string
      readonly portNum: number
      readonly link: "up" | "down"
      readonly for?: Duration.Input
    }
    | (
      & { readonly _tag: "disturb"; readonly node: string; readonly portNum: number }
      & Omit<Fabric.Disturbance, "drops">
    )
    | { readonly _tag: "node"; readonly node: string; readonly state: "alive" | "dead" }
    | { readonly _tag: "die"; readonly host: string }
}

/**
 * On a fabric: a completion or an event that does not come as it should. It is of those that fit all that is given, and
 * counts them as {@link Where} counts calls.
 *
 * A real device never completes a request twice, and never out of order within one send queue, or one receive queue that is
 * not shared; it loses a completion only when the completion queue has no room, and it loses no event. It may well be late, and
 * the completions of two queue pairs come in any order. A second event of a request to connect is not made: librdmacm would
 * have to make a second id.
 *
 * ```ts
 * import { Faults } from "@effect-rdma/testkit"
 *
 * const faults: ReadonlyArray<Faults.Fault> = [
 *   { arrival: "completion", host: "host-a", nth: 2, is: { _tag: "delayed", by: "5 millis" } },
 *   { arrival: "completion", probability: 0.1, seed: 7, is: { _tag: "reordered", among: "queuePairs" } },
 *   { arrival: "cmEvent", where: (arrival) => arrival.arrival === "cmEvent" && arrival.event === "disconnected", is: { _tag: "dropped" } }
 * ]
 * ```
 *
 * @category models
 * @since 0.1.0
 */
export interface Misdelivery extends Omit<Where, "call" | "where"> {
  readonly arrival: Fabric.Arrival["arrival"]
  readonly where?: (arrival: Fabric.Arrival) => boolean
  readonly is: Fabric.Fate
}

/**
 * What is to come. Several can be given; of the failures that fit a call the first falls on it, and of what can become of an
 * arrival the first does.
 *
 * @category models
 * @since 0.1.0
 */
export type Fault = Failure | Incident | Misdelivery

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
  /** The host of a fabric that made it. */
  readonly host: string | undefined
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
  /** What becomes of an arrival, if anything; absent where no fault is of one. */
  readonly fateOf: ((arrival: Fabric.Arrival) => Fabric.Fate | undefined) | undefined
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
export const start = Effect.fnUntraced(function*(faults: ReadonlyArray<Fault>): Effect.fn.Return<Injection["Service"]> {
  const onCalls = yield* Effect.forEach(faults.filter((fault) => fault.arrival === undefined), Arming.onCalls)
  const onArrivals = yield* Effect.forEach(faults.filter((fault) => fault.arrival !== undefined), Arming.onArrivals)
  const calls: Array<ObservedCall> = []

  /** Notes a call, lets happen what is to happen before it, and tells how it is to fail. */
  const observe = (call: FallibleCall, args: ReadonlyArray<unknown>, place: Seams.Place) => {
    const observed = { call, args, canFail: true, host: place.host }
    const due = onCalls.filter(({ isDue }) => isDue(observed, place)).map(({ fault }) => fault)
    for (const fault of due) if ("happens" in fault) Effect.runSync(Arming.happen(fault, place))
    const failure = due.find((fault) => "errno" in fault)
    const failedWith = failure === undefined ? undefined : failure.errno === 0 ? 0 : Errno.numberOf(failure.errno)
    calls.push({ ...observed, failedWith })
    return failedWith === undefined ? undefined : { reason: NativeReason.fromErrno(failedWith), when: failure?.when }
  }

  const interceptor = <E>(
    place: Seams.Place,
    error: (call: string, reason: NativeReason.NativeReason) => E
  ): Calls.Interceptor<E> => ({
    fallible: (call, args, run) =>
      Effect.suspend(() => {
        const fault = observe(call, args, place)
        if (fault === undefined) return run
        const failure = Effect.fail(error(call, fault.reason))
        return fault.when === "after" ? Effect.andThen(run, failure) : failure
      }),
    synchronous: (call, args, run, failed) => {
      const fault = observe(call, args, place)
      if (fault === undefined) return run()
      const failure = error(call, fault.reason)
      if (fault.when !== "after") return failed(failure)
      const done = run()
      return { ...done, error: done.error ?? failure }
    },
    infallible: (call, args, run) =>
      Effect.suspend(() => {
        calls.push({ call, args, canFail: false, host: place.host, failedWith: undefined })
        return run
      })
  })

  return Injection.of({
    calls: Effect.sync(() => Array.from(calls)),
    fallible: Effect.sync(() => calls.filter(({ canFail }) => canFail).length),
    fateOf: onArrivals.length === 0 ? undefined : (arrival) => {
      let fate: Fabric.Fate | undefined
      // Each of them counts.
      for (const { fault, isDue } of onArrivals) if (isDue(arrival)) fate ??= fault.is
      return fate
    },
    wrap: Seams.intercept((place) => ({
      verbs: interceptor(place, (call, reason) => new VerbsError({ call, reason, input: {}, hint })),
      rdmaCm: interceptor(place, (call, reason) => new RdmaCmError({ call, reason, input: {}, hint })),
      umad: interceptor(place, (call, reason) => new UmadError({ call, reason, input: {}, hint }))
    }))
  })
})

/**
 * Runs a program with an injection that was started before, so that its calls can be read afterwards. Only what the
 * program takes from its context is wrapped: a handle that was made outside keeps its own seam. Completions and events are
 * those of the whole fabric as long as the program runs.
 *
 * @category combinators
 * @since 0.1.0
 */
export const injectInto =
  (injection: Injection["Service"]) =>
  <A, E, R>(program: Effect.Effect<A, E, R>): Effect.Effect<A, E, Exclude<R, Injection>> =>
    Effect.scopedWith((scope) =>
      Effect.andThen(
        Effect.flatMap(Effect.serviceOption(Fabric.Fabric), (fabric) =>
          Scope.provide(listen(Option.getOrUndefined(fabric), injection), scope)),
        Effect.provideService(
          Effect.updateContext(program, (context: Context.Context<R>) =>
            injection.wrap(context)),
          Injection,
          injection
        )
      )
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
      Layer.effectContext(Effect.gen(function*() {
        const injection = yield* start(faults)
        yield* listen(Context.getOrUndefined(context, Fabric.Fabric), injection)
        return Context.add(injection.wrap(context), Injection, injection)
      }))))

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

const releases =
  /^(?:(?:ibv|rdma|umad)_(?:exp_)?(?:ack|close|dealloc|dereg|destroy|detach|done|free|leave|release|unimport|unregister)|(?:close|rclose|raccept|riounmap|repoll_ctl)$)/

const listen = (
  fabric: Fabric.Fabric["Service"] | undefined,
  { fateOf }: Injection["Service"]
): Effect.Effect<void, never, Scope.Scope> => {
  if (fateOf === undefined) return Effect.void
  if (fabric === undefined) throw new RangeError("what arrives can be disturbed on a fabric only")
  return fabric.onArrival(fateOf)
}

const hint = "A fault put this failure here"
