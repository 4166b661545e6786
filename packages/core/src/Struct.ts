/**
 * Native struct layouts as data, with typed accessors over `DataView`. A layout table is compared with the C compiler by
 * the ABI test; nothing here loads or calls native code.
 *
 * @since 0.1.0
 */

/**
 * A byte count that may differ per architecture. `x64` stands for every LP64 platform whose `pthread_mutex_t` has 40
 * bytes; on arm64 it has 48, which moves everything behind a mutex.
 *
 * @category models
 * @since 0.1.0
 */
export type Bytes = number | { readonly x64: number; readonly arm64: number }

/**
 * One member of a struct: where it is, how many bytes it has, and how it is read and written. `base` is the offset of the
 * struct in the view. Reading or writing outside of the view, and writing a value that does not fit, is a `RangeError`.
 *
 * @category models
 * @since 0.1.0
 */
export interface Field<A> {
  readonly kind: string
  readonly offset: number
  readonly size: number
  /** The C member path, as in `offsetof(struct ibv_ah_attr, grh.dgid)`. */
  readonly member: string
  get(view: DataView, base?: number): A
  set(view: DataView, value: A, base?: number): void
}

/**
 * The members of a struct by their names in TypeScript.
 *
 * @category models
 * @since 0.1.0
 */
export type Fields = { readonly [name: string]: Field<unknown> }

/**
 * The layout of one native struct.
 *
 * @category models
 * @since 0.1.0
 */
export interface Struct<F extends Fields> {
  /** The C type, as in `sizeof(struct ibv_ah_attr)`. */
  readonly name: string
  readonly size: number
  readonly fields: F
  /** Zeroed memory in the JS heap for one struct: for calls that do not keep the pointer. */
  allocate(): DataView<ArrayBuffer>
  /** Copies every field out. */
  read(view: DataView, base?: number): Record<F>
  /** Writes the given fields and leaves the other bytes as they are. */
  write(view: DataView, values: Partial<Record<F>>, base?: number): void
  /** Reads one field without making a record. */
  get<K extends keyof F>(name: K, view: DataView, base?: number): Value<F[K]>
  /** Writes one field. */
  set<K extends keyof F>(name: K, view: DataView, value: Value<F[K]>, base?: number): void
}

/**
 * What a field holds.
 *
 * @category models
 * @since 0.1.0
 */
export type Value<F> = F extends Field<infer A> ? A : never

/**
 * The record that `read` returns for some fields.
 *
 * @category models
 * @since 0.1.0
 */
export type Record<F extends Fields> = { readonly [K in keyof F]: Value<F[K]> }

/**
 * The record that `read` returns for a layout: `Struct.Type<typeof AhAttr>`.
 *
 * @category models
 * @since 0.1.0
 */
export type Type<S> = S extends Struct<infer F> ? Record<F> : never

const littleEndian = new Uint8Array(Uint16Array.of(1).buffer)[0] === 1

const bytesHere = (bytes: Bytes): number =>
  typeof bytes === "number" ? bytes : process.arch === "arm64" ? bytes.arm64 : bytes.x64

const outside = (member: string, value: unknown): RangeError =>
  new RangeError(`${member}: ${String(value)} does not fit`)

const number = (
  kind: string,
  size: number,
  minimum: number,
  maximum: number,
  read: (view: DataView, at: number) => number,
  write: (view: DataView, at: number, value: number) => void
) =>
(offset: Bytes, member: string): Field<number> => {
  const at = bytesHere(offset)
  return {
    kind,
    offset: at,
    size,
    member,
    get: (view, base = 0) => read(view, base + at),
    set: (view, value, base = 0) => {
      if (!Number.isInteger(value) || value < minimum || value > maximum) throw outside(member, value)
      write(view, base + at, value)
    }
  }
}

const bigint = (
  kind: string,
  minimum: bigint,
  maximum: bigint,
  read: (view: DataView, at: number) => bigint,
  write: (view: DataView, at: number, value: bigint) => void
) =>
(offset: Bytes, member: string): Field<bigint> => {
  const at = bytesHere(offset)
  return {
    kind,
    offset: at,
    size: 8,
    member,
    get: (view, base = 0) => read(view, base + at),
    set: (view, value, base = 0) => {
      if (value < minimum || value > maximum) throw outside(member, value)
      write(view, base + at, value)
    }
  }
}

const maximum64 = 0xffff_ffff_ffff_ffffn

/** `uint8_t`. @category fields @since 0.1.0 */
export const u8 = number("u8", 1, 0, 0xff, (v, at) => v.getUint8(at), (v, at, x) => v.setUint8(at, x))

/** `uint16_t` in host order. @category fields @since 0.1.0 */
export const u16 = number(
  "u16",
  2,
  0,
  0xffff,
  (v, at) => v.getUint16(at, littleEndian),
  (v, at, x) => v.setUint16(at, x, littleEndian)
)

/** `uint32_t` in host order. @category fields @since 0.1.0 */
export const u32 = number(
  "u32",
  4,
  0,
  0xffff_ffff,
  (v, at) => v.getUint32(at, littleEndian),
  (v, at, x) => v.setUint32(at, x, littleEndian)
)

/** `int` and every enum, in host order. @category fields @since 0.1.0 */
export const i32 = number(
  "i32",
  4,
  -0x8000_0000,
  0x7fff_ffff,
  (v, at) => v.getInt32(at, littleEndian),
  (v, at, x) => v.setInt32(at, x, littleEndian)
)

/** `uint64_t` and `size_t` in host order. @category fields @since 0.1.0 */
export const u64 = bigint(
  "u64",
  0n,
  maximum64,
  (v, at) => v.getBigUint64(at, littleEndian),
  (v, at, x) => v.setBigUint64(at, x, littleEndian)
)

/** `int64_t` in host order. @category fields @since 0.1.0 */
export const i64 = bigint(
  "i64",
  -0x8000_0000_0000_0000n,
  0x7fff_ffff_ffff_ffffn,
  (v, at) => v.getBigInt64(at, littleEndian),
  (v, at, x) => v.setBigInt64(at, x, littleEndian)
)

/** `__be16`: two bytes in network order. @category fields @since 0.1.0 */
export const be16 = number("be16", 2, 0, 0xffff, (v, at) => v.getUint16(at), (v, at, x) => v.setUint16(at, x))

/** `__be32`: four bytes in network order. @category fields @since 0.1.0 */
export const be32 = number("be32", 4, 0, 0xffff_ffff, (v, at) => v.getUint32(at), (v, at, x) => v.setUint32(at, x))

/** `__be64`: eight bytes in network order. @category fields @since 0.1.0 */
export const be64 = bigint("be64", 0n, maximum64, (v, at) => v.getBigUint64(at), (v, at, x) => v.setBigUint64(at, x))

/** A pointer as a plain address, zero for NULL. @category fields @since 0.1.0 */
export const pointer = bigint(
  "pointer",
  0n,
  maximum64,
  (v, at) => v.getBigUint64(at, littleEndian),
  (v, at, x) => v.setBigUint64(at, x, littleEndian)
)

const slice = (view: DataView, at: number, size: number): Uint8Array => {
  if (at < 0 || at + size > view.byteLength) throw new RangeError("offset is outside the bounds of the view")
  return new Uint8Array(view.buffer, view.byteOffset + at, size)
}

/**
 * `size` raw bytes: a copy when read, exactly as many when written.
 *
 * @category fields
 * @since 0.1.0
 */
export const bytes = (offset: Bytes, size: number, member: string): Field<Uint8Array> => {
  const at = bytesHere(offset)
  return {
    kind: "bytes",
    offset: at,
    size,
    member,
    get: (view, base = 0) => slice(view, base + at, size).slice(),
    set: (view, value, base = 0) => {
      if (value.length !== size) throw outside(member, `${value.length} bytes`)
      slice(view, base + at, size).set(value)
    }
  }
}

const decoder = new TextDecoder()
const encoder = new TextEncoder()

/**
 * `char[size]`: read up to the first NUL or the end, written with at least one NUL behind it.
 *
 * @category fields
 * @since 0.1.0
 */
export const string = (offset: Bytes, size: number, member: string): Field<string> => {
  const at = bytesHere(offset)
  return {
    kind: "string",
    offset: at,
    size,
    member,
    get: (view, base = 0) => {
      const text = slice(view, base + at, size)
      const end = text.indexOf(0)
      return decoder.decode(end === -1 ? text : text.subarray(0, end))
    },
    set: (view, value, base = 0) => {
      const text = encoder.encode(value)
      if (text.length >= size || text.includes(0)) throw outside(member, JSON.stringify(value))
      const room = slice(view, base + at, size)
      room.fill(0)
      room.set(text)
    }
  }
}

/**
 * A struct inside a struct.
 *
 * @category fields
 * @since 0.1.0
 */
export const nested = <F extends Fields>(offset: Bytes, struct: Struct<F>, member: string): Field<Record<F>> => {
  const at = bytesHere(offset)
  return {
    kind: struct.name,
    offset: at,
    size: struct.size,
    member,
    get: (view, base = 0) => struct.read(view, base + at),
    set: (view, value, base = 0) => struct.write(view, value, base + at)
  }
}

/**
 * `length` elements in a row; `first` describes the first one and names the array.
 *
 * @category fields
 * @since 0.1.0
 */
export const array = <A>(first: Field<A>, length: number): Field<ReadonlyArray<A>> => ({
  kind: `${first.kind}[${length}]`,
  offset: first.offset,
  size: first.size * length,
  member: first.member,
  get: (view, base = 0) => Array.from({ length }, (_, index) => first.get(view, base + index * first.size)),
  set: (view, values, base = 0) => {
    if (values.length !== length) throw outside(first.member, `${values.length} elements`)
    values.forEach((value, index) => first.set(view, value, base + index * first.size))
  }
})

/**
 * A layout from its C name, its size and its fields.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = <const F extends Fields>(name: string, size: Bytes, fields: F): Struct<F> => {
  const length = bytesHere(size)
  const entries = Object.entries(fields)
  for (const [key, field] of entries) {
    if (field.offset + field.size > length) throw new RangeError(`${name}: ${key} ends behind the struct`)
  }
  const check = (view: DataView, base: number): void => {
    if (base < 0 || base + length > view.byteLength) {
      throw new RangeError(`${name} has ${length} bytes, the view has ${view.byteLength - base}`)
    }
  }
  return {
    name,
    size: length,
    fields,
    allocate: () => new DataView(new ArrayBuffer(length)),
    read: (view, base = 0) => {
      check(view, base)
      const record: { [key: string]: unknown } = {}
      for (const [key, field] of entries) record[key] = field.get(view, base)
      return record as Record<F>
    },
    write: (view, values, base = 0) => {
      check(view, base)
      for (const [key, field] of entries) {
        const value = values[key as keyof F]
        if (value !== undefined) field.set(view, value, base)
      }
    },
    get: (key, view, base) => fields[key]!.get(view, base) as Value<F[typeof key]>,
    set: (key, view, value, base) => fields[key]!.set(view, value, base)
  }
}
