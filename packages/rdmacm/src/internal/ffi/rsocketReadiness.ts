/**
 * Waiting for rsockets. What the kernel could tell of is hidden in librdmacm, and before rdma-core 63 an `rpoll` whose
 * time runs out spoils those that come after it. So all who wait are looked at together, without waiting: in each turn of the event
 * loop while something happens, and more and more seldom while nothing does.
 *
 * @since 0.1.0
 */
import type * as Library from "@effect-rdma/core/Library"
import * as Effect from "effect/Effect"
import type * as RSockets from "../../operations/RSockets.ts"
import * as Layout from "../RSocketLayout.ts"

/** `POLLIN` and its like, and what `EPOLLIN` and its like are as well. */
export const bits = { in: 1, out: 4, err: 8, hup: 16 } as const

/** What to ask `poll` for. */
export const maskOf = (wanted: ReadonlyArray<RSockets.Wanted>): number =>
  (wanted.includes("readable") ? bits.in : 0) | (wanted.includes("writable") ? bits.out : 0)

/** What `poll` has told. */
export const readinessOf = (mask: number): RSockets.Readiness => ({
  isReadable: (mask & bits.in) !== 0,
  isWritable: (mask & bits.out) !== 0,
  isHungUp: (mask & bits.hup) !== 0,
  isBroken: (mask & bits.err) !== 0
})

interface Waiter {
  readonly socket: number
  readonly mask: number
  readonly tell: () => void
}

type Rpoll = Library.NativeFunction<["buffer", "size", "int"], "int">

/** What can be done with these now, in their order. */
export const look = (
  rpoll: Rpoll,
  asked: ReadonlyArray<{ readonly socket: number; readonly mask: number }>
): ReadonlyArray<number> => {
  const { size } = Layout.Pollfd
  const table = new DataView(new ArrayBuffer(size * asked.length))
  asked.forEach(({ mask, socket }, index) => Layout.Pollfd.write(table, { fd: socket, events: mask }, index * size))
  // It cannot fail when it does not wait.
  rpoll(table, asked.length, 0)
  return asked.map((_, index) => Layout.Pollfd.get("revents", table, index * size))
}

/** Looks in each turn until nothing has happened for so many. */
const busyTurns = 50
const longestPauseMillis = 10

/** Who waits is told when the rsocket is as wanted, hung up or broken. */
export const make = (rpoll: Rpoll) => {
  const waiters = new Set<Waiter>()
  let idleTurns = 0
  let cancel: (() => void) | undefined

  const turn = () => {
    cancel = undefined
    const asked = Array.from(waiters)
    const ready = look(rpoll, asked)
    idleTurns = ready.some((mask) => mask !== 0) ? 0 : idleTurns + 1
    asked.forEach((waiter, index) => {
      if (ready[index] !== 0 && waiters.delete(waiter)) waiter.tell()
    })
    plan()
  }
  const plan = () => {
    if (cancel !== undefined || waiters.size === 0) return
    if (idleTurns < busyTurns) {
      const immediate = setImmediate(turn)
      cancel = () => clearImmediate(immediate)
    } else {
      const timer = setTimeout(turn, Math.min(idleTurns - busyTurns + 1, longestPauseMillis))
      cancel = () => clearTimeout(timer)
    }
  }
  const planAnew = () => {
    cancel?.()
    cancel = undefined
    plan()
  }

  return (socket: number, wanted: RSockets.Wanted): Effect.Effect<void> =>
    Effect.callback<void>((resume) => {
      const waiter: Waiter = { socket, mask: maskOf([wanted]), tell: () => resume(Effect.void) }
      waiters.add(waiter)
      idleTurns = 0
      planAnew()
      return Effect.sync(() => {
        waiters.delete(waiter)
        planAnew()
      })
    })
}
