import * as LinkLayer from "@effect-rdma/core/LinkLayer"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Result, Schema } from "effect"

const table = [
  ["unspecified", 0, "Unspecified"],
  ["infiniband", 1, "InfiniBand"],
  ["ethernet", 2, "Ethernet"]
] as const

describe("LinkLayer", () => {
  it("has the numbers of the C enum", () => {
    assert.deepStrictEqual(table.map(([, native]) => LinkLayer.fromNative(native)), table.map(([value]) => value))
    assert.deepStrictEqual(table.map(([value]) => LinkLayer.toNative(value)), table.map(([, native]) => native))
  })

  it("prints what ibv_devinfo prints", () => {
    assert.deepStrictEqual(table.map(([value]) => LinkLayer.format(value)), table.map(([, , text]) => text))
    assert.strictEqual(LinkLayer.format("unknown"), "Unknown")
  })

  it("reads a number that it does not know as unknown", () => {
    for (const native of [-2, 99, 0xff]) assert.strictEqual(LinkLayer.fromNative(native), "unknown")
  })

  it("refuses what is no enumerator", () => {
    const result = Schema.decodeUnknownResult(LinkLayer.LinkLayer)("InfiniBand")
    assert.include(
      Result.isFailure(result) ? result.failure.message : "accepted",
      "Expected \"unspecified\" | "
    )
    assert.isTrue(Result.isFailure(Schema.decodeUnknownResult(LinkLayer.LinkLayer)(1)))
  })

  it.effect.prop("round trips", [LinkLayer.LinkLayer], ([value]) =>
    Effect.gen(function*() {
      assert.strictEqual(
        yield* Schema.decodeEffect(LinkLayer.LinkLayer)(yield* Schema.encodeEffect(LinkLayer.LinkLayer)(value)),
        value
      )
      if (value !== "unknown") assert.strictEqual(LinkLayer.fromNative(LinkLayer.toNative(value)), value)
    }))
})
