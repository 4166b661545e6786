import { assert, describe, it } from "@effect/vitest"
import { runDemo } from "./runDemo.ts"

describe("demo", () => {
  it("shows every resource in memory, one failure, and nothing left", () => {
    const { output, status } = runDemo()
    assert.strictEqual(status, 0, output)
    for (
      const made of [
        "a protection domain",
        "an address handle to ::ffff:10.0.0.2",
        "a resource domain",
        "a CM id",
        "a umad port"
      ]
    ) {
      assert.include(output, `+ ${made}\n`)
      assert.include(output, `- ${made}\n`)
    }
    assert.match(output, /ibv_create_ah \(portNum 1, .*\): ENOMEM \(12\)/)
    assert.match(output, /\n  0 alive; (\d+) acquired and \1 released so far\n$/)
  }, 60_000)
})
