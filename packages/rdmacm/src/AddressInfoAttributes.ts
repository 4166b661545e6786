/**
 * What is asked of `rdma_getaddrinfo(3)` and what it finds: `struct rdma_addrinfo`.
 *
 * @since 0.1.0
 */
import * as Enumeration from "@effect-rdma/core/Enumeration"
import * as QueuePairType from "@effect-rdma/verbs/QueuePairType"
import * as Schema from "effect/Schema"
import * as CmAddress from "./CmAddress.ts"
import * as PortSpace from "./PortSpace.ts"

const flags = Enumeration.make("AddressInfoFlag", [
  ["passive", 1, "RAI_PASSIVE"],
  ["numericHost", 2, "RAI_NUMERICHOST"],
  ["noRoute", 4, "RAI_NOROUTE"],
  ["family", 8, "RAI_FAMILY"],
  ["sa", 16, "RAI_SA"],
  ["dns", 32, "RAI_DNS"]
])

/**
 * `passive`: the address is to listen on. `numericHost`: the name is an address, and no server is asked. `noRoute`: no
 * route is looked up with it. `family`: the `family` of the hints holds. `sa` and `dns`: `AddressInfo.resolve` asks the subnet
 * administrator, or name servers as it does without.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Flag = flags.schema

/**
 * The type of {@link Flag}.
 *
 * @category models
 * @since 0.1.0
 */
export type Flag = typeof Flag.Type

/**
 * The bits of some flags in C.
 *
 * @category getters
 * @since 0.1.0
 */
export const flagsToNative = (values: ReadonlyArray<Flag>): number =>
  values.reduce((mask, flag) => mask | flags.toNative(flag), 0)

/**
 * The flags of some bits in C.
 *
 * @category constructors
 * @since 0.1.0
 */
export const flagsFromNative = (mask: number): ReadonlyArray<Flag> =>
  flags.values.filter((flag) => (mask & flags.toNative(flag)) !== 0)

/**
 * What kind of address is wanted: `struct rdma_addrinfo` as hints. What is left out may be anything.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Hints = Schema.Struct({
  flags: Schema.optionalKey(Schema.Array(Flag)),
  family: Schema.optionalKey(Schema.Literals(["ipv4", "ipv6", "ib"])),
  portSpace: Schema.optionalKey(PortSpace.PortSpace),
  qpType: Schema.optionalKey(QueuePairType.QueuePairType),
  source: Schema.optionalKey(CmAddress.CmAddress),
  destination: Schema.optionalKey(CmAddress.CmAddress)
})

/**
 * The type of {@link Hints}.
 *
 * @category models
 * @since 0.1.0
 */
export type Hints = typeof Hints.Type

/**
 * An address that was found, copied out of `struct rdma_addrinfo`: it is the source of an endpoint that listens, and the
 * destination of one that connects.
 *
 * @category models
 * @since 0.1.0
 */
export interface AddressInfo {
  readonly flags: ReadonlyArray<Flag>
  readonly portSpace: PortSpace.PortSpace
  readonly qpType: QueuePairType.QueuePairType
  readonly source: CmAddress.CmAddress | undefined
  readonly destination: CmAddress.CmAddress | undefined
  readonly sourceName: string | undefined
  readonly destinationName: string | undefined
  /** The records of the route, as in `struct ibv_path_data`; empty without one. */
  readonly route: Uint8Array
  /** What belongs in front of the private data; mostly empty. */
  readonly connect: Uint8Array
}
