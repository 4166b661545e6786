/**
 * Random programs on the fabric, which dies with `FabricMisuse` for what the C libraries do not survive, and knows what is
 * still there at the end.
 */
import { Ledger } from "@effect-rdma/core"
import { Fabric } from "@effect-rdma/testkit"
import { afterAll, assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { Program, runProgram } from "./randomPrograms.ts"

// Closing a context or a port takes the kernel's objects on it along, those too that could not be released before; so does
// the end of an id with its memberships.
const isReclaimed = (entry: Ledger.Entry): boolean =>
  entry.parents.some((parent) =>
    ((parent.kind === "DeviceContext" || parent.kind === "OpenPort") && parent.ownership === "owned" &&
      parent.state === "released") ||
    (parent.kind === "CmId" && parent.state === "released") ||
    isReclaimed(parent)
  )

const onFabric = Effect.fnUntraced(function*(program: Program) {
  const fabric = yield* Fabric.Fabric
  const { alive, totals, unplugged, ...counts } = yield* runProgram({
    seams: yield* fabric.seams("host-a"),
    resolved: TestClock.adjust("1 millis"),
    unplug: (device) => fabric.unplug("host-a", device),
    releasesFail: "instead"
  }, program)
  // The fabric agrees on what is left, but for what went with an unplugged device.
  const left = (yield* fabric.objects).map(({ kind }) => kind).toSorted()
  const leaked = alive.filter((entry) => !isReclaimed(entry)).map(({ kind }) => kind).toSorted()
  const tree = Ledger.formatTree(alive)
  if (unplugged) { for (const kind of left) assert.include(leaked, kind, tree) }
  else assert.deepStrictEqual(left, leaked, tree)
  statistics.interrupted += counts.interrupted ? 1 : 0
  statistics.faults += counts.faults
  statistics.failedReleases += counts.failedReleases
  statistics.usesAfterRelease += counts.usesAfterRelease
  for (const { acquired, pair } of totals) {
    statistics.acquired.set(pair[0], (statistics.acquired.get(pair[0]) ?? 0) + acquired)
  }
})

// What the random programs did, so that a generator that has become tame fails the test.
const statistics = {
  interrupted: 0,
  faults: 0,
  failedReleases: 0,
  usesAfterRelease: 0,
  acquired: new Map<string, number>()
}

describe("lifetimes", () => {
  it.effect.prop(
    "no random program leaks, releases twice or in the wrong order",
    [Program],
    ([program]) => Effect.provide(onFabric(program), [Fabric.layer, Ledger.layer]),
    { arbitrary: { runs: 6000, size: 30, seed: Number(process.env["EFFECT_RDMA_SEED"] ?? 1) }, timeout: 600_000 }
  )

  afterAll(() => {
    const { acquired, ...others } = statistics
    for (const [name, count] of Object.entries(others)) assert.isAbove(count, 100, name)
    for (const [call, count] of acquired) assert.isAbove(count, 50, call)
    assert.strictEqual(acquired.size, 52)
  })
})
