import * as Ledger from "@effect-rdma/core/Ledger"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Metric } from "effect"

const entry = (name: string, parents: ReadonlyArray<Ledger.Entry> = []): Ledger.Entry => ({
  name,
  kind: name.split("#")[0]!,
  pair: ["create", "destroy"],
  ownership: "owned",
  parents,
  site: undefined,
  state: "live"
})

describe("Ledger", () => {
  it("formats entries as a tree below their first parent", () => {
    const context = entry("Context#1")
    const queue = entry("Queue#2", [context])
    const domain = entry("Domain#3", [context])
    const pair = entry("Pair#4", [domain, queue])
    const stray = entry("Stray#6", [entry("Gone#5")])
    assert.deepStrictEqual(Ledger.formatTree([context, queue, domain, pair, stray]).split("\n"), [
      "Context#1 (create)",
      "  Queue#2 (create)",
      "  Domain#3 (create)",
      "    Pair#4 (create, also on Queue#2)",
      "Stray#6 (create)"
    ])
  })

  it("formats a tree deeper than the stack", () => {
    const entries: Array<Ledger.Entry> = [entry("Thing#0")]
    for (let level = 1; level < 20_000; level++) entries.push(entry(`Thing#${level}`, [entries.at(-1)!]))
    assert.strictEqual(Ledger.formatTree(entries).split("\n").length, 20_000)
  })

  it.effect("gauges count by kind and fall to zero", () =>
    Effect.gen(function*() {
      const ledger = yield* Ledger.Ledger
      const gauge = Metric.withAttributes(Ledger.liveResources, { kind: "Gauged" })
      const one = entry("Gauged#1")
      ledger.acquired(one)
      yield* Ledger.updateGauges
      assert.strictEqual((yield* Metric.value(gauge)).value, 1)
      ledger.released(one)
      yield* Ledger.updateGauges
      assert.strictEqual((yield* Metric.value(gauge)).value, 0)
    }).pipe(Effect.provide(Ledger.layer)))
})
