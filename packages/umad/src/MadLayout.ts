/**
 * Bytes to values and back by one table of fields: from the table follow the type, the decoder, the encoder and the
 * schema of a MAD or an attribute.
 *
 * Pure, and no input makes it throw: bytes that are too few and values that do not fit are a `SchemaError`. Reserved bits
 * are not kept: decoding does not look at them, encoding makes them zero, as the InfiniBand specification asks of a
 * sender. So `decode` of `encode` is the same value, and `encode` of `decode` is the same bytes but for reserved bits and
 * what stands behind the NUL of a text.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as SchemaIssue from "effect/SchemaIssue"
import * as SchemaTransformation from "effect/SchemaTransformation"
import * as MadField from "./MadField.ts"

/**
 * The fields of a layout by their names.
 *
 * @category models
 * @since 0.1.0
 */
export type Fields = { readonly [name: string]: MadField.MadField<unknown> }

/**
 * The value that some fields make.
 *
 * @category models
 * @since 0.1.0
 */
export type Record<F extends Fields> = { readonly [K in keyof F]: MadField.Value<F[K]> }

/**
 * The layout of a MAD or an attribute.
 *
 * @category models
 * @since 0.1.0
 */
export interface MadLayout<F extends Fields> {
  /** The name in the InfiniBand specification. */
  readonly name: string
  /** How many bytes it has. */
  readonly size: number
  readonly fields: F
  /** Bytes to value and back, for use inside other schemas. */
  readonly schema: Schema.Codec<Record<F>, Uint8Array>
  /** Reads the value at a byte; what is behind its end is not looked at. */
  decode(bytes: Uint8Array, offset?: number): Result.Result<Record<F>, Schema.SchemaError>
  /** Makes `size` bytes. A field that is left out is zero, which is what a query sends for what it does not know. */
  encode(values: Partial<Record<F>>): Result.Result<Uint8Array, Schema.SchemaError>
}

/**
 * The value of a layout: `MadLayout.Type<typeof NodeInfo>`.
 *
 * @category models
 * @since 0.1.0
 */
export type Type<L> = L extends MadLayout<infer F> ? Record<F> : never

/**
 * A layout from its name, its size in bytes and its fields.
 *
 * ```ts
 * import { MadField, MadLayout } from "@effect-rdma/umad"
 * import { Result } from "effect"
 *
 * const Pair = MadLayout.make("Pair", 2, { high: MadField.unsigned(0, 4), rest: MadField.unsigned(4, 12) })
 *
 * const bytes = Result.getOrThrow(Pair.encode({ high: 0xa, rest: 0xbcd }))
 * [...bytes] // => [0xab, 0xcd]
 * Result.getOrThrow(Pair.decode(bytes)).rest // => 0xbcd
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = <const F extends Fields>(name: string, size: number, fields: F): MadLayout<F> => {
  const entries = Object.entries<MadField.MadField<unknown>>(fields)
  checkFields(name, size, entries)
  const read = reader<F>(entries)
  const write = writer<F>(entries)
  const decode = (bytes: Uint8Array, offset = 0): Result.Result<Record<F>, Schema.SchemaError> =>
    // The comparison fails for NaN too.
    offset >= 0 && offset + size <= bytes.length
      ? Result.succeed(read(new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength), offset))
      : Result.fail(
        new Schema.SchemaError(
          new SchemaIssue.InvalidValue(
            { message: `${name} has ${size} bytes; there are not as many at ${offset} of ${bytes.length}` },
            bytes
          )
        )
      )
  const encode = (values: Partial<Record<F>>): Result.Result<Uint8Array, Schema.SchemaError> => {
    const bytes = new Uint8Array(size)
    const misfits = write(new DataView(bytes.buffer), values)
    if (misfits === undefined) return Result.succeed(bytes)
    const [key, field] = entries[misfits]!
    return Result.fail(new Schema.SchemaError(misfit(key, field, values[key])))
  }
  return { name, size, fields, schema: codec(decode, encode, entries), decode, encode }
}

/**
 * The fields of another layout, `bytes` bytes further behind: what a record of subnet administration holds of an
 * attribute.
 *
 * @category combinators
 * @since 0.1.0
 */
export const moved = <F extends Fields>(fields: F, bytes: number): F =>
  Object.fromEntries(Object.entries(fields).map(([key, field]) => [key, MadField.moved(field, bytes)])) as F

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

type Entries = ReadonlyArray<readonly [name: string, field: MadField.MadField<unknown>]>

const checkFields = (name: string, size: number, entries: Entries): void => {
  for (const [key, field] of entries) {
    if (!/^[a-z][A-Za-z0-9]*$/.test(key)) throw new RangeError(`${name}: ${key} is no name of a field`)
    if (field.bit + field.width > 8 * size) throw new RangeError(`${name}: ${key} ends behind ${size} bytes`)
  }
}

/**
 * A function that returns one object literal. A loop that adds the fields of a PortInfo one by one takes 3 µs, since
 * every store looks up its key anew; the literal takes a tenth of it. The text is made of nothing but the tables' names.
 */
const reader = <F extends Fields>(entries: Entries): (view: DataView, base: number) => Record<F> => {
  const members = entries.map(([key], index) => `${key}: fields[${index}].get(view, base)`)
  const compile = new Function("fields", `return (view, base) => ({ ${members.join(", ")} })`)
  return compile(entries.map(([, field]) => field))
}

/** As {@link reader}, the other way: gives the index of the first field whose value does not fit. */
const writer = <F extends Fields>(
  entries: Entries
): (view: DataView, values: Partial<Record<F>>) => number | undefined => {
  // Each is read once: a getter may give another value the second time.
  const statements = entries.map(([key], index) =>
    `const value${index} = values.${key}
    if (value${index} !== undefined) {
      if (!fields[${index}].fits(value${index})) return ${index}
      fields[${index}].set(view, 0, value${index})
    }`
  )
  const compile = new Function("fields", `return (view, values) => { ${statements.join("\n")} }`)
  return compile(entries.map(([, field]) => field))
}

const misfit = (key: string, field: MadField.MadField<unknown>, value: unknown): SchemaIssue.Issue =>
  new SchemaIssue.Pointer(
    [key],
    new SchemaIssue.InvalidValue({ message: `${String(value)} does not fit into the ${field.width} bits` }, value)
  )

const codec = <F extends Fields>(
  decode: MadLayout<F>["decode"],
  encode: MadLayout<F>["encode"],
  entries: Entries
): MadLayout<F>["schema"] => {
  const issueOf = Effect.mapError((error: Schema.SchemaError) => error.issue)
  const value = Schema.Struct(Object.fromEntries(entries.map(([key, field]) => [key, field.schema])))
  return Schema.Uint8Array.pipe(Schema.decodeTo(
    value as unknown as Schema.Codec<Record<F>>,
    SchemaTransformation.transformEffect<Record<F>, Uint8Array>({
      decode: (bytes) => issueOf(Effect.fromResult(decode(bytes))),
      encode: (value) => issueOf(Effect.fromResult(encode(value)))
    })
  ))
}
