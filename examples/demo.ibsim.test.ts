import { assert, describe, it } from "@effect/vitest"
import { runDemo } from "./runDemo.ts"

describe("demo --live", () => {
  it("shows the port on ibsim, says what is not there, and leaves nothing", () => {
    const { output, status } = runDemo("--live")
    assert.strictEqual(status, 0, output)
    assert.include(output, "libibverbs is not to be had here")
    assert.include(output, "librdmacm is not to be had here")
    assert.include(output, "+ a umad port\n")
    assert.include(output, "port 1 is active")
    assert.match(output, /\n  0 alive; (\d+) acquired and \1 released so far\n$/)
  }, 60_000)
})
