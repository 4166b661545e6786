import * as PortState from "@effect-rdma/core/PortState"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Result, Schema } from "effect"

const table = [
  ["nop", 0, "no state change (NOP)"],
  ["down", 1, "down"],
  ["init", 2, "init"],
  ["armed", 3, "armed"],
  ["active", 4, "active"],
  ["activeDefer", 5, "active defer"]
] as const

describe("PortState", () => {
  it("has the numbers of the C enum", () => {
    assert.deepStrictEqual(table.map(([, native]) => PortState.fromNative(native)), table.map(([value]) => value))
    assert.deepStrictEqual(table.map(([value]) => PortState.toNative(value)), table.map(([, native]) => native))
  })

  it("prints what ibv_port_state_str prints", () => {
    assert.deepStrictEqual(table.map(([value]) => PortState.format(value)), table.map(([, , text]) => text))
    assert.strictEqual(PortState.format("unknown"), "unknown")
  })

  it("reads a number that it does not know as unknown", () => {
    for (const native of [-2, 99, 0xff]) assert.strictEqual(PortState.fromNative(native), "unknown")
  })

  it("refuses what is no enumerator", () => {
    const result = Schema.decodeUnknownResult(PortState.PortState)("PORT_ACTIVE")
    assert.include(
      Result.isFailure(result) ? result.failure.message : "accepted",
      "Expected \"nop\" | "
    )
    assert.isTrue(Result.isFailure(Schema.decodeUnknownResult(PortState.PortState)(1)))
  })

  it.effect.prop("round trips", [PortState.PortState], ([value]) =>
    Effect.gen(function*() {
      assert.strictEqual(
        yield* Schema.decodeEffect(PortState.PortState)(yield* Schema.encodeEffect(PortState.PortState)(value)),
        value
      )
      if (value !== "unknown") assert.strictEqual(PortState.fromNative(PortState.toNative(value)), value)
    }))
})
