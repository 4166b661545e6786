import { Effect, Schema } from "effect"
import { execFile } from "node:child_process"
import { join } from "node:path"

const Report = Schema.fromJsonString(Schema.Struct({
  testResults: Schema.Array(Schema.Struct({
    assertionResults: Schema.Array(
      Schema.Struct({ fullName: Schema.String, status: Schema.String, failureMessages: Schema.Array(Schema.String) })
    )
  }))
}))

/** Runs a file of `fixtures` in a Vitest of its own, which may fail, and gives what became of each test, and what was complained. */
export const runSuite = (name: string, env: Readonly<Record<string, string>> = {}) =>
  Effect.callback<{ readonly printed: string; readonly complaints: string }>((resume) => {
    const folder = join(import.meta.dirname, "fixtures")
    const vitest = join(import.meta.dirname, "../../../../node_modules/.bin/vitest")
    const args = ["run", "--config", join(folder, "vitest.config.ts"), "--reporter=json", name]
    // What this Vitest tells its own workers is not for that one.
    const own = Object.entries(process.env).filter(([key]) => !/^(VITEST|EFFECT_RDMA_)/.test(key))
    const child = execFile(
      vitest,
      args,
      { env: { ...Object.fromEntries(own), ...env }, maxBuffer: 2 ** 26 },
      (_, printed, complaints) => resume(Effect.succeed({ printed, complaints }))
    )
    return Effect.sync(() => child.kill())
  }).pipe(
    Effect.flatMap(({ complaints, printed }) =>
      Effect.map(Schema.decodeEffect(Report)(printed), ({ testResults }) => ({
        complaints,
        tests: testResults.flatMap(({ assertionResults }) => assertionResults)
      }))
    )
  )
