import * as Mtu from "@effect-rdma/core/Mtu"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Result, Schema } from "effect"

describe("Mtu", () => {
  it("has the numbers of enum ibv_mtu", () => {
    assert.deepStrictEqual([1, 2, 3, 4, 5].map(Mtu.fromNative), [256, 512, 1024, 2048, 4096])
    assert.deepStrictEqual(([256, 512, 1024, 2048, 4096] as const).map(Mtu.toNative), [1, 2, 3, 4, 5])
  })

  it("reads a number that it does not know as unknown, bytes included", () => {
    for (const native of [0, 6, 256, 4096]) assert.strictEqual(Mtu.fromNative(native), "unknown")
  })

  it("refuses what is no MTU", () => {
    const decode = Schema.decodeUnknownResult(Mtu.Mtu)
    for (const input of [5, 1500, 9000, "1024", "unknown"]) {
      const result = decode(input)
      assert.strictEqual(
        Result.isFailure(result) ? result.failure.message : "accepted",
        "Expected 256 | 512 | 1024 | 2048 | 4096"
      )
    }
    assert.strictEqual(Mtu.Mtu.make(1024), 1024)
  })

  it("may be unknown only as reported", () => {
    assert.strictEqual(Schema.decodeSync(Mtu.ReportedMtu)("unknown"), "unknown")
    assert.strictEqual(Schema.decodeSync(Mtu.ReportedMtu)(4096), 4096)
    assert.isTrue(Result.isFailure(Schema.decodeUnknownResult(Mtu.ReportedMtu)(1500)))
  })

  it("prints as ibv_devinfo does", () => {
    assert.strictEqual(Mtu.format(4096), "4096")
    assert.strictEqual(Mtu.format("unknown"), "invalid MTU")
  })

  it.effect.prop("round trips", [Mtu.Mtu], ([mtu]) =>
    Effect.gen(function*() {
      assert.strictEqual(yield* Schema.decodeEffect(Mtu.Mtu)(yield* Schema.encodeEffect(Mtu.Mtu)(mtu)), mtu)
      assert.strictEqual(Mtu.fromNative(Mtu.toNative(mtu)), mtu)
      assert.strictEqual(128 << Mtu.toNative(mtu), mtu)
    }))
})
