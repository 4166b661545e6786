/**
 * Figures: every row is run in turn, again and again, so that a drift of the machine meets all alike. What is counted is
 * time of the processor, by every thread of the process: nothing here sleeps, and other programs shall not count.
 */
// The barrel takes long to load in the guest.
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import { cpus } from "node:os"

/** How often each row is run, the first ones not counted: they warm up. */
export const runs = 41
const warmUps = 5

export const median = (values: ReadonlyArray<number>): number =>
  values.toSorted((self, that) => self - that)[Math.floor(values.length / 2)] ?? Number.NaN

/** Does its work so often that it takes `count` messages. */
export type Row<E, R> = (count: number) => Effect.Effect<unknown, E, R>

/** The median of each row, in nanoseconds for each message. */
export const medians = <const Names extends string, E, R>(
  all: { readonly [Name in Names]: Row<E, R> },
  count: number
): Effect.Effect<{ readonly [Name in Names]: number }, E, R> =>
  Effect.gen(function*() {
    const times = new Map<string, Array<number>>()
    for (let run = -warmUps; run < runs; run++) {
      for (const [name, row] of Object.entries<Row<E, R>>(all)) {
        const start = process.cpuUsage()
        yield* row(count)
        const { system, user } = process.cpuUsage(start)
        if (run >= 0) times.set(name, [...times.get(name) ?? [], (system + user) * 1000 / count])
      }
    }
    return Object.fromEntries(Array.from(times, ([name, of]) => [name, median(of)])) as { [Name in Names]: number }
  })

/** Where the figures were taken. */
export const machine = `${cpus()[0]?.model.trim()}, ${cpus().length} cores, Node ${process.versions.node}`

/** Says what was not measured, and why. */
export const skipped = (what: string, why: string): Effect.Effect<void> => Console.log(`skipped: ${what}: ${why}`)
