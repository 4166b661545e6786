import * as Errno from "@effect-rdma/core/Errno"
import * as NativeReason from "@effect-rdma/core/NativeReason"
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"

describe("NativeReason", () => {
  it("every errno becomes a reason of its own name, or an unknown one that keeps the number", () => {
    for (const { name, number } of Errno.all) {
      const reason = NativeReason.fromErrno(number)
      assert.strictEqual(reason.errno, number)
      if (reason._tag !== "UnknownErrno") {
        assert.strictEqual(reason._tag, name === "ENOSYS" ? "EOPNOTSUPP" : name)
        assert.strictEqual(reason.message, Errno.format(number))
      }
    }
    assert.strictEqual(NativeReason.fromErrno(16)._tag, "EBUSY")
    assert.strictEqual(NativeReason.fromErrno(95)._tag, "EOPNOTSUPP")
    assert.strictEqual(NativeReason.fromErrno(38)._tag, "EOPNOTSUPP")
  })

  it("an unknown number and no number stay what they are", () => {
    const unknown = NativeReason.fromErrno(4711)
    assert.strictEqual(unknown._tag, "UnknownErrno")
    assert.strictEqual(unknown.errno, 4711)
    assert.strictEqual(NativeReason.fromErrno(0).message, "unknown cause (errno 0)")
  })

  it("travels as JSON", () => {
    const reason = NativeReason.fromErrno(12)
    const json = JSON.parse(JSON.stringify(Schema.encodeSync(NativeReason.NativeReason)(reason)))
    const back = Schema.decodeSync(NativeReason.NativeReason)(json)
    assert.instanceOf(back, NativeReason.ENOMEM)
  })
})
