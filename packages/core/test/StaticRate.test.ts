import * as StaticRate from "@effect-rdma/core/StaticRate"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Result, Schema } from "effect"

// enum ibv_rate, and what ibv_rate_to_mbps and ibv_rate_to_mult of libibverbs 44 answered for each
const table = [
  ["max", 0, -1, -1],
  ["2.5Gbps", 2, 2500, 1],
  ["10Gbps", 3, 10000, 4],
  ["30Gbps", 4, 30000, 12],
  ["5Gbps", 5, 5000, 2],
  ["20Gbps", 6, 20000, 8],
  ["40Gbps", 7, 40000, 16],
  ["60Gbps", 8, 60000, 24],
  ["80Gbps", 9, 80000, 32],
  ["120Gbps", 10, 120000, 48],
  ["14Gbps", 11, 14062, -1],
  ["56Gbps", 12, 56250, -1],
  ["112Gbps", 13, 112500, -1],
  ["168Gbps", 14, 168750, -1],
  ["25Gbps", 15, 25781, -1],
  ["100Gbps", 16, 103125, -1],
  ["200Gbps", 17, 206250, -1],
  ["300Gbps", 18, 309375, -1],
  ["28Gbps", 19, 28125, 11],
  ["50Gbps", 20, 53125, 20],
  ["400Gbps", 21, 425000, 160],
  ["600Gbps", 22, 637500, 240],
  ["800Gbps", 23, 850000, 320],
  ["1200Gbps", 24, 1275000, 480]
] as const

describe("StaticRate", () => {
  it("has the numbers of enum ibv_rate", () => {
    assert.deepStrictEqual(table.map(([, native]) => StaticRate.fromNative(native)), table.map(([rate]) => rate))
    assert.deepStrictEqual(table.map(([rate]) => StaticRate.toNative(rate)), table.map(([, native]) => native))
    assert.strictEqual(StaticRate.StaticRate.literals.length, table.length)
  })

  it("reads a number that it does not know as unknown", () => {
    for (const native of [1, 25, 255, -1]) assert.strictEqual(StaticRate.fromNative(native), "unknown")
  })

  it("converts to Mbps and to multiples of 2.5 Gbps as libibverbs does", () => {
    assert.deepStrictEqual(table.map(([rate]) => StaticRate.toMbps(rate)), table.map(([, , mbps]) => mbps))
    assert.deepStrictEqual(table.map(([rate]) => StaticRate.toMultiplier(rate)), table.map(([, , , mult]) => mult))
  })

  it("converts back, with max where there is no such rate", () => {
    assert.strictEqual(StaticRate.fromMbps(103125), "100Gbps")
    assert.strictEqual(StaticRate.fromMbps(100000), "max")
    assert.strictEqual(StaticRate.fromMbps(-1), "max")
    assert.strictEqual(StaticRate.fromMultiplier(1), "2.5Gbps")
    assert.strictEqual(StaticRate.fromMultiplier(11), "28Gbps")
    assert.strictEqual(StaticRate.fromMultiplier(3), "max")
    assert.strictEqual(StaticRate.fromMultiplier(-1), "max")
  })

  it("refuses what is no rate", () => {
    for (const input of ["100", "1Gbps", 100, "unknown"]) {
      const result = Schema.decodeUnknownResult(StaticRate.StaticRate)(input)
      assert.include(
        Result.isFailure(result) ? result.failure.message : "accepted",
        "Expected \"max\" | \"2.5Gbps\" | "
      )
    }
  })

  it("may be unknown only as reported", () => {
    assert.strictEqual(Schema.decodeSync(StaticRate.ReportedStaticRate)("unknown"), "unknown")
    assert.isTrue(Result.isFailure(Schema.decodeUnknownResult(StaticRate.ReportedStaticRate)("1Gbps")))
  })

  it.effect.prop("round trips, through Mbps too", [StaticRate.StaticRate], ([rate]) =>
    Effect.gen(function*() {
      const encoded = yield* Schema.encodeEffect(StaticRate.StaticRate)(rate)
      assert.strictEqual(yield* Schema.decodeEffect(StaticRate.StaticRate)(encoded), rate)
      assert.strictEqual(StaticRate.fromNative(StaticRate.toNative(rate)), rate)
      assert.strictEqual(StaticRate.fromMbps(StaticRate.toMbps(rate)), rate)
    }))
})
