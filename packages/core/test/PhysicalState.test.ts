import * as PhysicalState from "@effect-rdma/core/PhysicalState"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Result, Schema } from "effect"

const table = [
  ["nop", 0, "No state change"],
  ["sleep", 1, "Sleep"],
  ["polling", 2, "Polling"],
  ["disabled", 3, "Disabled"],
  ["portConfigurationTraining", 4, "PortConfigurationTraining"],
  ["linkUp", 5, "LinkUp"],
  ["linkErrorRecovery", 6, "LinkErrorRecovery"],
  ["phyTest", 7, "PhyTest"]
] as const

describe("PhysicalState", () => {
  it("has the numbers of the C enum", () => {
    assert.deepStrictEqual(table.map(([, native]) => PhysicalState.fromNative(native)), table.map(([value]) => value))
    assert.deepStrictEqual(table.map(([value]) => PhysicalState.toNative(value)), table.map(([, native]) => native))
  })

  it("prints what ibstat prints", () => {
    assert.deepStrictEqual(table.map(([value]) => PhysicalState.format(value)), table.map(([, , text]) => text))
    assert.strictEqual(PhysicalState.format("unknown"), "???")
  })

  it("reads a number that it does not know as unknown", () => {
    for (const native of [-2, 99, 0xff]) assert.strictEqual(PhysicalState.fromNative(native), "unknown")
  })

  it("refuses what is no enumerator", () => {
    const result = Schema.decodeUnknownResult(PhysicalState.PhysicalState)("LinkUp")
    assert.include(
      Result.isFailure(result) ? result.failure.message : "accepted",
      "Expected \"nop\" | "
    )
    assert.isTrue(Result.isFailure(Schema.decodeUnknownResult(PhysicalState.PhysicalState)(1)))
  })

  it.effect.prop("round trips", [PhysicalState.PhysicalState], ([value]) =>
    Effect.gen(function*() {
      assert.strictEqual(
        yield* Schema.decodeEffect(PhysicalState.PhysicalState)(
          yield* Schema.encodeEffect(PhysicalState.PhysicalState)(value)
        ),
        value
      )
      if (value !== "unknown") assert.strictEqual(PhysicalState.fromNative(PhysicalState.toNative(value)), value)
    }))
})
