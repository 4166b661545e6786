import * as Enumeration from "@effect-rdma/core/Enumeration"
import { assert, describe, it } from "@effect/vitest"
import { Result, Schema } from "effect"

const colour = Enumeration.make("Colour", [["none", -1, "no colour"], ["red", 1, "Red"], ["green", 2, "Green"]], "???")

const withOwnUnknown = Enumeration.make("Kind", [["unknown", -1, "not known"], ["disk", 1, "Disk"]])

const message = (result: Result.Result<unknown, Schema.SchemaError>): string =>
  Result.isFailure(result) ? result.failure.message : "accepted"

describe("Enumeration", () => {
  it("goes from number to literal and back", () => {
    assert.deepStrictEqual(colour.values, ["none", "red", "green"])
    assert.deepStrictEqual([-1, 1, 2].map(colour.fromNative), ["none", "red", "green"])
    assert.deepStrictEqual(colour.values.map(colour.toNative), [-1, 1, 2])
  })

  it("reads a negative enumerator from its u32 too", () => {
    assert.strictEqual(colour.fromNative(0xffff_ffff), "none")
    assert.strictEqual(colour.fromNative(0xffff_fffe), "unknown")
  })

  it("reads any other number as unknown", () => {
    for (const native of [0, 3, -2, 1.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53]) {
      assert.strictEqual(colour.fromNative(native), "unknown")
    }
  })

  it("prints the text of the table, and the given one for what is not in it", () => {
    assert.strictEqual(colour.format("red"), "Red")
    assert.strictEqual(colour.format("unknown"), "???")
    assert.strictEqual(withOwnUnknown.format("unknown"), "not known")
  })

  it("writes only what is in the table", () => {
    assert.strictEqual(withOwnUnknown.toNative("unknown"), -1)
    // @ts-expect-error "unknown" has no number in this table
    assert.throws(() => colour.toNative("unknown"), RangeError, "Colour has no native value for unknown")
  })

  it("has a schema of what can be written and one of what can be read", () => {
    assert.strictEqual(colour.schema.make("red"), "red")
    assert.strictEqual(
      message(Schema.decodeUnknownResult(colour.schema)("unknown")),
      "Expected \"none\" | \"red\" | \"green\""
    )
    assert.strictEqual(
      message(Schema.decodeUnknownResult(colour.reported)("blue")),
      "Expected \"none\" | \"red\" | \"green\" | \"unknown\""
    )
    assert.strictEqual(Schema.decodeSync(colour.reported)("unknown"), "unknown")
    assert.deepStrictEqual(withOwnUnknown.reported.literals, ["unknown", "disk"])
  })

  it.prop("what is written is read back", [colour.schema], ([value]) => {
    assert.strictEqual(colour.fromNative(colour.toNative(value)), value)
  })
})
