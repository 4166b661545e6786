import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { fatTree, on } from "./subnetFiles.ts"
import { directedAgent, walk } from "./subnetWalk.ts"

// In a file of its own: the time of the processor is that of the process.
describe("a large subnet", () => {
  it.effect("of more than 500 nodes starts and is walked in seconds of the processor", () =>
    Effect.gen(function*() {
      const text = fatTree(30)
      const before = process.cpuUsage()
      const found = yield* on(text)(Effect.flatMap(directedAgent, walk))
      const { system, user } = process.cpuUsage(before)
      assert.lengthOf(found, 30 * 18 + 30 + 18)
      // Measured: 1.4 to 2 s.
      assert.isBelow((system + user) / 1e6, 5)
    }))
})
