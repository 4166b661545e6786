/**
 * Runs everything: the checks of the sources, then the tests of every lane, and ends with one line of counts.
 *
 * As root on Debian it installs the system packages that the lanes lack. Elsewhere a lane that cannot run is skipped with
 * the command that would make it run; with `CI=true` it is a failure.
 */
import { Console, Effect, FileSystem, Path, Schema } from "effect"
import { ChildProcess } from "effect/process"
import { ExitStatus } from "../packages/testkit/src/internal/lane/laneError.ts"
import { aptCommand, install, missing, packagesOf } from "../packages/testkit/src/internal/lane/packages.ts"
import { runCommand } from "../packages/testkit/src/internal/lane/runCommand.ts"
import { runMain } from "../packages/testkit/src/internal/lane/runMain.ts"

interface Counts {
  readonly passed: number
  readonly failed: number
  readonly skipped: number
}

const passed: Counts = { passed: 1, failed: 0, skipped: 0 }
const failed: Counts = { passed: 0, failed: 1, skipped: 0 }
const skipped: Counts = { passed: 0, failed: 0, skipped: 1 }

const root = import.meta.dirname.replace(/\/scripts$/, "")
const isCi = process.env["CI"] === "true"

/** A check of the sources: silent when it passes, with its whole output when it does not. */
const check = (name: string, command: string, ...args: ReadonlyArray<string>) =>
  Effect.gen(function*() {
    const result = yield* runCommand(command, args, { cwd: root })
    if (result.status === 0) {
      yield* Console.log(`ok   ${name}`)
      return passed
    }
    yield* Console.log(`FAIL ${name}: ${command} ${args.join(" ")}\n${result.stdout}${result.stderr}`)
    return failed
  })

const checks = Effect.all([
  check("format", "dprint", "check"),
  check("barrels", "node", "scripts/barrels.ts", "--check"),
  check("lint", "oxlint", "--deny-warnings"),
  check("types", "tsc", "-p", "tsconfig.tests.json"),
  check("build", "tsc", "-b", "tsconfig.json"),
  check("Effect diagnostics", "effect-tsgo", "diagnostics", "--project", "tsconfig.tests.json", "--strict"),
  check("examples in the documentation", "node", "scripts/documentationExamples.ts")
])

const Report = Schema.fromJsonString(Schema.Struct({
  numPassedTests: Schema.Int,
  numFailedTests: Schema.Int,
  numPendingTests: Schema.Int,
  numTodoTests: Schema.Int
}))

/** Runs the tests of one Vitest project, in `runner` when they need one. */
const tests = (project: string, results: string, runner: ReadonlyArray<string> = []) =>
  Effect.gen(function*() {
    const fs = yield* FileSystem.FileSystem
    const report = `${results}/${project}.json`
    const vitest = [
      "vitest",
      "run",
      "--project",
      project,
      "--reporter=default",
      "--reporter=json",
      `--outputFile.json=${report}`
    ]
    const [command = "", ...args] = [...runner, ...vitest]
    yield* Console.log(`\n--- ${project}`)
    const child = yield* ChildProcess.make(command, args, {
      cwd: root,
      env: { EFFECT_RDMA_COVERAGE: results },
      extendEnv: true,
      stdin: "ignore",
      stdout: "inherit",
      stderr: "inherit"
    })
    const status = yield* child.exitCode
    // The runner has said why.
    if (status === ExitStatus.cannotRunHere && !(yield* fs.exists(report))) return isCi ? failed : skipped
    const counts = yield* fs.readFileString(report).pipe(Effect.flatMap(Schema.decodeEffect(Report)), Effect.option)
    if (counts._tag === "None") {
      yield* Console.log(`FAIL ${project} left no report (exit status ${status})`)
      return failed
    }
    const { numFailedTests, numPassedTests, numPendingTests, numTodoTests } = counts.value
    // A file that does not load has no failed test of its own, and a lane in which nothing ran proves nothing.
    const unreported = (status !== 0 && numFailedTests === 0) || numPassedTests === 0 ? 1 : 0
    return { passed: numPassedTests, failed: numFailedTests + unreported, skipped: numPendingTests + numTodoTests }
  }).pipe(Effect.scoped)

/** The Debian packages that the tests of a lane need. */
const systemPackages = {
  ...packagesOf,
  softroce2: packagesOf.softroce,
  abi: ["gcc", "libc6-dev", "libibverbs-dev", "librdmacm-dev", "libibumad-dev", "libibmad-dev", "libopensm-dev"],
  host: ["libibverbs1", "librdmacm1", "libibumad3"]
} as const

/** The tests of a lane that needs system packages. */
const laneTests = (lane: keyof typeof systemPackages, results: string, runner: ReadonlyArray<string> = []) =>
  Effect.gen(function*() {
    const lacking = yield* missing(systemPackages[lane])
    if (lacking.length > 0 && process.getuid?.() === 0) yield* install(lacking)
    else if (lacking.length > 0) {
      yield* Console.log(`\n--- ${lane} cannot run here; run: sudo ${aptCommand(lacking)}`)
      return isCi ? failed : skipped
    }
    return yield* tests(lane, results, runner)
  }).pipe(
    Effect.catchTag(
      "LaneError",
      (error) => Effect.as(Console.log(`\n--- ${lane}: ${error.message}`), isCi ? failed : skipped)
    )
  )

const main = Effect.gen(function*() {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const results = path.join(root, "coverage")
  yield* fs.remove(results, { recursive: true, force: true })
  yield* fs.makeDirectory(results)
  const counts = [
    ...(yield* checks),
    yield* tests("fabric", results),
    yield* laneTests("abi", results),
    yield* laneTests("ibsim", results, ["rdma-lane", "ibsim", "--"]),
    yield* laneTests("softroce", results, ["rdma-lane", "softroce", "--timeout", "1200", "--out", results, "--"]),
    yield* laneTests("softroce2", results),
    yield* laneTests("host", results),
    yield* check("a project with the packed packages", "node", "scripts/tarballs.ts"),
    yield* check("coverage table", "node", "scripts/coverage.ts")
  ]
  const sum = (key: keyof Counts) => counts.reduce((total, row) => total + row[key], 0)
  yield* Console.log(`\n${sum("passed")} passed, ${sum("failed")} failed, ${sum("skipped")} skipped`)
  return sum("failed") === 0 ? 0 : 1
})

runMain("test", main)
