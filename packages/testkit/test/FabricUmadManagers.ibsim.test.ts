import { Fabric, Topology } from "@effect-rdma/testkit"
import * as Umad from "@effect-rdma/umad/Umad"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { readFileSync } from "node:fs"
import { countedMads } from "./subnetCounters.ts"
import { answers } from "./subnetQueries.ts"

// The file that the simulator runs on; the queries are about the default one.
const file = readFileSync(process.env["EFFECT_RDMA_TOPOLOGY"] ?? "", "utf8")

/** Without what differs. */
const comparable = (told: Record<string, unknown>) => ({
  ...told,
  // What each can do is its own: opensm has more than the fabric.
  "class port info": without(told["class port info"], ["capabilityMask", "capabilityMask2"]),
  // ibsim does not keep the SubnetTimeOut that the manager sets.
  "a port by LID and number": without(told["a port by LID and number"], ["subnetTimeout"])
})

const without = (record: unknown, names: ReadonlyArray<string>) =>
  typeof record === "object" && record !== null
    ? Object.fromEntries(Object.entries(record).filter(([name]) => !names.includes(name)))
    : record

describe("subnet administration of the same topology file by opensm and on the fabric", { concurrent: false }, () => {
  it.live("answers the same", () =>
    Effect.gen(function*() {
      const there = yield* answers.pipe(Effect.provide(Umad.Umad.layer))
      const fabric = Layer.unwrap(Effect.map(Topology.fromText(file), Fabric.layerFrom))
      const here = yield* answers.pipe(Effect.provide(fabric))
      assert.deepStrictEqual(comparable(here), comparable(there))
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
