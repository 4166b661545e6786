/**
 * Random programs on the real libraries, with failing creates and interruption: nothing is left in the ledger, in the
 * kernel's list of RDMA resources, or among the open files. What a failed release leaves would be there until the process
 * ends, so releases do not fail here; the fabric has those.
 */
import { Ledger } from "@effect-rdma/core"
import { Umad } from "@effect-rdma/umad"
import { afterAll, assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { Program, runProgram } from "../randomPrograms.ts"
import { rdmaCmOnSoftRoce } from "./rdmacm.ts"

const libraries = Layer.merge(rdmaCmOnSoftRoce.layer, Umad.Umad.layer)

let acquired = 0

const onSoftRoce = Effect.fnUntraced(function*(program: Program) {
  const seams = yield* Layer.build(libraries)
  const snapshot = Effect.provide(rdmaCmOnSoftRoce.snapshot, seams)
  const before = yield* snapshot
  const { alive, totals } = yield* runProgram({
    seams,
    resolved: Effect.sleep("5 millis"),
    unplug: undefined,
    failingReleases: false
  }, program)
  assert.deepStrictEqual(alive.map(Ledger.formatEntry), [])
  assert.deepStrictEqual(yield* snapshot, before)
  acquired += totals.reduce((sum, row) => sum + row.acquired, 0)
})

describe("lifetimes", () => {
  it.live.prop(
    "no random program leaves anything in the ledger, the kernel or the table of files",
    [Program],
    ([program]) => Effect.provide(Effect.scoped(onSoftRoce(program)), Ledger.layer),
    { arbitrary: { runs: 150, size: 30, seed: 1 }, timeout: 300_000 }
  )

  afterAll(() => {
    assert.isAbove(acquired, 1000)
  })
})
