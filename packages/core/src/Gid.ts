/**
 * The global identifier of a port or a multicast group: `union ibv_gid`, 16 bytes in network order, written as an IPv6
 * address.
 *
 * A `Gid` is a `Uint8Array` of its own: every constructor and every decoder copies, so whoever owns the bytes that it
 * came from (a receive buffer, a native struct, a caller's array) cannot change it afterwards. Do not write into one.
 *
 * @since 0.1.0
 */
import * as Brand from "effect/Brand"
import * as Effect from "effect/Effect"
import * as Equ from "effect/Equivalence"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import type { ParseOptions } from "effect/SchemaAST"
import * as SchemaGetter from "effect/SchemaGetter"
import * as SchemaIssue from "effect/SchemaIssue"
import * as SchemaTransformation from "effect/SchemaTransformation"

const size = 16

// -----------------------------------------------------------------------------
// Text
// -----------------------------------------------------------------------------

const example = "such as fe80::2:c903:a1:b2c3 or ::ffff:10.0.0.1"

const quad = /^(?:0|[1-9][0-9]{0,2})(?:\.(?:0|[1-9][0-9]{0,2})){3}$/

// The one or two 16-bit words that a piece between colons stands for; dotted decimal is legal in the last place only.
const wordsOf = (piece: string, isLast: boolean): ReadonlyArray<number> | undefined => {
  if (/^[0-9a-f]{1,4}$/i.test(piece)) return [Number.parseInt(piece, 16)]
  if (!isLast || !quad.test(piece)) return undefined
  const [a = 0, b = 0, c = 0, d = 0] = piece.split(".").map(Number)
  return a > 255 || b > 255 || c > 255 || d > 255 ? undefined : [(a << 8) | b, (c << 8) | d]
}

const sideOf = (text: string, isLastSide: boolean): Result.Result<ReadonlyArray<number>, string> => {
  const words: Array<number> = []
  if (text === "") return Result.succeed(words)
  const pieces = text.split(":")
  for (const [index, piece] of pieces.entries()) {
    const found = wordsOf(piece, isLastSide && index === pieces.length - 1)
    if (found === undefined) return Result.fail(`a GID is an IPv6 address, ${example}: "${piece}" has no place in one`)
    words.push(...found)
  }
  return Result.succeed(words)
}

const parse = (text: string): Result.Result<Uint8Array, string> => {
  const zone = text.indexOf("%")
  if (zone !== -1) {
    return Result.fail(
      `a GID has no zone: leave out "${text.slice(zone)}"; the device and the port say which link is meant`
    )
  }
  const sides = text.split("::")
  if (sides.length > 2) return Result.fail(`a GID is an IPv6 address, ${example}: "::" may stand in it once`)
  const [left = "", right] = sides
  const head = sideOf(left, right === undefined)
  if (Result.isFailure(head)) return Result.fail(head.failure)
  const tail = sideOf(right ?? "", true)
  if (Result.isFailure(tail)) return Result.fail(tail.failure)
  const count = head.success.length + tail.success.length
  if (right === undefined ? count !== 8 : count > 7) {
    return Result.fail(
      `a GID is an IPv6 address, ${example}: 8 groups, this has ${count}${
        right === undefined ? "" : " beside the \"::\""
      }`
    )
  }
  const bytes = new Uint8Array(size)
  const view = new DataView(bytes.buffer)
  for (const [index, word] of head.success.entries()) view.setUint16(index * 2, word)
  for (const [index, word] of tail.success.entries()) view.setUint16(size - (tail.success.length - index) * 2, word)
  return Result.succeed(bytes)
}

// -----------------------------------------------------------------------------
// Schemas
// -----------------------------------------------------------------------------

const parseEffect = (text: string, options: ParseOptions): Effect.Effect<Uint8Array, SchemaIssue.Issue> => {
  const result = parse(text)
  return Result.isSuccess(result)
    ? Effect.succeed(result.success)
    : Effect.fail(new SchemaIssue.InvalidValue({ message: result.failure }, text, options))
}

const decodeText = SchemaGetter.transformEffect(parseEffect)

const encodeText = SchemaGetter.transform((bytes: Uint8Array) => compress(bytes))

const Byte = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 0xff }))

/**
 * Schema for a GID as its 16 bytes in network order; it copies what it is given.
 *
 * Its JSON form is the text of {@link GidFromString}.
 *
 * ```ts
 * import * as Gid from "@effect-rdma/core/Gid"
 *
 * const bytes = new Uint8Array(16)
 * bytes[15] = 1
 * Gid.formatCompressed(Gid.Gid.make(bytes)) // => "::1"
 * ```
 *
 * @category schemas
 * @since 0.1.0
 */
export const Gid = Schema.declareConstructor<Uint8Array>()(
  [],
  () => (input, ast, options) =>
    !(input instanceof Uint8Array)
      ? Effect.fail(new SchemaIssue.InvalidType(ast, input, options))
      : input.length !== size
      ? Effect.fail(
        new SchemaIssue.InvalidValue({ message: `a GID has 16 bytes, not ${input.length}` }, input, options)
      )
      : Effect.succeed(new Uint8Array(input)),
  {
    identifier: "Gid",
    toCodecJson: () => Schema.link<Uint8Array>()(Schema.String, { decode: decodeText, encode: encodeText }),
    toCodecArbitrary: () =>
      Schema.link<Uint8Array>()(Schema.Array(Byte).check(Schema.isBetweenLength(size, size)), {
        decode: SchemaGetter.transform((bytes) => Uint8Array.from(bytes)),
        encode: SchemaGetter.transform((bytes) => Array.from(bytes))
      }),
    toEquivalence: () => sameBytes,
    toFormatter: () => (gid) => compress(gid)
  }
).pipe(Schema.brand("Gid"))

/**
 * A global identifier: 16 bytes in network order.
 *
 * @category models
 * @since 0.1.0
 */
export type Gid = typeof Gid.Type

/**
 * Schema for a GID as text: an IPv6 address in any form that `inet_pton(3)` takes, without a zone.
 *
 * It encodes to the form of {@link formatCompressed}.
 *
 * ```ts
 * import * as Schema from "effect/Schema"
 * import * as Gid from "@effect-rdma/core/Gid"
 *
 * const gid = Schema.decodeSync(Gid.GidFromString)("::FFFF:10.0.0.1")
 * Gid.format(gid) // => "0000:0000:0000:0000:0000:ffff:0a00:0001"
 * ```
 *
 * @category schemas
 * @since 0.1.0
 */
export const GidFromString = Schema.String.pipe(
  Schema.decodeTo(Gid, SchemaTransformation.makeTransformation({ decode: decodeText, encode: encodeText }))
)

// Not a union of two schemas: its issue would name only the first, and its JSON form would be two kinds of text.
const BytesOrText = Schema.declare<Uint8Array | string>(
  (input): input is Uint8Array | string => typeof input === "string" || input instanceof Uint8Array,
  {
    expected: "the 16 bytes of a GID or an IPv6 address",
    toCodecJson: () =>
      Schema.link<Uint8Array | string>()(Schema.String, {
        decode: SchemaGetter.transform((text) => text),
        encode: SchemaGetter.transform((input) => typeof input === "string" ? input : compress(input))
      })
  }
)

/**
 * Schema for a GID as people pass one: its 16 bytes or its text. It encodes to bytes, in JSON to text.
 *
 * @category schemas
 * @since 0.1.0
 */
export const GidInput = BytesOrText.pipe(Schema.decodeTo(
  Gid,
  SchemaTransformation.makeTransformation<Uint8Array, Uint8Array | string>({
    decode: SchemaGetter.transformEffect((input, options) =>
      typeof input === "string" ? parseEffect(input, options) : Effect.succeed(input)
    ),
    encode: SchemaGetter.transform((bytes) => bytes)
  })
))

/**
 * What {@link GidInput} takes: the 16 bytes of a GID or its text.
 *
 * @category models
 * @since 0.1.0
 */
export type GidInput = typeof GidInput.Encoded

// -----------------------------------------------------------------------------
// Constructors
// -----------------------------------------------------------------------------

const nominal = Brand.nominal<Gid>()

/**
 * Copies a GID out of a struct or a packet: the 16 bytes at `offset`.
 *
 * Throws a `RangeError` when fewer than 16 bytes are left there.
 *
 * @category constructors
 * @since 0.1.0
 */
export const fromBytes = (bytes: Uint8Array, offset: number = 0): Gid => {
  if (offset < 0 || offset + size > bytes.length) {
    throw new RangeError(`a GID has 16 bytes; there are not as many at ${offset} of ${bytes.length}`)
  }
  return nominal(new Uint8Array(bytes.subarray(offset, offset + size)))
}

/**
 * Puts a GID together from its two halves, each 64 bits; what is above bit 63 is cut off.
 *
 * ```ts
 * import * as Gid from "@effect-rdma/core/Gid"
 *
 * Gid.formatCompressed(Gid.fromParts(0xfe80_0000_0000_0000n, 0x0002_c903_00a1_b2c3n)) // => "fe80::2:c903:a1:b2c3"
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const fromParts = (subnetPrefix: bigint, interfaceId: bigint): Gid => {
  const bytes = new Uint8Array(size)
  const view = new DataView(bytes.buffer)
  view.setBigUint64(0, subnetPrefix)
  view.setBigUint64(8, interfaceId)
  return nominal(bytes)
}

/**
 * The GID of an empty entry of a GID table: all zero.
 *
 * @category constructors
 * @since 0.1.0
 */
export const zero = (): Gid => nominal(new Uint8Array(size))

// -----------------------------------------------------------------------------
// Getters
// -----------------------------------------------------------------------------

const viewOf = (bytes: Uint8Array): DataView => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)

/**
 * The upper 64 bits, `ibv_gid.global.subnet_prefix`, in host order.
 *
 * @category getters
 * @since 0.1.0
 */
export const subnetPrefix = (gid: Gid): bigint => viewOf(gid).getBigUint64(0)

/**
 * The lower 64 bits, `ibv_gid.global.interface_id`, in host order; of a port's first GID on InfiniBand this is its GUID.
 *
 * @category getters
 * @since 0.1.0
 */
export const interfaceId = (gid: Gid): bigint => viewOf(gid).getBigUint64(8)

/**
 * The IPv4 address of a RoCE v2 GID, such as `"10.0.0.1"`; `undefined` when the GID is not IPv4-mapped.
 *
 * @category getters
 * @since 0.1.0
 */
export const ipv4 = (gid: Gid): string | undefined => isIpv4Mapped(gid) ? gid.subarray(12).join(".") : undefined

const groups = (bytes: Uint8Array): Array<number> => {
  const view = viewOf(bytes)
  return Array.from({ length: size / 2 }, (_, index) => view.getUint16(index * 2))
}

/**
 * A GID as sysfs and `ibv_devinfo` print it: 8 groups of 4 digits, `"fe80:0000:0000:0000:0002:c903:00a1:b2c3"`.
 *
 * @category getters
 * @since 0.1.0
 */
export const format = (gid: Gid): string => groups(gid).map((group) => group.toString(16).padStart(4, "0")).join(":")

/**
 * A GID as the canonical text of its IPv6 address (RFC 5952), an IPv4-mapped one with dotted decimal:
 * `"fe80::2:c903:a1:b2c3"`, `"::ffff:10.0.0.1"`.
 *
 * @category getters
 * @since 0.1.0
 */
export const formatCompressed = (gid: Gid): string => compress(gid)

const hex = (words: ReadonlyArray<number>): string => words.map((word) => word.toString(16)).join(":")

const compress = (bytes: Uint8Array): string => {
  if (mapped(bytes)) return `::ffff:${bytes.subarray(12).join(".")}`
  const words = groups(bytes)
  // RFC 5952, 4.2: the longest run of zero groups, the first of equal ones, and never a run of one.
  let best = 0
  let longest = 1
  let run = 0
  for (const [index, word] of words.entries()) {
    run = word === 0 ? run + 1 : 0
    if (run > longest) {
      longest = run
      best = index - run + 1
    }
  }
  return longest === 1 ? hex(words) : `${hex(words.slice(0, best))}::${hex(words.slice(best + longest))}`
}

// -----------------------------------------------------------------------------
// Guards
// -----------------------------------------------------------------------------

const mapped = (bytes: Uint8Array): boolean =>
  bytes[10] === 0xff && bytes[11] === 0xff && bytes.subarray(0, 10).every((byte) => byte === 0)

/**
 * Whether a GID names a multicast group: ff00::/8.
 *
 * @category guards
 * @since 0.1.0
 */
export const isMulticast = (gid: Gid): boolean => gid[0] === 0xff

/**
 * Whether a GID is of the link-local range fe80::/10: the default subnet prefix of InfiniBand, and on RoCE the GID that
 * a port has before any address.
 *
 * @category guards
 * @since 0.1.0
 */
export const isLinkLocal = (gid: Gid): boolean => (viewOf(gid).getUint16(0) & 0xffc0) === 0xfe80

/**
 * Whether a GID stands for an IPv4 address, `::ffff:0:0/96`, as RoCE v2 GIDs of IPv4 interfaces do.
 *
 * @category guards
 * @since 0.1.0
 */
export const isIpv4Mapped = (gid: Gid): boolean => mapped(gid)

/**
 * Whether a GID is all zero: an empty entry of a GID table.
 *
 * @category guards
 * @since 0.1.0
 */
export const isZero = (gid: Gid): boolean => gid.every((byte) => byte === 0)

const sameBytes = (self: Uint8Array, that: Uint8Array): boolean =>
  self.length === that.length && self.every((byte, index) => byte === that[index])

/**
 * Two GIDs are equal when their 16 bytes are; `Equal.equals` agrees.
 *
 * @category getters
 * @since 0.1.0
 */
export const Equivalence: Equ.Equivalence<Gid> = Equ.make(sameBytes)
