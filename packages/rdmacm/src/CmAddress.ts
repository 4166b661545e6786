/**
 * The addresses of the connection manager: internet addresses, and the native ones of InfiniBand (`AF_IB`), as
 * `struct sockaddr` of `rdma_bind_addr(3)` and `rdma_resolve_addr(3)`.
 *
 * @since 0.1.0
 */
import * as Gid from "@effect-rdma/core/Gid"
import * as NetAddress from "effect/net/NetAddress"
import * as Schema from "effect/Schema"

const unsigned = (bits: number) => Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 2 ** bits - 1 }))
const u64 = Schema.BigInt.check(Schema.isBetweenBigInt({ minimum: 0n, maximum: 2n ** 64n - 1n }))

/**
 * An InfiniBand address: `struct sockaddr_ib`. The service id stands for a port, `sidMask` says which of its bits count.
 *
 * @category schemas
 * @since 0.1.0
 */
export const IbAddress = Schema.TaggedStruct("IbAddress", {
  pkey: unsigned(16),
  flowInfo: unsigned(32),
  gid: Gid.Gid,
  sid: u64,
  sidMask: u64,
  scopeId: u64
})

/**
 * The type of {@link IbAddress}.
 *
 * @category models
 * @since 0.1.0
 */
export type IbAddress = typeof IbAddress.Type

/**
 * What an id is bound to, or connects to.
 *
 * @category models
 * @since 0.1.0
 */
export type CmAddress = NetAddress.InetAddress | IbAddress

/**
 * Accepts an address, or an internet address as text: `10.0.0.1:7471`, `[fe80::1%3]:7471`, with the number of the link
 * as the scope.
 *
 * ```ts
 * import { CmAddress } from "@effect-rdma/rdmacm"
 * import { Schema } from "effect"
 *
 * CmAddress.format(Schema.decodeSync(CmAddress.CmAddress)("[::1]:7471")) // => "[::1]:7471"
 * ```
 *
 * @category schemas
 * @since 0.1.0
 */
export const CmAddress = Schema.Union([Schema.InetAddress, Schema.InetAddressFromString, IbAddress])

/**
 * What a caller may give for an address.
 *
 * @category models
 * @since 0.1.0
 */
export type Input = typeof CmAddress.Encoded

/**
 * An address as people write it; one of InfiniBand as its GID, a slash and the service id.
 *
 * @category getters
 * @since 0.1.0
 */
export const format = (address: CmAddress): string =>
  address._tag === "IbAddress"
    ? `${Gid.formatCompressed(address.gid)}/0x${address.sid.toString(16)}`
    : NetAddress.formatInet(address)
