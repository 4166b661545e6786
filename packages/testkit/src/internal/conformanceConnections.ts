/**
 * What the conformance suites of connections have in common: both sides of one, and what interrupts a program at a call.
 *
 * @since 0.1.0
 */
import * as CmAddress from "@effect-rdma/rdmacm/CmAddress"
import * as Connection from "@effect-rdma/rdmacm/Connection"
import type * as ConnectionOptions from "@effect-rdma/rdmacm/ConnectionOptions"
import * as Listener from "@effect-rdma/rdmacm/Listener"
import { RdmaCm } from "@effect-rdma/rdmacm/RdmaCm"
import { Verbs } from "@effect-rdma/verbs/Verbs"
import { assert } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as References from "effect/References"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as Lane from "../conformance/Lane.ts"
import type * as RdmaCmLane from "../conformance/RdmaCmLane.ts"
import * as LeakCheck from "../LeakCheck.ts"
import * as Calls from "./calls.ts"
import type { Register } from "./conformance.ts"

export const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)

export const text = (message: Uint8Array): string => new TextDecoder().decode(message)

/** The next who asks for a connection. */
export const nextIncoming = (listener: Listener.Listener) =>
  Effect.map(Stream.runHead(listener.connections), Option.getOrThrow)

/** Sends back what comes, until the other side has enough. */
export const echo = (connection: Connection.Connection) =>
  Stream.runForEach(Connection.messages(connection), (message) => Connection.send(connection, message))

/** A message, and what comes back for it. */
export const ask = (connection: Connection.Connection, message: Uint8Array) =>
  Effect.andThen(Connection.send(connection, message), Connection.receive(connection))

/** Connections on the lane's device. */
export const connectionSuite = <Others>(lane: RdmaCmLane.RdmaCmLane<Others>) => {
  const listening = Effect.map(
    Listener.make({ address: `${lane.ownAddress}:0` }),
    (listener) => ({ listener, address: CmAddress.format(listener.address) })
  )

  /** A listener, and both sides of a connection through it. */
  const connected = Effect.fnUntraced(function*(
    options: ConnectionOptions.Input = {},
    ofServer: ConnectionOptions.Input = options
  ) {
    const { address, listener } = yield* listening
    const [server, client] = yield* Effect.all([
      Effect.flatMap(nextIncoming(listener), (incoming) => Listener.accept(incoming, ofServer)),
      Connection.connect({ address, ...options })
    ], { concurrency: "unbounded" })
    return { listener, address, server, client }
  })

  /** A listener whose handlers echo, and its address. */
  const echoing = Effect.gen(function*() {
    const { address, listener } = yield* listening
    yield* Effect.forkScoped(
      Listener.serve(listener, (incoming) => Effect.flatMap(Listener.accept(incoming), echo)),
      { startImmediately: true }
    )
    return address
  })

  const register = Lane.test<RdmaCm | Verbs | Others>(lane)
  /** Handlers that fail here do so on purpose. */
  const it: Register<RdmaCm | Verbs | Others> = (name, program, options) =>
    register(name, () => Effect.provideService(program(), References.MinimumLogLevel, "None"), options)

  return { it, listening, connected, echoing }
}

/**
 * Runs a program once to count its native calls, and then again and again, interrupted in the middle of one call after the
 * other; after each run nothing of it may be alive. Where runs take long it leaves out calls, evenly, so that all of them take
 * `millis` at most.
 */
export const interruptedAtEachCall = <A, E, R>(
  millis: number,
  program: Effect.Effect<A, E, R | Scope.Scope>
): Effect.Effect<void, never, Exclude<R, Scope.Scope> | RdmaCm | Verbs> =>
  Effect.gen(function*() {
    const start = performance.now()
    const dry = yield* interruptedAt(Infinity, program)
    assert.isTrue(Exit.isSuccess(dry.exit), `the program fails by itself: ${String(dry.exit)}`)
    const most = Math.max(fewest, millis / (performance.now() - start))
    const step = Math.ceil(dry.calls / most)
    let runs = 0
    for (let nth = 1; nth <= dry.calls; nth += step) {
      const { exit } = yield* interruptedAt(nth, program)
      // The last calls are those of the release, which nothing interrupts.
      if (Exit.isFailure(exit)) assert.isTrue(Cause.hasInterruptsOnly(exit.cause), Cause.pretty(exit.cause))
      runs++
    }
    assert.isAtLeast(runs, fewest)
  })

/** Runs a program that is interrupted in the middle of its n-th native call. Nothing of it may be alive afterwards. */
export const interruptedAt = <A, E, R>(
  nth: number,
  program: Effect.Effect<A, E, R | Scope.Scope>
): Effect.Effect<
  { readonly calls: number; readonly exit: Exit.Exit<A, E> },
  never,
  Exclude<R, Scope.Scope> | RdmaCm | Verbs
> =>
  Effect.gen(function*() {
    let calls = 0
    let fiber: Fiber.Fiber<A, E> | undefined
    const observe = () => {
      if (++calls === nth) fiber?.interruptUnsafe()
    }
    const interceptor = {
      fallible: <B, E2>(_: string, _args: ReadonlyArray<unknown>, run: Effect.Effect<B, E2>) =>
        Effect.suspend(() => {
          observe()
          return run
        }),
      infallible: <B>(_: string, _args: ReadonlyArray<unknown>, run: Effect.Effect<B>) =>
        Effect.suspend(() => {
          observe()
          return run
        }),
      synchronous: <B>(_: string, _args: ReadonlyArray<unknown>, run: () => B) => {
        observe()
        return run()
      }
    }
    const wrapped = LeakCheck.check(program).pipe(
      Effect.provideService(RdmaCm, Calls.interceptRdmaCm(yield* RdmaCm, interceptor)),
      Effect.provideService(Verbs, Calls.interceptVerbs(yield* Verbs, interceptor))
    )
    fiber = yield* Effect.forkChild(wrapped)
    const exit = yield* Fiber.await(fiber)
    return { calls, exit }
  })

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

/** However long runs take. */
const fewest = 4
