import * as PKey from "@effect-rdma/core/PKey"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Result, Schema } from "effect"

const decode = Schema.decodeUnknownResult(PKey.PKeyFromString)

const message = (input: unknown): string => {
  const result = decode(input)
  return Result.isFailure(result) ? result.failure.message : "accepted"
}

const pkey = PKey.PKey.make

describe("PKey", () => {
  it("is 16 bits", () => {
    assert.strictEqual<number>(pkey(0), 0)
    const result = Schema.decodeResult(PKey.PKey)(0x1_0000)
    assert.strictEqual(
      Result.isFailure(result) ? result.failure.message : "accepted",
      "Expected a value between 0 and 65535"
    )
  })

  it("reads what sysfs prints, and decimal", () => {
    assert.deepStrictEqual(decode("0xffff"), Result.succeed(PKey.defaultFull))
    assert.deepStrictEqual(decode("0x7FFF"), Result.succeed(PKey.defaultLimited))
    assert.deepStrictEqual(decode("32769"), Result.succeed(pkey(0x8001)))
  })

  it("refuses other text", () => {
    assert.strictEqual(message("ffff"), "Expected a P_Key as decimal or 0x hexadecimal text")
    assert.strictEqual(message(""), "Expected a P_Key as decimal or 0x hexadecimal text")
    assert.strictEqual(message("0x10000"), "Expected a value between 0 and 65535")
    assert.strictEqual(message(0xffff), "Expected string")
  })

  it.effect.prop("round trips as text", [PKey.PKey], ([key]) =>
    Effect.gen(function*() {
      const text = yield* Schema.encodeEffect(PKey.PKeyFromString)(key)
      assert.match(text, /^0x[0-9a-f]{4}$/)
      assert.strictEqual(text, PKey.format(key))
      assert.strictEqual(yield* Schema.decodeEffect(PKey.PKeyFromString)(text), key)
    }))

  it("tells membership from partition", () => {
    assert.isTrue(PKey.isFull(PKey.defaultFull))
    assert.isFalse(PKey.isFull(PKey.defaultLimited))
    assert.strictEqual(PKey.partition(PKey.defaultFull), 0x7fff)
    assert.strictEqual(PKey.partition(PKey.defaultLimited), 0x7fff)
    assert.strictEqual(PKey.partition(pkey(0x8001)), 1)
  })

  it.each(
    [
      [0x8001, 0x8001, true],
      [0x8001, 0x0001, true],
      [0x0001, 0x0001, false],
      [0x8001, 0x8002, false],
      [0x8000, 0x8000, false],
      [0x8000, 0x0000, false]
    ] as const
  )("%i and %i match: %s", (self, that, expected) => {
    assert.strictEqual(PKey.matches(pkey(self), pkey(that)), expected)
    assert.strictEqual(PKey.matches(pkey(that), pkey(self)), expected)
  })
})
