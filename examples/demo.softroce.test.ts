import { assert, describe, it } from "@effect/vitest"
import { runDemo } from "./runDemo.ts"

describe("demo --live", () => {
  it("shows verbs, the connection manager and the port on Soft-RoCE, and nothing left", () => {
    const { output, status } = runDemo("--live")
    assert.strictEqual(status, 0, output)
    assert.notInclude(output, "not to be had")
    for (const made of ["an address handle to ::ffff:10.0.0.1", "a CM id", "a umad port"]) {
      assert.include(output, `+ ${made}\n`)
      assert.include(output, `- ${made}\n`)
    }
    assert.match(output, /\n  0 alive; (\d+) acquired and \1 released so far\n$/)
  }, 120_000)
})
