/** `docs/field-reports.md` stays true: each test that it names exists, and each report has one or a reason for none. */
import { assert, describe, it } from "@effect/vitest"
import { globSync, readFileSync } from "node:fs"
import { join } from "node:path"

const root = join(import.meta.dirname, "../../..")
const read = (file: string) => readFileSync(join(root, file), "utf8")

const rows = read("docs/field-reports.md").split("\n")
  .filter((line) => line.startsWith("| "))
  .slice(2)
  .map((line) => {
    const [report = "", problem = "", tests = ""] = line.slice(2, -2).split(" | ").map((cell) => cell.trim())
    return { report, problem, tests, names: Array.from(tests.matchAll(/`([^`]+)`/g), ([, name]) => name!) }
  })

const sources = [
  "packages/*/test/**/*.ts",
  "packages/testkit/src/conformance/**/*.ts",
  "packages/testkit/src/internal/conformance*.ts",
  "examples/*.test.ts"
].flatMap((pattern) => globSync(pattern, { cwd: root })).filter((file) => !file.endsWith("fieldReports.test.ts")).map(
  read
)
  .join("\n")

describe("the field reports", () => {
  it("are each a test that there is, or have a reason for none", () => {
    for (const { names, problem, report, tests } of rows) {
      assert.isNotEmpty(problem, report)
      if (names.length === 0) assert.match(tests, /^Does not apply: ./, report)
      for (const name of names) {
        assert.isTrue(
          sources.includes(JSON.stringify(name)) || sources.includes(`\`${name}\``),
          `no test has the name ${name} (${report})`
        )
      }
    }
  })

  it("are each there once", () => {
    assert.isAbove(rows.length, 120)
    const reports = rows.map(({ report }) => report)
    assert.deepStrictEqual(reports, [...new Set(reports)])
  })
})
