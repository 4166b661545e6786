/**
 * Where a datagram goes: `struct ibv_ah_attr` and `struct ibv_global_route` of `ibv_create_ah(3)`, as schemas with the
 * true range of every field.
 *
 * @since 0.1.0
 */
import * as Gid from "@effect-rdma/core/Gid"
import * as Identifier from "@effect-rdma/core/Identifier"
import * as Lid from "@effect-rdma/core/Lid"
import * as StaticRate from "@effect-rdma/core/StaticRate"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

/**
 * `struct ibv_global_route`: the route by GID. RoCE always needs it, InfiniBand across subnets and for multicast.
 *
 * `sgidIndex` is required: it names the source GID in the port's table, and on RoCE with it the VLAN and the RoCE
 * version. `hopLimit` defaults to 64, since a packet with limit 0 or 1 does not cross a router.
 *
 * @category schemas
 * @since 0.1.0
 */
export const GlobalRoute = Schema.Struct({
  dgid: Gid.GidInput,
  flowLabel: Identifier.FlowLabel.pipe(Schema.withDecodingDefault(Effect.succeed(0))),
  sgidIndex: Identifier.GidIndex,
  hopLimit: Identifier.HopLimit.pipe(Schema.withDecodingDefault(Effect.succeed(64))),
  trafficClass: Identifier.TrafficClass.pipe(Schema.withDecodingDefault(Effect.succeed(0)))
})

/**
 * The type of {@link GlobalRoute}.
 *
 * @category models
 * @since 0.1.0
 */
export type GlobalRoute = typeof GlobalRoute.Type

/**
 * `struct ibv_ah_attr`. With a `grh` the address is global (`is_global`), without it `dlid` alone is the address.
 *
 * ```ts
 * import { AddressHandleAttributes } from "@effect-rdma/verbs"
 * import { Schema } from "effect"
 *
 * const attributes = Schema.decodeSync(AddressHandleAttributes.AddressHandleAttributes)({
 *   portNum: 1,
 *   grh: { dgid: "::ffff:10.0.0.1", sgidIndex: 1 }
 * })
 * attributes.grh?.hopLimit // => 64
 * ```
 *
 * @category schemas
 * @since 0.1.0
 */
export const AddressHandleAttributes = Schema.Struct({
  portNum: Identifier.PortNumber,
  dlid: Lid.Lid.pipe(Schema.withDecodingDefault(Effect.succeed(0))),
  sl: Identifier.ServiceLevel.pipe(Schema.withDecodingDefault(Effect.succeed(0))),
  srcPathBits: Identifier.PathBits.pipe(Schema.withDecodingDefault(Effect.succeed(0))),
  staticRate: StaticRate.StaticRate.pipe(Schema.withDecodingDefault(Effect.succeed("max" as const))),
  grh: Schema.optionalKey(GlobalRoute)
})

/**
 * The type of {@link AddressHandleAttributes}.
 *
 * @category models
 * @since 0.1.0
 */
export type AddressHandleAttributes = typeof AddressHandleAttributes.Type

/**
 * What a caller writes: plain numbers, a GID as bytes or IPv6 text, fields with a default left out.
 *
 * @category models
 * @since 0.1.0
 */
export type Input = typeof AddressHandleAttributes.Encoded

/**
 * {@link AddressHandleAttributes} with a route by GID, without which some calls have nothing to go by.
 *
 * @category schemas
 * @since 0.1.0
 */
export const RoutedAttributes = Schema.Struct({ ...AddressHandleAttributes.fields, grh: GlobalRoute })

/**
 * The type of {@link RoutedAttributes}.
 *
 * @category models
 * @since 0.1.0
 */
export type RoutedAttributes = typeof RoutedAttributes.Type

/**
 * Whether the address is a multicast group: a multicast GID, or a LID of the multicast range.
 *
 * @category guards
 * @since 0.1.0
 */
export const isMulticast = (attributes: AddressHandleAttributes): boolean =>
  attributes.grh === undefined ? Lid.isMulticast(attributes.dlid) : Gid.isMulticast(attributes.grh.dgid)
