/**
 * What somebody does who wants to try the packages: packs them, installs the tarballs with npm in a project of its own outside
 * this repository, and runs the tests of the README and the guide there. The leak test of the README must pass as it is, and fail
 * when its context goes into a scope that nobody closes.
 *
 * `node scripts/tarballs.ts [FOLDER]` leaves the project in the folder, to try more in it.
 */
import { spawnSync } from "node:child_process"
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"

const root = join(import.meta.dirname, "..")
const [wanted] = process.argv.slice(2)
const project = wanted === undefined ? mkdtempSync(join(tmpdir(), "effect-rdma-project-")) : resolve(wanted)
const tarballs = join(project, "tarballs")

const end = (problem: string): never => {
  process.stderr.write(`tarballs: ${problem}; the project is in ${project}\n`)
  process.exit(1)
}

/** Runs a command in the project, or says what it printed and ends. */
const run = (command: string, args: ReadonlyArray<string>, cwd = project, expected: "passes" | "fails" = "passes") => {
  const { error, status, stderr, stdout } = spawnSync(command, args, { cwd, encoding: "utf8" })
  const printed = `${stdout}${stderr}${error?.message ?? ""}`
  if ((status === 0) !== (expected === "passes")) end(`${[command, ...args].join(" ")} ${status}:\n${printed}`)
  return printed
}

const includes = (printed: string, pattern: RegExp): void => {
  if (!pattern.test(printed)) end(`this should have ${pattern}:\n${printed}`)
}

/** The example of a document that imports a module. */
const example = (file: string, module: string): string =>
  readFileSync(join(root, file), "utf8").split("```ts\n").slice(1).map((text) => text.split("```")[0]!)
    .find((code) => code.includes(`"${module}"`)) ?? end(`${file} has no example with ${module}`)

mkdirSync(tarballs, { recursive: true })
run("npx", ["-y", "pnpm@12.21.0", "-r", "pack", "--pack-destination", tarballs], root)
writeFileSync(join(project, "package.json"), JSON.stringify({ private: true, type: "module" }))
const { devDependencies }: { readonly devDependencies: Readonly<Record<string, string>> } = JSON.parse(
  readFileSync(join(root, "packages/testkit/package.json"), "utf8")
)
run("npm", [
  "install",
  "--no-audit",
  "--no-fund",
  ...readdirSync(tarballs).map((name) => join(tarballs, name)),
  ...Object.entries(devDependencies).map(([name, version]) => `${name}@${version}`)
])

const leakTest = example("README.md", "@effect-rdma/testkit/vitest/LeakChecked")
const file = join(project, "leak.test.ts")
writeFileSync(file, leakTest)
includes(run("npx", ["vitest", "run"]), /1 passed/)

const open = "DeviceContext.openByName(\"rxe0\")"
if (!leakTest.includes(open)) end(`the leak test of the README has no ${open}`)
writeFileSync(
  file,
  `${leakTest.replace(open, `${open}.pipe(Scope.provide(Scope.makeUnsafe()))`)}import { Scope } from "effect"\n`
)
includes(
  run("npx", ["vitest", "run"], project, "fails"),
  /1 RDMA resource.*\nDeviceContext#2 \(ibv_open_device at \S*leak\.test\.ts:8:\d+\)\nWhat ibv_open_device made went into/
)
writeFileSync(file, leakTest)

writeFileSync(
  join(project, "conformance.test.ts"),
  example("docs/testing.md", "@effect-rdma/testkit/conformance/Verbs")
)
includes(run("npx", ["vitest", "run", "conformance"]), /mine: |passed/)

// The types of the packages stand by themselves.
run(join(root, "node_modules/.bin/tsc"), [
  "--noEmit",
  "--strict",
  "--module",
  "nodenext",
  "--target",
  "es2023",
  "--skipLibCheck",
  "leak.test.ts",
  "conformance.test.ts"
])

includes(run("npx", ["rdma-lane", "--help"]), /rdma-lane softroce/)
if (wanted === undefined) rmSync(project, { recursive: true })
