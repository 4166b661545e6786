/**
 * Figures: every row is run in turn, again and again, so that a drift of the machine meets all alike.
 */
import { Effect } from "effect"

const runs = 11

const median = (values: ReadonlyArray<number>): number =>
  values.toSorted((self, that) => self - that)[Math.floor(values.length / 2)] ?? Number.NaN

/** Does its work so often that it takes `count` messages. */
export type Row<E, R> = (count: number) => Effect.Effect<unknown, E, R>

/** The median of each row, in nanoseconds for each message; the first rounds warm up. */
export const medians = <const Names extends string, E, R>(
  rows: { readonly [Name in Names]: Row<E, R> },
  count: number
): Effect.Effect<{ readonly [Name in Names]: number }, E, R> =>
  Effect.gen(function*() {
    const times = new Map<string, Array<number>>()
    for (let run = -3; run < runs; run++) {
      for (const [name, row] of Object.entries<Row<E, R>>(rows)) {
        const start = performance.now()
        yield* row(count)
        const time = (performance.now() - start) * 1e6 / count
        if (run >= 0) times.set(name, [...times.get(name) ?? [], time])
      }
    }
    return Object.fromEntries(Array.from(times, ([name, of]) => [name, median(of)])) as { [Name in Names]: number }
  })
