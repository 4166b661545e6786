/**
 * Runs everything: the checks of the sources, then the tests of every lane, and ends with one line of counts.
 *
 * As root on Debian it installs the system packages that the lanes lack. Elsewhere a lane that cannot run is skipped with
 * the command that would make it run; with `CI=true` it is a failure.
 */
import { Console, Effect, FileSystem, Schema, Stream } from "effect"
import { ChildProcess } from "effect/process"
import { join } from "node:path"
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
const results = join(root, "coverage")
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

const checks = [
  check("format", "dprint", "check"),
  check("barrels", "node", "scripts/barrels.ts", "--check"),
  check("lint", "oxlint", "--deny-warnings"),
  check("types", "tsc", "-p", "tsconfig.tests.json"),
  check("build", "tsc", "-b", "tsconfig.json"),
  check("Effect diagnostics", "effect-tsgo", "diagnostics", "--project", "tsconfig.tests.json", "--strict"),
  check("examples in the documentation", "node", "scripts/documentationExamples.ts")
]

const Report = Schema.fromJsonString(Schema.Struct({
  numPassedTests: Schema.Int,
  numFailedTests: Schema.Int,
  numPendingTests: Schema.Int,
  numTodoTests: Schema.Int
}))

interface Run {
  /** In front of each line that it prints; its folder of results. */
  readonly name: string
  /** The Vitest project, and which of its files: words for Vitest. */
  readonly project: string
  readonly files?: ReadonlyArray<string>
  /** Of the Debian packages what it needs. */
  readonly packages?: ReadonlyArray<string>
  /** What the tests run in. */
  readonly runner?: (folder: string) => ReadonlyArray<string>
}

/** Runs tests, and prints what they print line by line, since another run may print at the same time. */
const tests = ({ files = [], name, project, runner = () => [] }: Run) =>
  Effect.gen(function*() {
    const fs = yield* FileSystem.FileSystem
    const folder = join(results, name)
    yield* fs.makeDirectory(folder, { recursive: true })
    const report = join(folder, "report.json")
    const [command = "", ...args] = [
      ...runner(folder),
      "vitest",
      "run",
      "--project",
      project,
      "--reporter=default",
      "--reporter=json",
      `--outputFile.json=${report}`,
      ...files
    ]
    const child = yield* ChildProcess.make(command, args, {
      cwd: root,
      env: { EFFECT_RDMA_COVERAGE: folder },
      extendEnv: true,
      stdin: "ignore"
    })
    yield* Stream.runForEach(
      Stream.splitLines(Stream.decodeText(child.all)),
      (line) => Console.log(`${name}: ${line}`)
    )
    const status = yield* child.exitCode
    // The runner has said why.
    if (status === ExitStatus.cannotRunHere && !(yield* fs.exists(report))) return isCi ? failed : skipped
    const counts = yield* fs.readFileString(report).pipe(Effect.flatMap(Schema.decodeEffect(Report)), Effect.option)
    if (counts._tag === "None") {
      yield* Console.log(`FAIL ${name} left no report (exit status ${status})`)
      return failed
    }
    const { numFailedTests, numPassedTests, numPendingTests, numTodoTests } = counts.value
    // A file that does not load has no failed test of its own, and a lane in which nothing ran proves nothing.
    const unreported = (status !== 0 && numFailedTests === 0) || numPassedTests === 0 ? 1 : 0
    return { passed: numPassedTests, failed: numFailedTests + unreported, skipped: numPendingTests + numTodoTests }
  }).pipe(Effect.scoped)

/** Runs tests when the system packages are there that they need. */
const run = (self: Run) =>
  Effect.gen(function*() {
    const lacking = self.packages === undefined ? [] : yield* missing(self.packages)
    if (lacking.length > 0) {
      yield* Console.log(`${self.name} cannot run here; run: sudo ${aptCommand(lacking)}`)
      return isCi ? failed : skipped
    }
    return yield* tests(self)
  }).pipe(
    Effect.catchTag(
      "LaneError",
      (error) => Effect.as(Console.log(`${self.name}: ${error.message}`), isCi ? failed : skipped)
    )
  )

/** The tests in a guest, which writes its results to the folder. */
const inGuest = (name: string, cpus: number, ...files: ReadonlyArray<string>): Run => ({
  name,
  project: "softroce",
  files,
  packages: packagesOf.softroce,
  runner: (folder) => ["rdma-lane", "softroce", "--cpus", `${cpus}`, "--timeout", "1500", "--out", folder, "--"]
})

/** The tests of all lanes, the longest first. Two run at a time, since a guest has little use for a second processor. */
const runs: ReadonlyArray<Run> = [
  inGuest("softroce", 1, "packages/", "--exclude=**/verbs.softroce.test.ts"),
  { name: "fabric", project: "fabric" },
  inGuest("softroce-verbs", 1, "verbs.softroce"),
  // Both sides of a ping-pong poll.
  inGuest("softroce-examples", 2, "examples/"),
  { name: "softroce2", project: "softroce2", packages: packagesOf.softroce },
  { name: "ibsim", project: "ibsim", packages: packagesOf.ibsim, runner: () => ["rdma-lane", "ibsim", "--"] },
  {
    name: "abi",
    project: "abi",
    packages: ["gcc", "libc6-dev", "libibverbs-dev", "librdmacm-dev", "libibumad-dev", "libibmad-dev", "libopensm-dev"]
  },
  { name: "host", project: "host", packages: ["libibverbs1", "librdmacm1", "libibumad3"] }
]

/** Installs what the runs lack, before any begins: a guest has the machine's files, which must not change under it. */
const installAll = Effect.gen(function*() {
  const lacking = yield* missing([...new Set(runs.flatMap(({ packages = [] }) => packages))])
  if (lacking.length > 0 && process.getuid?.() === 0) yield* install(lacking)
}).pipe(Effect.catchTag("LaneError", ({ message }) => Console.log(message)))

const main = Effect.gen(function*() {
  const fs = yield* FileSystem.FileSystem
  yield* fs.remove(results, { recursive: true, force: true })
  yield* installAll
  const jobs = [
    ...checks,
    ...runs.map(run),
    check("a project with the packed packages", "node", "scripts/tarballs.ts")
  ]
  const counts = [
    ...(yield* Effect.all(jobs, { concurrency: 2 })),
    yield* check("coverage table", "node", "scripts/coverage.ts")
  ]
  const sum = (key: keyof Counts) => counts.reduce((total, row) => total + row[key], 0)
  yield* Console.log(`\n${sum("passed")} passed, ${sum("failed")} failed, ${sum("skipped")} skipped`)
  return sum("failed") === 0 ? 0 : 1
})

runMain("test", main)
