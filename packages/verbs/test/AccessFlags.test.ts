import { AccessFlags } from "@effect-rdma/verbs"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"

describe("AccessFlags", () => {
  it.prop("every set of flags survives the number of C", {
    mask: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 2047 }))
  }, ({ mask }) => {
    const flags = AccessFlags.all.filter((_, index) => (mask & (1 << index)) !== 0)
    assert.deepStrictEqual(AccessFlags.fromNative(AccessFlags.toNative(flags)), flags)
  })

  it("leaves bits without a name out", () => {
    assert.deepStrictEqual(AccessFlags.fromNative(0x4000_0001), ["localWrite"])
    assert.strictEqual(AccessFlags.toNative([]), 0)
  })

  it.effect("accepts each flag once", () =>
    Effect.gen(function*() {
      const decode = Schema.decodeUnknownEffect(AccessFlags.AccessFlags)
      assert.deepStrictEqual(yield* decode(["remoteRead", "localWrite"]), ["remoteRead", "localWrite"])
      assert.include((yield* Effect.flip(decode(["mwBind", "mwBind"]))).message, "twice")
      assert.include((yield* Effect.flip(decode(["remoteReed"]))).message, "remoteRead")
    }))

  it.effect("what a peer may change the device must be allowed to write", () =>
    Effect.gen(function*() {
      for (const flag of AccessFlags.all) {
        const needsMore = flag === "remoteWrite" || flag === "remoteAtomic"
        const alone = yield* Effect.exit(AccessFlags.ensureAllowed("ibv_reg_mr", [flag]))
        assert.strictEqual(alone._tag, needsMore ? "Failure" : "Success", flag)
        yield* AccessFlags.ensureAllowed("ibv_reg_mr", flag === "localWrite" ? [flag] : ["localWrite", flag])
      }
    }))
})
