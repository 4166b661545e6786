/** Programs with one classic fault each: the explorer finds it, and nothing in the same program without it. */
import { Explorer, Fabric } from "@effect-rdma/testkit"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { errors } from "./seeded/errors.ts"
import { lifetimes } from "./seeded/lifetimes.ts"
import { managers } from "./seeded/managers.ts"
import { waits } from "./seeded/waits.ts"

for (const [family, bugs] of Object.entries({ lifetimes, errors, waits, managers })) {
  describe(family, () => {
    for (const { corrected, faulty, kind, mayFail = [], name, report } of bugs) {
      const options = { layer: Fabric.layer, runs: 200, mayFail }
      it.effect(name, () =>
        Effect.gen(function*() {
          const { finding } = yield* Explorer.explore(faulty, options)
          assert.strictEqual(finding?.kind, kind, finding?.problem)
          assert.match(finding?.problem ?? "", report)
          // By its plan alone it is found again.
          const again = yield* Explorer.replay(faulty, options, finding?.plan ?? { faults: [] })
          assert.strictEqual(again?.kind, kind)
          yield* Explorer.check(corrected, options)
        }), 300_000)
    }
  })
}
