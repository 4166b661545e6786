import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as SchemaIssue from "effect/SchemaIssue"
import * as SchemaTransformation from "effect/SchemaTransformation"

// No leading zero: C tools read 010 as eight (strtol with base 0), people read it as ten.
const integer = /^(?:0x[0-9a-f]+|0|[1-9][0-9]*)$/i

/**
 * Decimal or 0x text to integer; encodes as 0x with at least `digits` digits.
 *
 * @internal
 */
export const integerFromString = (what: string, digits: number) =>
  Schema.String.pipe(Schema.decodeTo(
    Schema.Int,
    SchemaTransformation.transformEffect<number, string>({
      decode: (text, options) =>
        integer.test(text)
          ? Effect.succeed(Number(text))
          : Effect.fail(
            new SchemaIssue.InvalidValue({ expected: `${what} as decimal or 0x hexadecimal text` }, text, options)
          ),
      encode: (value) => Effect.succeed(hexadecimal(value, digits))
    })
  ))

/** @internal */
export const hexadecimal = (value: number | bigint, digits: number): string =>
  `0x${value.toString(16).padStart(digits, "0")}`
