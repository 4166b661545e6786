import { RdmaCm } from "@effect-rdma/rdmacm/RdmaCm"
import { Umad } from "@effect-rdma/umad/Umad"
import { Verbs } from "@effect-rdma/verbs/Verbs"
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Fabric from "../Fabric.ts"
import type { Call, Trace } from "../Trace.ts"
import * as Seams from "./seams.ts"
import { registeredIn } from "./traceRecorder.ts"
import * as Value from "./traceValue.ts"

export class TraceDeparture extends Data.TaggedError("TraceDeparture")<{
  /** The place of the call in the trace, from 0. */
  readonly index: number
  readonly expected: string
  readonly actual: string
}> {
  override get message() {
    return `call ${this.index} of the trace is ${this.expected}, and the program made ${this.actual}`
  }
}

export const layer = (trace: Trace): Layer.Layer<Verbs | RdmaCm | Umad> =>
  Layer.fresh(Layer.effectContext(Effect.gen(function*() {
    const player = make(trace)
    yield* Effect.addFinalizer(() => player.ensureAtEnd)
    // The seams of a fabric have all members; none of them is called.
    const fabric = yield* Effect.orDie(Fabric.make())
    const [host] = fabric.topology.hosts
    const seams = player.wrap(yield* fabric.seams(host.name))
    return Context.pick(Verbs, RdmaCm, Umad)(seams)
  })))

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

interface Waiting {
  readonly call: Call
  readonly ended: Deferred.Deferred<void>
}

const describe = (call: string, args: ReadonlyArray<unknown>): string =>
  `${call}(${args.map((arg) => JSON.stringify(Value.encode(arg))).join(", ")})`

const make = (trace: Trace) => {
  const tokens: Value.Tokens = new Map()
  const regions: Array<Uint8Array> = []
  const waiting = new Set<Waiting>()
  let begun = 0

  /** The next call of the trace, which this must be. */
  const begin = (name: string, args: ReadonlyArray<unknown>): Call => {
    const call = trace[begun]
    const actual = args.map(Value.copy)
    if (call?.call !== name || !Value.same(call.args, actual, tokens)) {
      throw new TraceDeparture({
        index: begun,
        expected: call === undefined ? "its end" : describe(call.call, call.args),
        actual: describe(name, actual)
      })
    }
    if (actual.some((arg) => arg === Value.callback)) {
      throw new TraceDeparture({ index: begun, expected: "one that can be played back", actual: name })
    }
    begun++
    regions.push(...registeredIn(name, args))
    for (const other of waiting) {
      if (!isDue(other.call)) continue
      waiting.delete(other)
      Deferred.doneUnsafe(other.ended, Effect.void)
    }
    return call
  }
  const isDue = ({ endedAfter, outcome }: Call): boolean =>
    endedAfter <= begun && outcome._tag !== "interrupted" && outcome._tag !== "pending"

  const restore = ({ memory }: Call): void => {
    for (const { bytes, offset, region } of memory) regions[region]?.set(bytes, offset)
  }

  // What a call gave has the type that the member gives: it was recorded from there.
  const end = <A, E>(call: Call): Effect.Effect<A, E> => {
    restore(call)
    const { outcome } = call
    if (outcome._tag === "returned") return Effect.succeed(Value.translate(outcome.value, tokens) as A)
    if (outcome._tag === "failed") return Effect.fail(outcome.error as E)
    return outcome._tag === "died" ? Effect.die(outcome.message) : Effect.never
  }

  const play = <A, E>(name: string, args: ReadonlyArray<unknown>): Effect.Effect<A, E> =>
    Effect.suspend(() => {
      const call = begin(name, args)
      if (isDue(call)) return end<A, E>(call)
      const ended = Deferred.makeUnsafe<void>()
      const entry = { call, ended }
      waiting.add(entry)
      return Deferred.await(ended).pipe(
        Effect.andThen(Effect.suspend(() => end<A, E>(call))),
        Effect.onInterrupt(() => Effect.sync(() => waiting.delete(entry)))
      )
    })

  const player = {
    fallible: play,
    infallible: play,
    synchronous: <A>(name: string, args: ReadonlyArray<unknown>): A => {
      const call = begin(name, args)
      restore(call)
      if (call.outcome._tag !== "returned") throw new TypeError(`${name} cannot have ${call.outcome._tag}`)
      return Value.translate(call.outcome.value, tokens) as A
    }
  }
  return {
    wrap: Seams.intercept(() => ({ verbs: player, rdmaCm: player, umad: player })),
    ensureAtEnd: Effect.suspend(() => {
      const next = trace[begun]
      return next === undefined ? Effect.void : Effect.die(
        new TraceDeparture({ index: begun, expected: describe(next.call, next.args), actual: "no more" })
      )
    })
  }
}
