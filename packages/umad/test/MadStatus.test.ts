import { assert, describe, it } from "@effect/vitest"
import * as MadStatus from "../src/MadStatus.ts"

describe("MadStatus", () => {
  it("says every part of a status", () => {
    assert.strictEqual(MadStatus.format(0), "success")
    assert.strictEqual(MadStatus.format(0x0001), "busy: try again")
    assert.strictEqual(MadStatus.format(0x0002), "redirected")
    assert.strictEqual(MadStatus.format(0x0004), "the class or its version is not supported")
    assert.strictEqual(MadStatus.format(0x0008), "the method is not supported")
    assert.strictEqual(MadStatus.format(0x000c), "the method is not supported for this attribute")
    assert.strictEqual(MadStatus.format(0x0010), "invalid field 4")
    assert.strictEqual(MadStatus.format(0x001c), "a value of the attribute or its modifier is invalid")
    assert.strictEqual(MadStatus.format(0x0301), "busy: try again, class specific code 3")
  })

  it("names the request in its message", () => {
    const error = new MadStatus.MadStatus({
      mgmtClass: 3,
      method: 0x12,
      attributeId: 0x35,
      lid: 1,
      status: 0x0300,
      mad: new Uint8Array(256)
    })
    assert.strictEqual(
      error.message,
      "method 0x12 of attribute 0x0035, class 0x03, to LID 0x1: status 0x0300 (class specific code 3)"
    )
  })
})
