/**
 * The ways in which the C libraries report failure, each as an effect. Every one zeroes errno, makes the call and reads
 * errno in the same JS turn, so that no other call of the process gets in between; each blocks for as long as the call.
 *
 * `onError` makes the typed error of an errno; errno 0 means that the call failed and did not say why.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Semaphore from "effect/Semaphore"
import { koffi } from "./internal/koffi.ts"
import * as Pointer from "./Pointer.ts"

/**
 * NULL and errno on failure, else a pointer. NULL without an errno is a failure too.
 *
 * @category conventions
 * @since 0.1.0
 */
export const pointerOrErrno = <Struct extends string, E>(
  call: () => bigint | null,
  onError: (errno: number) => E
): Effect.Effect<Pointer.Pointer<Struct>, E> =>
  Effect.suspend(() => {
    koffi().errno(0)
    const address = call()
    return Pointer.isNull(address)
      ? Effect.fail(onError(koffi().errno()))
      : Effect.succeed(Pointer.make<Struct>(address))
  })

/**
 * 0 on success, else the errno itself. The errno variable counts only when an odd provider returns something negative.
 *
 * @category conventions
 * @since 0.1.0
 */
export const returnedErrno = <E>(call: () => number, onError: (errno: number) => E): Effect.Effect<void, E> =>
  Effect.suspend(() => {
    koffi().errno(0)
    const result = call()
    if (result === 0) return Effect.void
    return Effect.fail(onError(result > 0 ? result : koffi().errno() || -result))
  })

/**
 * -1 and errno on failure, else a value that is not negative.
 *
 * @category conventions
 * @since 0.1.0
 */
export const minusOneErrno = <E>(call: () => number, onError: (errno: number) => E): Effect.Effect<number, E> =>
  Effect.suspend(() => {
    koffi().errno(0)
    const result = call()
    return result < 0 ? Effect.fail(onError(koffi().errno())) : Effect.succeed(result)
  })

/**
 * `-errno` on failure, else a count, an id or 0. `onError` also gets the errno variable as the call left it: libibumad
 * returns `-EPERM` or `-EIO` for anything and leaves the cause there.
 *
 * @category conventions
 * @since 0.1.0
 */
export const negativeErrno = <E>(
  call: () => number,
  onError: (errno: number, variable: number) => E
): Effect.Effect<number, E> =>
  matchNegativeErrno(call, {
    onFailure: (errno, variable) => Effect.fail(onError(errno, variable)),
    onSuccess: Effect.succeed
  })

/**
 * As {@link negativeErrno}, for calls that are made for every message: what follows is told in the same step.
 *
 * @category conventions
 * @since 0.1.0
 */
export const matchNegativeErrno = <A, E, A2, E2>(
  call: () => number,
  { onFailure, onSuccess }: {
    readonly onFailure: (errno: number, variable: number) => Effect.Effect<A2, E2>
    readonly onSuccess: (returned: number) => Effect.Effect<A, E>
  }
): Effect.Effect<A | A2, E | E2> =>
  Effect.suspend((): Effect.Effect<A | A2, E | E2> => {
    koffi().errno(0)
    const result = call()
    return result < 0 ? onFailure(-result, koffi().errno()) : onSuccess(result)
  })

// libuv has four threads for all that a process does, and koffi refuses more than 256 calls at a time.
const threads = Semaphore.makeUnsafe(3)

/**
 * A call that takes long, on a thread of libuv's pool, of which one is always left to others: what it returned, and errno as that thread left it, where a value of
 * an earlier call may stand when this one does not set it. Only the wait for a thread can be interrupted: what C was lent
 * must stay until it has returned. `start` is the `async` of a function, with the arguments.
 *
 * @category conventions
 * @since 0.1.0
 */
export const onWorker = <R>(
  start: (done: (error: unknown, result: R) => void) => void
): Effect.Effect<{ readonly result: R; readonly errno: number }> =>
  threads.withPermit(Effect.uninterruptible(Effect.callback((resume) => {
    start((error, result) => {
      resume(error ? Effect.die(error) : Effect.succeed({ result, errno: koffi().errno() }))
    })
  })))
