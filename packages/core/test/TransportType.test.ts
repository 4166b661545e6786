import * as TransportType from "@effect-rdma/core/TransportType"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Result, Schema } from "effect"

const table = [
  ["unknown", -1, "invalid transport"],
  ["ib", 0, "InfiniBand"],
  ["iwarp", 1, "iWARP"],
  ["usnic", 2, "usNIC"],
  ["usnicUdp", 3, "usNIC UDP"],
  ["unspecified", 4, "unspecified"]
] as const

describe("TransportType", () => {
  it("has the numbers of the C enum", () => {
    assert.deepStrictEqual(table.map(([, native]) => TransportType.fromNative(native)), table.map(([value]) => value))
    assert.deepStrictEqual(table.map(([value]) => TransportType.toNative(value)), table.map(([, native]) => native))
  })

  it("prints what ibv_devinfo prints", () => {
    assert.deepStrictEqual(table.map(([value]) => TransportType.format(value)), table.map(([, , text]) => text))
    assert.strictEqual(TransportType.format("unknown"), "invalid transport")
  })

  it("reads a number that it does not know as unknown", () => {
    for (const native of [-2, 99, 0xff]) assert.strictEqual(TransportType.fromNative(native), "unknown")
  })

  it("refuses what is no enumerator", () => {
    const result = Schema.decodeUnknownResult(TransportType.TransportType)("InfiniBand")
    assert.include(
      Result.isFailure(result) ? result.failure.message : "accepted",
      "Expected \"unknown\" | "
    )
    assert.isTrue(Result.isFailure(Schema.decodeUnknownResult(TransportType.TransportType)(1)))
  })

  it.effect.prop("round trips", [TransportType.TransportType], ([value]) =>
    Effect.gen(function*() {
      assert.strictEqual(
        yield* Schema.decodeEffect(TransportType.TransportType)(
          yield* Schema.encodeEffect(TransportType.TransportType)(value)
        ),
        value
      )
      if (value !== "unknown") assert.strictEqual(TransportType.fromNative(TransportType.toNative(value)), value)
    }))
})
