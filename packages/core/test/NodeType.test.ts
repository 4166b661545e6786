import * as NodeType from "@effect-rdma/core/NodeType"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Result, Schema } from "effect"

const table = [
  ["unknown", -1, "unknown"],
  ["ca", 1, "InfiniBand channel adapter"],
  ["switch", 2, "InfiniBand switch"],
  ["router", 3, "InfiniBand router"],
  ["rnic", 4, "iWARP NIC"],
  ["usnic", 5, "usNIC"],
  ["usnicUdp", 6, "usNIC UDP"],
  ["unspecified", 7, "unspecified"]
] as const

describe("NodeType", () => {
  it("has the numbers of the C enum", () => {
    assert.deepStrictEqual(table.map(([, native]) => NodeType.fromNative(native)), table.map(([value]) => value))
    assert.deepStrictEqual(table.map(([value]) => NodeType.toNative(value)), table.map(([, native]) => native))
  })

  it("prints what ibv_node_type_str prints", () => {
    assert.deepStrictEqual(table.map(([value]) => NodeType.format(value)), table.map(([, , text]) => text))
    assert.strictEqual(NodeType.format("unknown"), "unknown")
  })

  it("reads a number that it does not know as unknown", () => {
    for (const native of [-2, 99, 0xff]) assert.strictEqual(NodeType.fromNative(native), "unknown")
  })

  it("refuses what is no enumerator", () => {
    const result = Schema.decodeUnknownResult(NodeType.NodeType)("CA")
    assert.include(
      Result.isFailure(result) ? result.failure.message : "accepted",
      "Expected \"unknown\" | "
    )
    assert.isTrue(Result.isFailure(Schema.decodeUnknownResult(NodeType.NodeType)(1)))
  })

  it.effect.prop("round trips", [NodeType.NodeType], ([value]) =>
    Effect.gen(function*() {
      assert.strictEqual(
        yield* Schema.decodeEffect(NodeType.NodeType)(yield* Schema.encodeEffect(NodeType.NodeType)(value)),
        value
      )
      if (value !== "unknown") assert.strictEqual(NodeType.fromNative(NodeType.toNative(value)), value)
    }))
})
