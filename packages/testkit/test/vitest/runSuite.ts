import { Effect, Schema } from "effect"
import { execFile } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

const Report = Schema.fromJsonString(Schema.Struct({
  testResults: Schema.Array(Schema.Struct({
    assertionResults: Schema.Array(
      Schema.Struct({ fullName: Schema.String, status: Schema.String, failureMessages: Schema.Array(Schema.String) })
    )
  }))
}))

const fixtures = join(import.meta.dirname, "fixtures")
const vitest = join(import.meta.dirname, "../../../../node_modules/.bin/vitest")

/** Runs a file of `fixtures` in a Vitest of its own, which may fail, and gives what became of each test, and what was complained. */
export const runSuite = Effect.fnUntraced(function*(name: string, env: Readonly<Record<string, string>> = {}) {
  const folder = yield* Effect.acquireRelease(
    Effect.sync(() => mkdtempSync(join(tmpdir(), "effect-rdma-suite-"))),
    (folder) => Effect.sync(() => rmSync(folder, { recursive: true }))
  )
  const report = join(folder, "report.json")
  const complaints = yield* Effect.callback<string>((resume) => {
    // What this Vitest tells its own workers is not for that one.
    const others = Object.entries(process.env).filter(([key]) => !/^(VITEST|EFFECT_RDMA_)/.test(key))
    const child = execFile(
      vitest,
      ["run", "--config", join(fixtures, "vitest.config.ts"), "--reporter=json", `--outputFile=${report}`, name],
      { env: { ...Object.fromEntries(others), ...env } },
      (_, __, complaints) => resume(Effect.succeed(complaints))
    )
    return Effect.sync(() => child.kill())
  })
  const { testResults } = yield* Schema.decodeEffect(Report)(readFileSync(report, "utf8"))
  return { complaints, tests: testResults.flatMap(({ assertionResults }) => assertionResults) }
}, Effect.scoped)
