import * as Identifier from "@effect-rdma/core/Identifier"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Option, Result, Schema } from "effect"

const ranges: ReadonlyArray<readonly [string, Schema.Codec<number, number>, number, number]> = [
  ["Qpn", Identifier.Qpn, 0, 0xff_ffff],
  ["Psn", Identifier.Psn, 0, 0xff_ffff],
  ["QKey", Identifier.QKey, 0, 0xffff_ffff],
  ["ServiceLevel", Identifier.ServiceLevel, 0, 15],
  ["FlowLabel", Identifier.FlowLabel, 0, 0xf_ffff],
  ["TrafficClass", Identifier.TrafficClass, 0, 255],
  ["HopLimit", Identifier.HopLimit, 0, 255],
  ["PathBits", Identifier.PathBits, 0, 127],
  ["GidIndex", Identifier.GidIndex, 0, 255],
  ["PKeyIndex", Identifier.PKeyIndex, 0, 0xffff],
  ["AnyPortNumber", Identifier.AnyPortNumber, 0, 255],
  ["PortNumber", Identifier.PortNumber, 1, 255]
]

const takesAnyPort = (port: Identifier.AnyPortNumber): number => port
const takesPort = (port: Identifier.PortNumber): number => port
const takesPsn = (psn: Identifier.Psn): number => psn

describe("Identifier", () => {
  describe.each(ranges)("%s", (name, schema, minimum, maximum) => {
    const decode = (input: unknown) => Schema.decodeUnknownResult(schema)(input)
    const message = (input: unknown): string => {
      const result = decode(input)
      return Result.isFailure(result) ? result.failure.message : "accepted"
    }

    it("takes both ends of its range and nothing beyond", () => {
      assert.deepStrictEqual(decode(minimum), Result.succeed(minimum))
      assert.deepStrictEqual(decode(maximum), Result.succeed(maximum))
      const expected = `Expected a value between ${minimum} and ${maximum}`
      assert.strictEqual(message(minimum - 1), expected)
      assert.strictEqual(message(maximum + 1), expected)
    })

    it("takes whole numbers only", () => {
      assert.strictEqual(message(1.5), "Expected an integer")
      assert.include(message(Number.NaN), "Expected an integer")
      assert.strictEqual(message("1"), `Expected ${name}`)
      assert.strictEqual(message(1n), `Expected ${name}`)
      assert.strictEqual(message(undefined), `Expected ${name}`)
    })

    it("is what its own constructor makes", () => {
      assert.strictEqual(schema.make(maximum), maximum)
      assert.isTrue(Option.isNone(schema.makeOption(maximum + 1)))
      assert.throws(() => schema.make(minimum - 1))
    })

    it.effect.prop("round trips", [schema], ([value]) =>
      Effect.gen(function*() {
        assert.isTrue(Number.isInteger(value) && value >= minimum && value <= maximum)
        const encoded = yield* Schema.encodeEffect(schema)(value)
        assert.strictEqual(yield* Schema.decodeEffect(schema)(encoded), value)
      }))
  })

  it("a port that carries traffic is a port, not the other way round", () => {
    assert.strictEqual(takesAnyPort(Identifier.PortNumber.make(1)), 1)
    // @ts-expect-error the management port of a switch carries no traffic
    assert.strictEqual(takesPort(Identifier.AnyPortNumber.make(0)), 0)
  })

  it("a QPN is no PSN although both have 24 bits", () => {
    // @ts-expect-error the brands differ
    assert.strictEqual(takesPsn(Identifier.Qpn.make(7)), 7)
    // @ts-expect-error a number has no brand
    assert.strictEqual(takesPsn(7), 7)
  })
})
