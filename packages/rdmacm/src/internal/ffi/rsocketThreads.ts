/**
 * The two threads of librdmacm that serve its rsockets: one takes connections for those that listen, one brings those along
 * that connect or were accepted.
 *
 * Before rdma-core 53 a thread goes on with the table of its rsockets where the table was before it grew, which is freed
 * memory: other memory of the process is written to, and who tells the thread of an rsocket, as `rconnect`, `raccept` and
 * `rclose` do, waits for ever. It grows with the fourth rsocket, while it is in use. But it keeps its size, gets four places more
 * each time that the thread is started, and the thread ends with its last rsocket. So before the first rsocket is made the
 * threads are started and ended until there is room, and what would not fit is refused. It is counted for the process as long as
 * it has rsockets on one JS thread only.
 *
 * @since 0.1.0
 */
import * as Errno from "@effect-rdma/core/Errno"
import * as Effect from "effect/Effect"
import * as NetAddress from "effect/net/NetAddress"
import * as Semaphore from "effect/Semaphore"
import { readFileSync, realpathSync } from "node:fs"
import type { NetworkInterfaceInfo } from "node:os"
import type { RdmaCmError } from "../../RdmaCmError.ts"
import { errorOf } from "./error.ts"

/** Which of the threads. */
export type Name = "listening" | "connecting"

/** How often each is started before; every start makes room for four. */
export const starts = { listening: 8, connecting: 32 } as const

/**
 * Whether a library that is mapped into this process grows its tables wrongly. A build of rdma-core has its release in its file
 * name. Some releases before 53 have the correction as well, which nothing tells.
 */
export const growsWrongly = (maps: string): boolean =>
  Array.from(maps.matchAll(/\/librdmacm\.so\.1\.\d+\.(\d+)/g)).some(([, release]) => Number(release) < 53)

/**
 * Whom to start to connect to: a neighbour that nobody is, for to find that out takes longer than the start of it. On a host
 * without IPv6 the way to itself, which may come to its end at once.
 */
export const stranger = (interfaces: NodeJS.Dict<Array<NetworkInterfaceInfo>>): NetAddress.InetAddress => {
  const link = Object.values(interfaces).flat().find((address) =>
    address?.family === "IPv6" && !address.internal && address.address.startsWith("fe80:")
  )
  return NetAddress.inetAddressFromStringUnsafe(
    link?.family === "IPv6" ? `[fe80::6b1d:33a9:fe21:c002%${link.scopeid}]:9` : "127.0.0.1:9"
  )
}

/** The file of a library, or all that are mapped into this process when it was found by its name. */
export const filesOf = (path: string): string =>
  path.includes("/") ? realpathSync(path) : readFileSync("/proc/self/maps", "utf8")

/** What became of one that was to enter a thread and leave it: it was in there, it came to its end before, or there was none. */
export type Visit = "entered" | "missed" | "failed"

/** Who is in the threads of one library. */
export interface Threads {
  /** To be done before an rsocket is made. */
  readonly prepare: Effect.Effect<void>
  /** A call that has an rsocket enter a thread. Fails with `ENOSPC` when it has no place for it. */
  readonly entering: <A>(
    name: Name,
    call: string,
    run: Effect.Effect<A, RdmaCmError>,
    numberOf: (result: A) => number
  ) => Effect.Effect<A, RdmaCmError>
  /** The call that has an rsocket leave them. Its number can be of another one before the call is known to have ended. */
  readonly leaving: <A>(number: number, run: Effect.Effect<A, RdmaCmError>) => Effect.Effect<A, RdmaCmError>
}

interface Thread {
  readonly inside: Set<number>
  /** How many are on their way in or out. */
  passing: number
  most: number
}

/** `visit` has a new rsocket enter a thread and leave it. */
export const make = (look: () => boolean, visit: (name: Name) => Effect.Effect<Visit>): Threads => {
  const threads = { listening: makeThread(), connecting: makeThread() }
  const preparing = Semaphore.makeUnsafe(1)
  let isPrepared = false
  let wrong: boolean | undefined
  const isWrong = () => wrong ??= look()

  const grow = (name: Name, times: number, attempts: number): Effect.Effect<void> =>
    times === 0 || attempts === 0 ? Effect.void : Effect.flatMap(visit(name), (visit) => {
      if (visit === "failed") return Effect.void
      if (visit === "missed") return grow(name, times, attempts - 1)
      threads[name].most += 4
      return grow(name, times - 1, attempts - 1)
    })

  /** While an rsocket is in a thread, the thread does not start anew. */
  const isUsed = () => Object.values(threads).some(({ inside, passing }) => inside.size + passing > 0)

  return {
    prepare: preparing.withPermit(Effect.uninterruptible(Effect.suspend(() => {
      if (isPrepared || !isWrong() || isUsed()) return Effect.void
      return Effect.andThen(
        grow("listening", starts.listening, 2 * starts.listening),
        grow("connecting", starts.connecting, 8 * starts.connecting)
      ).pipe(Effect.tap(Effect.sync(() => {
        isPrepared = threads.connecting.most > fewest
      })))
    }))),

    entering: (name, call, run, numberOf) =>
      Effect.suspend(() => {
        const thread = threads[name]
        if (!isWrong()) return run
        if (thread.inside.size + thread.passing >= thread.most) {
          return Effect.fail(errorOf(
            call,
            ENOSPC,
            { rsockets: thread.inside.size },
            "librdmacm before rdma-core 53 writes to freed memory with more rsockets: release some, or update rdma-core"
          ))
        }
        return Effect.acquireUseRelease(
          Effect.sync(() => thread.passing++),
          () => run,
          (_, exit) =>
            Effect.sync(() => {
              thread.passing--
              if (exit._tag === "Success") thread.inside.add(numberOf(exit.value))
            })
        )
      }),

    leaving: (number, run) =>
      Effect.uninterruptible(Effect.suspend(() => {
        const left = Object.values(threads).filter(({ inside }) => inside.delete(number))
        for (const thread of left) thread.passing++
        return Effect.ensuring(
          run,
          Effect.sync(() => {
            for (const thread of left) thread.passing--
          })
        )
      }))
  }
}

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

/** What a table has room for without having been started before. */
const fewest = 3

const makeThread = (): Thread => ({ inside: new Set(), passing: 0, most: fewest })

const ENOSPC = Errno.numberOf("ENOSPC")
