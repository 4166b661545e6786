import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { runSuite } from "./runSuite.ts"

const outcomes = (tests: ReadonlyArray<{ readonly fullName: string; readonly status: string }>) =>
  tests.map(({ fullName, status }) => `${status}: ${fullName}`)

const netFile = /\/\S+two-hosts\.net/g

describe("describeLanes", () => {
  it.live(
    "runs a suite on the fabric, and skips the lanes that are not here with a reason",
    () =>
      Effect.gen(function*() {
        const { complaints, tests } = yield* runSuite("lanes.suite.ts")
        assert.deepStrictEqual(outcomes(tests).map((line) => line.replace(netFile, "FILE")), [
          "passed: fabric a domain is allocated",
          "skipped: softroce (this does not run under `rdma-lane softroce -- CMD`) a domain is allocated",
          "passed: fabric a port is opened",
          "skipped: ibsim (this does not run under `rdma-lane ibsim FILE -- CMD`) a port is opened"
        ])
        assert.deepStrictEqual(complaints.trim().split("\n").map((line) => line.replace(netFile, "FILE")), [
          "softroce: skipped, since this does not run under `rdma-lane softroce -- CMD`",
          "ibsim: skipped, since this does not run under `rdma-lane ibsim FILE -- CMD`"
        ])
      }),
    120_000
  )

  it.live("skips nothing where the lane says that it is here", () =>
    Effect.gen(function*() {
      const { tests } = yield* runSuite("lanes.suite.ts", {
        EFFECT_RDMA_LANE: "softroce",
        // It is not, and no device of this machine is touched.
        EFFECT_RDMA_LIBIBVERBS: "/nowhere/libibverbs.so.1"
      })
      assert.deepStrictEqual(outcomes(tests).slice(0, 2), [
        "passed: fabric a domain is allocated",
        "failed: softroce a domain is allocated"
      ])
    }), 120_000)
})
