import * as Lid from "@effect-rdma/core/Lid"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Result, Schema } from "effect"

const decode = Schema.decodeUnknownResult(Lid.LidFromString)

const message = (input: unknown): string => {
  const result = decode(input)
  return Result.isFailure(result) ? result.failure.message : "accepted"
}

describe("Lid", () => {
  it("is 16 bits", () => {
    assert.strictEqual<number>(Lid.Lid.make(5), 5)
    const lid = Schema.decodeUnknownResult(Lid.Lid)
    const result = lid(0x1_0000)
    assert.strictEqual(
      Result.isFailure(result) ? result.failure.message : "accepted",
      "Expected a value between 0 and 65535"
    )
    assert.isTrue(Result.isFailure(lid(-1)))
    assert.isTrue(Result.isFailure(lid("0x1a")))
  })

  it("reads what sysfs and ibstat print", () => {
    assert.deepStrictEqual(decode("0x1a"), Result.succeed(Lid.Lid.make(26)))
    assert.deepStrictEqual(decode("0X001A"), Result.succeed(Lid.Lid.make(26)))
    assert.deepStrictEqual(decode("26"), Result.succeed(Lid.Lid.make(26)))
    assert.deepStrictEqual(decode("0"), Result.succeed(Lid.Lid.make(0)))
    assert.deepStrictEqual(decode("0xffff"), Result.succeed(Lid.permissive))
  })

  it.each(["", "0x", "1a", "-1", "+1", " 1", "1\n", "1.0", "1e3", "0b1", "0x1g"])("refuses %j as no number", (text) => {
    assert.strictEqual(message(text), "Expected a LID as decimal or 0x hexadecimal text")
  })

  it("refuses a leading zero, which C reads as octal", () => {
    assert.strictEqual(message("010"), "Expected a LID as decimal or 0x hexadecimal text")
  })

  it("refuses a number that is no LID", () => {
    assert.strictEqual(message("65536"), "Expected a value between 0 and 65535")
    assert.strictEqual(message("0x10000"), "Expected a value between 0 and 65535")
    assert.include(message(`0x${"f".repeat(400)}`), "Expected")
    assert.strictEqual(message(26), "Expected string")
  })

  it.effect.prop("round trips as text", [Lid.Lid], ([lid]) =>
    Effect.gen(function*() {
      const text = yield* Schema.encodeEffect(Lid.LidFromString)(lid)
      assert.strictEqual(text, Lid.format(lid))
      assert.strictEqual(yield* Schema.decodeEffect(Lid.LidFromString)(text), lid)
      assert.strictEqual(yield* Schema.decodeEffect(Lid.LidFromString)(`${lid}`), lid)
    }))

  it.each(
    [
      [0x0000, "none"],
      [0x0001, "unicast"],
      [0xbfff, "unicast"],
      [0xc000, "multicast"],
      [0xfffe, "multicast"],
      [0xffff, "none"]
    ] as const
  )("%i is %s", (value, kind) => {
    const lid = Lid.Lid.make(value)
    assert.strictEqual(Lid.isUnicast(lid), kind === "unicast")
    assert.strictEqual(Lid.isMulticast(lid), kind === "multicast")
  })

  it("prints as sysfs does", () => {
    assert.strictEqual(Lid.format(Lid.Lid.make(26)), "0x1a")
    assert.strictEqual(Lid.format(Lid.permissive), "0xffff")
  })
})
