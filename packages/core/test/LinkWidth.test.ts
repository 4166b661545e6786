import * as LinkWidth from "@effect-rdma/core/LinkWidth"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Result, Schema } from "effect"

const table = [["1x", 1, "1x"], ["4x", 2, "4x"], ["8x", 4, "8x"], ["12x", 8, "12x"], ["2x", 16, "2x"]] as const

describe("LinkWidth", () => {
  it("has the numbers of the C enum", () => {
    assert.deepStrictEqual(table.map(([, native]) => LinkWidth.fromNative(native)), table.map(([value]) => value))
    assert.deepStrictEqual(table.map(([value]) => LinkWidth.toNative(value)), table.map(([, native]) => native))
  })

  it("prints what ibnetdiscover prints", () => {
    assert.deepStrictEqual(table.map(([value]) => LinkWidth.format(value)), table.map(([, , text]) => text))
    assert.deepStrictEqual(table.map(([, , text]) => LinkWidth.fromText(text)), table.map(([value]) => value))
    assert.strictEqual(LinkWidth.fromText("?"), "unknown")
    assert.strictEqual(LinkWidth.format("unknown"), "??")
  })

  it("reads a number that it does not know as unknown", () => {
    for (const native of [-2, 0, 3, 99, 0xff]) assert.strictEqual(LinkWidth.fromNative(native), "unknown")
  })

  it("has lanes", () => {
    assert.deepStrictEqual(table.map(([value]) => LinkWidth.lanes(value)), [1, 4, 8, 12, 2])
    assert.strictEqual(LinkWidth.lanes("unknown"), 0)
  })

  it("refuses what is no enumerator", () => {
    const result = Schema.decodeUnknownResult(LinkWidth.LinkWidth)("4X")
    assert.include(
      Result.isFailure(result) ? result.failure.message : "accepted",
      "Expected \"1x\" | "
    )
    assert.isTrue(Result.isFailure(Schema.decodeUnknownResult(LinkWidth.LinkWidth)(1)))
  })

  it.effect.prop("round trips", [LinkWidth.LinkWidth], ([value]) =>
    Effect.gen(function*() {
      assert.strictEqual(
        yield* Schema.decodeEffect(LinkWidth.LinkWidth)(
          yield* Schema.encodeEffect(LinkWidth.LinkWidth)(value)
        ),
        value
      )
      if (value !== "unknown") assert.strictEqual(LinkWidth.fromNative(LinkWidth.toNative(value)), value)
    }))
})
