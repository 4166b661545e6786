import * as Guid from "@effect-rdma/core/Guid"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Result, Schema } from "effect"

const decode = Schema.decodeUnknownResult(Guid.GuidFromString)

const message = (input: unknown): string => {
  const result = decode(input)
  return Result.isFailure(result) ? result.failure.message : "accepted"
}

const guid = Guid.Guid.make(0x0002_c903_00a1_b2c3n)
const bytes = Uint8Array.of(0x00, 0x02, 0xc9, 0x03, 0x00, 0xa1, 0xb2, 0xc3)

describe("Guid", () => {
  it("is 64 bits", () => {
    const result = Schema.decodeResult(Guid.Guid)(1n << 64n)
    assert.strictEqual(
      Result.isFailure(result) ? result.failure.message : "accepted",
      "Expected a value between 0n and 18446744073709551615n"
    )
    assert.throws(() => Guid.Guid.make(-1n))
    assert.isTrue(Result.isFailure(Schema.decodeUnknownResult(Guid.Guid)(7)))
  })

  it("reads both forms that tools print", () => {
    assert.deepStrictEqual(decode("0x0002c90300a1b2c3"), Result.succeed(guid))
    assert.deepStrictEqual(decode("0002:c903:00a1:b2c3"), Result.succeed(guid))
    assert.deepStrictEqual(decode("0X0002C90300A1B2C3"), Result.succeed(guid))
    assert.deepStrictEqual(decode("0002:C903:00A1:B2C3"), Result.succeed(guid))
    assert.deepStrictEqual(decode("0x2c90300a1b2c3"), Result.succeed(guid))
    assert.deepStrictEqual(decode("ffff:ffff:ffff:ffff"), Result.succeed(Guid.Guid.make(0xffff_ffff_ffff_ffffn)))
  })

  it.each([
    "",
    "0x",
    "0x10002c90300a1b2c3",
    "0002c90300a1b2c3",
    "1234567812345678",
    "2:c903:a1:b2c3",
    "0002:c903:00a1",
    "0002:c903:00a1:b2c3:0000",
    "0x0002:c903:00a1:b2c3",
    "00:02:c9:03:00:a1:b2:c3",
    "0002:c903:00a1:b2cg",
    "0002:c903:00a1:b2c3\n"
  ])("refuses %j", (text) => {
    assert.strictEqual(message(text), "Expected a GUID such as 0x0002c90300a1b2c3 or 0002:c903:00a1:b2c3")
  })

  it("refuses what is no text", () => {
    assert.strictEqual(message(1n), "Expected string")
  })

  it("has its bytes in network order", () => {
    assert.deepStrictEqual(Guid.toBytes(guid), bytes)
    assert.strictEqual(Guid.fromBytes(bytes), guid)
    const struct = new Uint8Array(24)
    struct.set(bytes, 13)
    assert.strictEqual(Guid.fromBytes(struct, 13), guid)
    assert.strictEqual(Guid.fromBytes(struct.subarray(8), 5), guid)
    assert.throws(() => Guid.fromBytes(struct.subarray(0, 20), 13), RangeError)
  })

  it("prints both forms with all their zeros", () => {
    assert.strictEqual(Guid.format(guid), "0x0002c90300a1b2c3")
    assert.strictEqual(Guid.formatGroups(guid), "0002:c903:00a1:b2c3")
    assert.strictEqual(Guid.format(Guid.Guid.make(0n)), "0x0000000000000000")
    assert.strictEqual(Guid.formatGroups(Guid.Guid.make(1n)), "0000:0000:0000:0001")
  })

  it.effect.prop("round trips as text, as groups and as bytes", [Guid.Guid], ([guid]) =>
    Effect.gen(function*() {
      const text = yield* Schema.encodeEffect(Guid.GuidFromString)(guid)
      assert.strictEqual(text, Guid.format(guid))
      assert.strictEqual(yield* Schema.decodeEffect(Guid.GuidFromString)(text), guid)
      assert.strictEqual(yield* Schema.decodeEffect(Guid.GuidFromString)(Guid.formatGroups(guid)), guid)
      assert.strictEqual(Guid.fromBytes(Guid.toBytes(guid)), guid)
    }))
})
