import { Fabric, Topology } from "@effect-rdma/testkit"
import * as Umad from "@effect-rdma/umad/Umad"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { readFileSync } from "node:fs"
import { opensmFields } from "./lanes/differences.ts"
import { countedMads } from "./subnetCounters.ts"
import { answers } from "./subnetQueries.ts"

// The file that the simulator runs on; the queries are about the default one.
const file = readFileSync(process.env["EFFECT_RDMA_TOPOLOGY"] ?? "", "utf8")

const fieldOf = (told: Record<string, unknown>, { asked, field }: (typeof opensmFields)[number]): unknown => {
  const record = told[asked]
  return typeof record === "object" && record !== null
    ? Object.entries(record).find(([name]) => name === field)?.[1]
    : record
}

/** Without what is known to differ. */
const comparable = (told: Record<string, unknown>) =>
  Object.fromEntries(
    Object.entries(told).map(([asked, record]) => [
      asked,
      typeof record === "object" && record !== null && !Array.isArray(record)
        ? Object.fromEntries(
          Object.entries(record).filter(([name]) =>
            !opensmFields.some((known) => known.asked === asked && known.field === name)
          )
        )
        : record
    ])
  )

describe("subnet administration of the same topology file by opensm and on the fabric", { concurrent: false }, () => {
  it.live("answers the same", () =>
    Effect.gen(function*() {
      const there = yield* answers.pipe(Effect.provide(Umad.Umad.layer))
      const fabric = Layer.unwrap(Effect.map(Topology.fromText(file), Fabric.layerFrom))
      const here = yield* answers.pipe(Effect.provide(fabric))
      assert.deepStrictEqual(comparable(here), comparable(there))
      for (const known of opensmFields) assert.notDeepEqual(fieldOf(here, known), fieldOf(there, known), known.what)
    }))
})

describe("performance management of the same topology file on ibsim and on the fabric", { concurrent: false }, () => {
  it.live("counts the same", () =>
    Effect.gen(function*() {
      const there = yield* countedMads.pipe(Effect.provide(Umad.Umad.layer))
      const fabric = Layer.unwrap(Effect.map(Topology.fromText(file), Fabric.layerFrom))
      assert.deepStrictEqual(yield* countedMads.pipe(Effect.provide(fabric)), there)
      assert.isAbove(there.rcvPkts, 0)
    }))
})
