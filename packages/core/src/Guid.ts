/**
 * The EUI-64 of a node or a port: 64 bits, as a bigint in host order.
 *
 * @since 0.1.0
 */
import * as Brand from "effect/Brand"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as SchemaIssue from "effect/SchemaIssue"
import * as SchemaTransformation from "effect/SchemaTransformation"
import { hexadecimal } from "./internal/integerText.ts"

/**
 * Schema for a GUID: 64 bits; C has it as `__be64`, as in `ibv_device_attr.node_guid` and `umad_ca_t.node_guid`.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Guid = Schema.BigInt.check(
  Schema.isBetweenBigInt({ minimum: 0n, maximum: 0xffff_ffff_ffff_ffffn })
).annotate({ identifier: "Guid" }).pipe(Schema.brand("Guid"))

/**
 * The EUI-64 of a node or a port.
 *
 * @category models
 * @since 0.1.0
 */
export type Guid = typeof Guid.Type

const nominal = Brand.nominal<Guid>()

const prefixed = /^0x[0-9a-f]{1,16}$/i
const grouped = /^[0-9a-f]{4}(?::[0-9a-f]{4}){3}$/i

/**
 * Schema for a GUID as text: `0x0002c90300a1b2c3`, as `ibstat` prints it, or `0002:c903:00a1:b2c3`, as sysfs and
 * `ibv_devinfo` do. It encodes to the first.
 *
 * Bare hexadecimal digits are refused, since those of `1234567812345678` could as well be decimal.
 *
 * @category schemas
 * @since 0.1.0
 */
export const GuidFromString = Schema.String.pipe(Schema.decodeTo(
  Guid,
  SchemaTransformation.transformEffect<bigint, string>({
    decode: (text, options) =>
      prefixed.test(text)
        ? Effect.succeed(BigInt(text))
        : grouped.test(text)
        ? Effect.succeed(BigInt(`0x${text.replaceAll(":", "")}`))
        : Effect.fail(
          new SchemaIssue.InvalidValue(
            { expected: "a GUID such as 0x0002c90300a1b2c3 or 0002:c903:00a1:b2c3" },
            text,
            options
          )
        ),
    encode: (guid) => Effect.succeed(hexadecimal(guid, 16))
  })
))

/**
 * Reads a GUID from 8 big-endian bytes, as C structs and MADs have it.
 *
 * Throws a `RangeError` when fewer than 8 bytes are left after `offset`.
 *
 * @category constructors
 * @since 0.1.0
 */
export const fromBytes = (bytes: Uint8Array, offset: number = 0): Guid =>
  nominal(new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength).getBigUint64(offset))

/**
 * The 8 big-endian bytes of a GUID, as C structs and MADs have it.
 *
 * @category getters
 * @since 0.1.0
 */
export const toBytes = (guid: Guid): Uint8Array => {
  const bytes = new Uint8Array(8)
  new DataView(bytes.buffer).setBigUint64(0, guid)
  return bytes
}

/**
 * A GUID as `ibstat` prints it: `"0x0002c90300a1b2c3"`.
 *
 * @category getters
 * @since 0.1.0
 */
export const format = (guid: Guid): string => hexadecimal(guid, 16)

/**
 * A GUID as sysfs and `ibv_devinfo` print it: `"0002:c903:00a1:b2c3"`.
 *
 * @category getters
 * @since 0.1.0
 */
export const formatGroups = (guid: Guid): string => guid.toString(16).padStart(16, "0").replace(/(....)(?!$)/g, "$1:")
