/**
 * Memory of this host that a peer may read or write, as data to tell it.
 *
 * @since 0.1.0
 */
import type * as MemoryRegion from "@effect-rdma/verbs/MemoryRegion"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

const unsigned = (bits: number) => Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 2 ** bits - 1 }))

/**
 * Where the memory is, its `length` in bytes, and the key that gives access to it.
 *
 * @category schemas
 * @since 0.1.0
 */
export const RemoteMemory = Schema.Struct({
  address: Schema.BigInt.check(Schema.isBetweenBigInt({ minimum: 0n, maximum: 2n ** 64n - 1n })),
  length: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })),
  rkey: unsigned(32)
})

/**
 * The type of {@link RemoteMemory}.
 *
 * @category models
 * @since 0.1.0
 */
export type RemoteMemory = typeof RemoteMemory.Type

/**
 * The part of a region, all of it by default, that peers may use as the region's `access` says. It is good for as long as
 * the region is: whoever still has it after that is refused by the device.
 *
 * ```ts
 * import { Connection, RemoteMemory } from "@effect-rdma/rdmacm"
 * import { MemoryRegion } from "@effect-rdma/verbs"
 * import { Effect } from "effect"
 *
 * export const offer = Effect.fnUntraced(function*(connection: Connection.Connection) {
 *   const region = yield* MemoryRegion.alloc(connection.domain, { length: 65536, access: ["remoteRead"] })
 *   yield* Connection.send(connection, RemoteMemory.toBytes(RemoteMemory.of(region)))
 *   return region
 * })
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const of = (
  region: MemoryRegion.MemoryRegion,
  part: { readonly offset?: number; readonly length?: number } = {}
): RemoteMemory => {
  const { length = Number(region.length) - (part.offset ?? 0), offset = 0 } = part
  if (!(offset >= 0 && length >= 0 && offset + length <= Number(region.length))) {
    throw new RangeError(`${length} bytes at ${offset} are not in a region of ${region.length}`)
  }
  return RemoteMemory.make({ address: region.address + BigInt(offset), length, rkey: region.rkey })
}

/**
 * The 20 bytes that stand for it in a message: address, length and key, each in network byte order.
 *
 * @category getters
 * @since 0.1.0
 */
export const toBytes = ({ address, length, rkey }: RemoteMemory): Uint8Array => {
  const bytes = new Uint8Array(size)
  const view = new DataView(bytes.buffer)
  view.setBigUint64(0, address)
  view.setBigUint64(8, BigInt(length))
  view.setUint32(16, rkey)
  return bytes
}

/**
 * Reads what {@link toBytes} has written. Fails as a `SchemaError` for anything else than 20 bytes with a length that a number
 * can hold.
 *
 * @category constructors
 * @since 0.1.0
 */
export const fromBytes = (bytes: Uint8Array): Effect.Effect<RemoteMemory, Schema.SchemaError> =>
  Effect.flatMap(decodeBytes(bytes), (bytes) => {
    const view = new DataView(bytes.buffer, bytes.byteOffset, size)
    return decode({
      address: view.getBigUint64(0),
      length: Number(view.getBigUint64(8)),
      rkey: view.getUint32(16)
    })
  })

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

const size = 20

const decodeBytes = Schema.decodeEffect(
  Schema.Uint8Array.check(Schema.makeFilter((bytes) => bytes.length === size || `remote memory has ${size} bytes`))
)

const decode = Schema.decodeEffect(RemoteMemory)
