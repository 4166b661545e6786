/**
 * Type-checks and runs every TypeScript example of the README, the guide and the doc comments, each as a module of its
 * own in `.examples/`, so that no example can rot. Those that register tests run in Vitest. A line
 * `EXPRESSION // => VALUE` is an assertion.
 */
import { spawnSync } from "node:child_process"
import { globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { pathToFileURL } from "node:url"

const root = join(import.meta.dirname, "..")
const folder = join(root, ".examples")

const blocks = (file: string): ReadonlyArray<string> => {
  const text = readFileSync(join(root, file), "utf8")
  const prose = file.endsWith(".ts") ? text.replaceAll(/^ *\* ?/gm, "") : text
  return Array.from(prose.matchAll(/^```ts\n([^]*?)^```/gm), ([, code]) => code!)
}

rmSync(folder, { recursive: true, force: true })
mkdirSync(folder)
const files = globSync(["README.md", "docs/*.md", "packages/*/src/{*,vitest/*,conformance/*}.ts"], { cwd: root })
  .toSorted()
const examples = files.flatMap((file) =>
  blocks(file).map((code, index) => {
    const isTest = /from "\S+\/(vitest|conformance)\//.test(code)
    const name = join(folder, `${file.replaceAll(/[/.]/g, "_")}_${index + 1}${isTest ? ".test" : ""}.ts`)
    const asserting = code.replaceAll(/^(.+) \/\/ => (.+)$/gm, "assert.deepStrictEqual($1, $2)")
    writeFileSync(
      name,
      `// From ${file}\n${asserting === code ? "" : "import assert from \"node:assert\"\n"}${asserting}`
    )
    return name
  })
)
writeFileSync(
  join(folder, "tsconfig.json"),
  JSON.stringify({
    extends: "../tsconfig.tests.json",
    compilerOptions: { noUnusedLocals: false },
    include: ["*.ts"]
  })
)
writeFileSync(
  join(folder, "vitest.config.ts"),
  "export default { test: { root: import.meta.dirname, include: [\"*.test.ts\"] } }\n"
)

const run = (command: string, args: ReadonlyArray<string>): void => {
  const { status } = spawnSync(command, args, { cwd: root, stdio: "inherit" })
  if (status !== 0) process.exit(1)
}

run("tsc", ["-p", folder])
const imports = examples.filter((name) => !name.endsWith(".test.ts")).map((name) =>
  `await import(${JSON.stringify(pathToFileURL(name).href)})`
)
run("node", ["--input-type=module", "--eval", imports.join("\n")])
run("vitest", ["run", "--config", join(folder, "vitest.config.ts"), "--reporter=dot", "--silent"])
process.stdout.write(`${examples.length} examples\n`)
