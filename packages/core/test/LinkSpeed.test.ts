import * as LinkSpeed from "@effect-rdma/core/LinkSpeed"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Result, Schema } from "effect"

const table = [
  ["sdr", 1, "SDR"],
  ["ddr", 2, "DDR"],
  ["qdr", 4, "QDR"],
  ["fdr10", 8, "FDR10"],
  ["fdr", 16, "FDR"],
  ["edr", 32, "EDR"],
  ["hdr", 64, "HDR"],
  ["ndr", 128, "NDR"]
] as const

describe("LinkSpeed", () => {
  it("has the numbers of the C enum", () => {
    assert.deepStrictEqual(table.map(([, native]) => LinkSpeed.fromNative(native)), table.map(([value]) => value))
    assert.deepStrictEqual(table.map(([value]) => LinkSpeed.toNative(value)), table.map(([, native]) => native))
  })

  it("prints what ibnetdiscover prints", () => {
    assert.deepStrictEqual(table.map(([value]) => LinkSpeed.format(value)), table.map(([, , text]) => text))
    assert.deepStrictEqual(table.map(([, , text]) => LinkSpeed.fromText(text)), table.map(([value]) => value))
    assert.strictEqual(LinkSpeed.fromText("?"), "unknown")
    assert.strictEqual(LinkSpeed.format("unknown"), "???")
  })

  it("reads a number that it does not know as unknown", () => {
    for (const native of [-2, 0, 3, 99, 0xff]) assert.strictEqual(LinkSpeed.fromNative(native), "unknown")
  })

  it("has the rate of a lane", () => {
    assert.deepStrictEqual(
      table.map(([value]) => LinkSpeed.gigabitsPerLane(value)),
      [2.5, 5, 10, 10, 14, 25, 50, 100]
    )
    assert.strictEqual(LinkSpeed.gigabitsPerLane("unknown"), 0)
  })

  it("refuses what is no enumerator", () => {
    const result = Schema.decodeUnknownResult(LinkSpeed.LinkSpeed)("Sdr")
    assert.include(
      Result.isFailure(result) ? result.failure.message : "accepted",
      "Expected \"sdr\" | "
    )
    assert.isTrue(Result.isFailure(Schema.decodeUnknownResult(LinkSpeed.LinkSpeed)(1)))
  })

  it.effect.prop("round trips", [LinkSpeed.LinkSpeed], ([value]) =>
    Effect.gen(function*() {
      assert.strictEqual(
        yield* Schema.decodeEffect(LinkSpeed.LinkSpeed)(
          yield* Schema.encodeEffect(LinkSpeed.LinkSpeed)(value)
        ),
        value
      )
      if (value !== "unknown") assert.strictEqual(LinkSpeed.fromNative(LinkSpeed.toNative(value)), value)
    }))
})
