import { assert, describe, it } from "@effect/vitest"
import * as Pointer from "../src/Pointer.ts"

describe("Pointer", () => {
  it("keeps the address", () => {
    const pointer: Pointer.Pointer<"ibv_pd"> = Pointer.make<"ibv_pd">(0x7f00_0000_0010n)
    assert.strictEqual(pointer + 8n, 0x7f00_0000_0018n)
  })

  it("is never NULL", () => {
    assert.throws(() => Pointer.make(0n), RangeError)
    assert.throws(() => Pointer.make(null), RangeError)
    assert.isTrue(Pointer.isNull(0n))
    assert.isTrue(Pointer.isNull(null))
    assert.isFalse(Pointer.isNull(1n))
  })
})
