/**
 * One field of a MAD or of an attribute: where it is, what it holds, and how it is read and written. Bits are counted as
 * the InfiniBand specification draws them: bit 0 is the most significant one of the first byte.
 *
 * Pure. A field of `width` bits lies within one aligned word of 8, 16 or 32 bits, or is made of whole bytes.
 *
 * @since 0.1.0
 */
import type * as Enumeration from "@effect-rdma/core/Enumeration"
import * as Gid from "@effect-rdma/core/Gid"
import * as Schema from "effect/Schema"
import * as SchemaGetter from "effect/SchemaGetter"

/**
 * A field that holds an `A`. `base` is the byte at which the structure begins in the view; reading or writing behind the
 * end of the view is a `RangeError`.
 *
 * @category models
 * @since 0.1.0
 */
export interface MadField<A> {
  /** The first bit, counted from the most significant one of the structure's first byte. */
  readonly bit: number
  /** How many bits it has. */
  readonly width: number
  /** The values that it can hold. */
  readonly schema: Schema.Codec<A>
  /** Reads it; whatever the bits are, this is a value of `schema`. */
  get(view: DataView, base: number): A
  /** Whether it can hold the value; never one that `schema` refuses. */
  fits(value: A): boolean
  /** Writes a value that fits, and leaves the other bits of its bytes as they are. */
  set(view: DataView, base: number, value: A): void
}

/**
 * What a field holds.
 *
 * @category models
 * @since 0.1.0
 */
export type Value<F> = F extends MadField<infer A> ? A : never

/**
 * An unsigned number of 1 to 32 bits.
 *
 * ```ts
 * import { MadField } from "@effect-rdma/umad"
 *
 * const lmc = MadField.unsigned(277, 3)
 * lmc.get(new DataView(Uint8Array.of(0b0000_0101).buffer), -34) // => 5
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const unsigned = (bit: number, width: number): MadField<number> => {
  const { get, set } = bits(bit, width)
  const maximum = 2 ** width - 1
  return {
    bit,
    width,
    schema: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum })),
    get,
    fits: (value) => Number.isInteger(value) && value >= 0 && value <= maximum,
    set
  }
}

/**
 * A branded number whose schema takes every number of so many bits, such as a LID of 16.
 *
 * @category constructors
 * @since 0.1.0
 */
export const branded = <A extends number>(bit: number, width: number, schema: Schema.Codec<A, number>): MadField<A> =>
  ({ ...unsigned(bit, width), schema: Schema.toType(schema) }) as unknown as MadField<A>

/**
 * One bit as a boolean.
 *
 * @category constructors
 * @since 0.1.0
 */
export const flag = (bit: number): MadField<boolean> => {
  const { get, set } = bits(bit, 1)
  return {
    bit,
    width: 1,
    schema: Schema.Boolean,
    get: (view, base) => get(view, base) === 1,
    fits: (value) => typeof value === "boolean",
    set: (view, base, value) => set(view, base, value ? 1 : 0)
  }
}

/**
 * A word of the table as its literal, and as its number where the table has none for it: nothing that a device reports is
 * lost, and nothing is written that means something else. A number that has a literal does not fit.
 *
 * @category constructors
 * @since 0.1.0
 */
export const enumerated = <A extends string | number>(
  bit: number,
  width: number,
  enumeration: Enumeration.Enumeration<A>
): MadField<Exclude<A, "unknown"> | number> => {
  type Known = Exclude<A, "unknown">
  const { get, set } = bits(bit, width)
  const maximum = 2 ** width - 1
  const known = new Map<Known | number, number>()
  for (const value of enumeration.values) {
    const native = enumeration.toNative(value)
    if (native >= 0 && native <= maximum && value !== "unknown") known.set(value as Known, native)
  }
  const words = new Map(Array.from(known, ([value, native]) => [native, value]))
  const other = (value: number): boolean =>
    Number.isInteger(value) && value >= 0 && value <= maximum && !words.has(value)
  return {
    bit,
    width,
    schema: Schema.Union([
      Schema.Literals(Array.from(words.values())),
      Schema.Int.check(
        Schema.isBetween({ minimum: 0, maximum }),
        Schema.makeFilter((value: number) => other(value) || "this number has a literal")
      )
    ]),
    get: (view, base) => {
      const native = get(view, base)
      return words.get(native) ?? native
    },
    fits: (value) => known.has(value) || (typeof value === "number" && other(value)),
    set: (view, base, value) => set(view, base, known.get(value) ?? Number(value))
  }
}

/**
 * An unsigned number of 64 bits, branded by the schema; `bit` is a multiple of 8.
 *
 * @category constructors
 * @since 0.1.0
 */
export const unsigned64: {
  <A extends bigint>(bit: number, schema: Schema.Codec<A, bigint>): MadField<A>
  (bit: number): MadField<bigint>
} = (bit: number, schema: Schema.Codec<bigint> = Unsigned64): MadField<bigint> => {
  const at = byteOf(bit)
  return {
    bit,
    width: 64,
    schema: Schema.toType(schema),
    get: (view, base) => view.getBigUint64(base + at),
    fits: (value) => typeof value === "bigint" && value >= 0n && value <= 0xffff_ffff_ffff_ffffn,
    set: (view, base, value) => view.setBigUint64(base + at, value)
  }
}

/**
 * A GID; `bit` is a multiple of 8.
 *
 * @category constructors
 * @since 0.1.0
 */
export const gid = (bit: number): MadField<Gid.Gid> => ({
  ...bytes(bit, 16),
  schema: Schema.toType(Gid.Gid),
  get: (view, base) => Gid.fromBytes(slice(view, base + bit / 8, 16))
})

/**
 * So many raw bytes: a copy when read. `bit` is a multiple of 8.
 *
 * @category constructors
 * @since 0.1.0
 */
export const bytes = (bit: number, length: number): MadField<Uint8Array> => {
  const at = byteOf(bit)
  return {
    bit,
    width: 8 * length,
    schema: bytesSchema(length),
    get: (view, base) => slice(view, base + at, length).slice(),
    fits: (value) => value instanceof Uint8Array && value.length === length,
    set: (view, base, value) => slice(view, base + at, length).set(value)
  }
}

/**
 * Text of UTF-8, filled up with NUL: read up to the first NUL, bytes that are no UTF-8 as U+FFFD. It may fill all of its
 * `length` bytes. `bit` is a multiple of 8.
 *
 * @category constructors
 * @since 0.1.0
 */
export const text = (bit: number, length: number): MadField<string> => {
  const at = byteOf(bit)
  const fits = (value: string): boolean =>
    typeof value === "string" && value.isWellFormed() && !value.includes("\0") &&
    new TextEncoder().encode(value).length <= length
  return {
    bit,
    width: 8 * length,
    // Wider than `fits`: a byte that is no UTF-8 is read as U+FFFD, which takes three to write.
    schema: Schema.String.check(
      Schema.makeFilter((value) => !value.includes("\0") || "a NUL ends the text"),
      Schema.isMaxLength(length)
    ),
    get: (view, base) => {
      const all = slice(view, base + at, length)
      const end = all.indexOf(0)
      return decoder.decode(end === -1 ? all : all.subarray(0, end))
    },
    fits,
    set: (view, base, value) => {
      const room = slice(view, base + at, length)
      room.fill(0)
      room.set(new TextEncoder().encode(value))
    }
  }
}

/**
 * `length` fields of the same kind in a row; `make` gives the one at a bit.
 *
 * @category constructors
 * @since 0.1.0
 */
export const array = <A>(
  bit: number,
  width: number,
  length: number,
  make: (bit: number, width: number) => MadField<A>
): MadField<ReadonlyArray<A>> => {
  const elements = Array.from({ length }, (_, index) => make(bit + index * width, width))
  const first = make(bit, width)
  return {
    bit,
    width: width * length,
    schema: Schema.Array(first.schema).check(Schema.isBetweenLength(length, length)),
    get: (view, base) => elements.map((element) => element.get(view, base)),
    fits: (values) => Array.isArray(values) && values.length === length && values.every((value) => first.fits(value)),
    set: (view, base, values) => {
      for (const [index, element] of elements.entries()) element.set(view, base, values[index]!)
    }
  }
}

/**
 * Fields that belong together, as the elements of an array; their bits count from the beginning of the MAD or attribute.
 *
 * @category constructors
 * @since 0.1.0
 */
export const struct = <A extends { readonly [name: string]: unknown }>(
  bit: number,
  width: number,
  fields: { readonly [K in keyof A]: MadField<A[K]> }
): MadField<A> => {
  const entries = Object.entries<MadField<unknown>>(fields)
  return {
    bit,
    width,
    schema: Schema.Struct(
      Object.fromEntries(entries.map(([key, field]) => [key, field.schema]))
    ) as unknown as Schema.Codec<A>,
    get: (view, base) => Object.fromEntries(entries.map(([key, field]) => [key, field.get(view, base)])) as A,
    fits: (value) =>
      typeof value === "object" && value !== null && entries.every(([key, field]) => field.fits(value[key])),
    set: (view, base, value) => {
      for (const [key, field] of entries) field.set(view, base, value[key])
    }
  }
}

/**
 * The field, `bytes` bytes further behind: for an attribute inside a record of subnet administration.
 *
 * @category combinators
 * @since 0.1.0
 */
export const moved = <A>(field: MadField<A>, bytes: number): MadField<A> => ({
  ...field,
  bit: field.bit + 8 * bytes,
  get: (view, base) => field.get(view, base + bytes),
  set: (view, base, value) => field.set(view, base + bytes, value)
})

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

const decoder = new TextDecoder("utf-8", { ignoreBOM: true })

const Unsigned64 = Schema.BigInt.check(Schema.isBetweenBigInt({ minimum: 0n, maximum: 0xffff_ffff_ffff_ffffn }))

const Byte = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 0xff }))

const bytesSchema = (length: number) =>
  Schema.declare<Uint8Array>(
    (value): value is Uint8Array => value instanceof Uint8Array && value.length === length,
    {
      expected: `${length} bytes`,
      toCodecArbitrary: () =>
        Schema.link<Uint8Array>()(Schema.Array(Byte).check(Schema.isBetweenLength(length, length)), {
          decode: SchemaGetter.transform((bytes) => Uint8Array.from(bytes)),
          encode: SchemaGetter.transform((bytes) => Array.from(bytes))
        })
    }
  )

const byteOf = (bit: number): number => {
  if (bit % 8 !== 0) throw new RangeError(`bit ${bit} does not begin a byte`)
  return bit / 8
}

// DataView checks what Uint8Array would forgive.
const slice = (view: DataView, at: number, length: number): Uint8Array => {
  if (at < 0 || at + length > view.byteLength) throw new RangeError(`no ${length} bytes at ${at}`)
  return new Uint8Array(view.buffer, view.byteOffset + at, length)
}

type Bits = {
  readonly get: (view: DataView, base: number) => number
  readonly set: (view: DataView, base: number, value: number) => void
}

/** By the smallest aligned word that holds all of the bits: an attribute may end right behind it. */
const bits = (bit: number, width: number): Bits => {
  const word = [8, 16, 32].find((size) => Math.floor(bit / size) === Math.floor((bit + width - 1) / size))
  if (word === undefined || width < 1) throw new RangeError(`${width} bits at ${bit} lie in no word`)
  const at = Math.floor(bit / word) * (word / 8)
  const shift = word - width - bit % word
  const mask = 2 ** width - 1
  const kept = ~(mask << shift)
  if (word === 8) {
    return {
      get: (view, base) => (view.getUint8(base + at) >>> shift) & mask,
      set: (view, base, value) => view.setUint8(base + at, (view.getUint8(base + at) & kept) | (value << shift))
    }
  }
  if (word === 16) {
    return {
      get: (view, base) => (view.getUint16(base + at) >>> shift) & mask,
      set: (view, base, value) => view.setUint16(base + at, (view.getUint16(base + at) & kept) | (value << shift))
    }
  }
  // & makes a signed number of 32 bits.
  return {
    get: (view, base) => ((view.getUint32(base + at) >>> shift) & mask) >>> 0,
    set: (view, base, value) => view.setUint32(base + at, (view.getUint32(base + at) & kept) | (value << shift))
  }
}
