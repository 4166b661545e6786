/** The suites tell a provider that does what C does from one that does not. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { runSuite } from "./vitest/runSuite.ts"

describe("conformance", () => {
  it.live(
    "a provider that takes one errno for another fails in the one test that is about it",
    () =>
      Effect.gen(function*() {
        const { tests } = yield* runSuite("providers.suite.ts")
        const of = (provider: string) => tests.filter(({ fullName }) => fullName.startsWith(`${provider}: `))
        assert.isAbove(of("sound").length, 10)
        assert.strictEqual(of("deviant").length, of("sound").length)
        const failed = tests.filter(({ status }) => status === "failed")
        assert.deepStrictEqual(
          failed.map(({ fullName }) => fullName),
          ["deviant: an address that nobody answers for is ETIMEDOUT"]
        )
        assert.match(failed[0]?.failureMessages.join("") ?? "", /ibv_create_ah .*: EINVAL \(22\)/)
        assert.strictEqual(tests.filter(({ status }) => status === "passed").length, tests.length - 1)
      }),
    120_000
  )
})
