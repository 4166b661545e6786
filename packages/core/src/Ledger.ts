/**
 * The book of everything that is alive. Every scoped resource is entered when its native call succeeded and struck out
 * when its release did, so that a test can assert that nothing was left, and an error can tell what still lives.
 *
 * One ledger serves all libraries of a program, since their resources form one tree: a CM id carries a verbs context.
 * A resource enters the ledger of the fiber that makes it. The default ledger is the process's own; {@link layer} gives a
 * program a fresh one.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Metric from "effect/Metric"
import type * as CreationSite from "./CreationSite.ts"
import { format as formatSite } from "./CreationSite.ts"

/**
 * The C functions that acquire and release one kind of resource.
 *
 * @category models
 * @since 0.1.0
 */
export type Pair = readonly [acquire: string, release: string]

/**
 * One resource as the ledger sees it.
 *
 * - `live`: usable. `releasing`: its release is under way. `released`: gone.
 * - `leaked`: its native release failed, so the native object still exists and nothing will release it.
 * - `borrowed` resources belong to a library or to another handle: they are listed and never destroyed by us.
 *
 * @category models
 * @since 0.1.0
 */
export interface Entry {
  readonly name: string
  readonly kind: string
  readonly pair: Pair
  readonly ownership: "owned" | "borrowed"
  readonly parents: ReadonlyArray<Entry>
  readonly site: CreationSite.CreationSite | undefined
  readonly state: "live" | "releasing" | "released" | "leaked"
}

/**
 * How often a pair was acquired, released, and failed to release. Borrowed resources are not counted.
 *
 * @category models
 * @since 0.1.0
 */
export interface Totals {
  readonly pair: Pair
  readonly acquired: number
  readonly released: number
  readonly failed: number
}

interface MutableTotals {
  pair: Pair
  acquired: number
  released: number
  failed: number
}

/**
 * A ledger: the live entries in order of creation, their count by kind (a kind seen once stays, at zero), and the totals
 * of each pair since it was made. `bracketed` counts a pair that was acquired and released within one step.
 *
 * @category models
 * @since 0.1.0
 */
export interface Ledger {
  readonly live: () => ReadonlyArray<Entry>
  readonly counts: () => ReadonlyMap<string, number>
  readonly totals: () => ReadonlyArray<Totals>
  readonly nextName: (kind: string) => string
  readonly acquired: (entry: Entry) => void
  readonly released: (entry: Entry) => void
  readonly failed: (entry: Entry) => void
  readonly bracketed: (pair: Pair) => void
}

/**
 * Makes an empty ledger.
 *
 * @category constructors
 * @since 0.1.0
 */
export const makeUnsafe = (): Ledger => {
  const live = new Set<Entry>()
  const counts = new Map<string, number>()
  const totals = new Map<string, MutableTotals>()
  let lastNumber = 0
  const totalsOf = (pair: Pair): MutableTotals => {
    const key = `${pair[0]} ${pair[1]}`
    let found = totals.get(key)
    if (found === undefined) totals.set(key, found = { pair, acquired: 0, released: 0, failed: 0 })
    return found
  }
  return {
    live: () => Array.from(live),
    counts: () => counts,
    totals: () => Array.from(totals.values(), (row) => ({ ...row })),
    nextName: (kind) => `${kind}#${++lastNumber}`,
    acquired: (entry) => {
      live.add(entry)
      counts.set(entry.kind, (counts.get(entry.kind) ?? 0) + 1)
      if (entry.ownership === "owned") totalsOf(entry.pair).acquired++
    },
    released: (entry) => {
      live.delete(entry)
      counts.set(entry.kind, (counts.get(entry.kind) ?? 0) - 1)
      if (entry.ownership === "owned") totalsOf(entry.pair).released++
    },
    failed: (entry) => {
      totalsOf(entry.pair).failed++
    },
    bracketed: (pair) => {
      const row = totalsOf(pair)
      row.acquired++
      row.released++
    }
  }
}

/**
 * The ledger that what a fiber makes is entered in.
 *
 * @category references
 * @since 0.1.0
 */
export const Ledger = Context.Reference<Ledger>("@effect-rdma/core/Ledger", { defaultValue: makeUnsafe })

/**
 * Gives the program a fresh ledger.
 *
 * @category layers
 * @since 0.1.0
 */
export const layer: Layer.Layer<never> = Layer.effectContext(
  Effect.sync(() => Context.make(Ledger, makeUnsafe()))
)

/**
 * What is alive now, in order of creation.
 *
 * @category getters
 * @since 0.1.0
 */
export const live: Effect.Effect<ReadonlyArray<Entry>> = Effect.map(Ledger, (ledger) => ledger.live())

/**
 * The totals of each pair since the ledger was made.
 *
 * @category getters
 * @since 0.1.0
 */
export const totals: Effect.Effect<ReadonlyArray<Totals>> = Effect.map(Ledger, (ledger) => ledger.totals())

/**
 * The gauge `rdma_live_resources`, with an attribute `kind`.
 *
 * @category metrics
 * @since 0.1.0
 */
export const liveResources = Metric.gauge("rdma_live_resources", {
  description: "RDMA resources that are alive, by kind"
})

/**
 * Sets {@link liveResources} of every kind from the ledger. Run it where metrics are collected: so making a resource
 * costs nothing for it.
 *
 * @category metrics
 * @since 0.1.0
 */
export const updateGauges: Effect.Effect<void> = Effect.flatMap(Ledger, (ledger) =>
  Effect.forEach(
    ledger.counts(),
    ([kind, count]) => Metric.update(Metric.withAttributes(liveResources, { kind }), count),
    { discard: true }
  ))

/**
 * One entry in a line: its name, the call that made it, where, and its state when that is not plain `live`.
 *
 * @category getters
 * @since 0.1.0
 */
export const formatEntry = (entry: Entry): string => {
  const site = entry.site === undefined ? "" : ` at ${formatSite(entry.site)}`
  const others = entry.parents.slice(1).map((parent) => `, also on ${parent.name}`).join("")
  // What made a borrowed object is not known: somebody else did.
  const origin = entry.ownership === "borrowed" ? "borrowed" : entry.pair[0]
  return `${entry.name} (${origin}${site}${others})${entry.state === "live" ? "" : ` ${entry.state}`}`
}

/**
 * Entries as an indented tree, children below their first parent.
 *
 * @category getters
 * @since 0.1.0
 */
export const formatTree = (entries: ReadonlyArray<Entry>): string => {
  const children = new Map<Entry | undefined, Array<Entry>>([[undefined, []]])
  for (const entry of entries) children.set(entry, [])
  for (const entry of entries) (children.get(entry.parents[0]) ?? children.get(undefined))?.push(entry)
  const lines: Array<string> = []
  // A stack of its own: a tree may be deeper than that of the language.
  const pending = (children.get(undefined) ?? []).toReversed().map((entry) => ({ entry, depth: 0 }))
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    const { depth, entry } = next
    lines.push("  ".repeat(Math.min(depth, deepestIndent)) + formatEntry(entry))
    for (const child of (children.get(entry) ?? []).toReversed()) pending.push({ entry: child, depth: depth + 1 })
  }
  return lines.join("\n")
}

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

const deepestIndent = 20
