/**
 * The options of an id: `rdma_set_option(3)`.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"

const between = (minimum: number, maximum: number) => Schema.Int.check(Schema.isBetween({ minimum, maximum }))

/**
 * `TypeOfService` sets the traffic class of the packets, `ReuseAddress` lets several ids share an address while none
 * listens on it, `AddressFamilyOnly` keeps an id of IPv6 from getting IPv4 too, `AckTimeout` is the time until a packet is
 * repeated: 4.096 µs times 2 to its power, 0 for ever. They are set before what they change: resolving, binding, listening or
 * connecting.
 *
 * @category schemas
 * @since 0.1.0
 */
export const CmOption = Schema.TaggedUnion({
  TypeOfService: { value: between(0, 0xff) },
  ReuseAddress: { value: Schema.Boolean },
  AddressFamilyOnly: { value: Schema.Boolean },
  AckTimeout: { value: between(0, 31) }
})

/**
 * The type of {@link CmOption}.
 *
 * @category models
 * @since 0.1.0
 */
export type CmOption = typeof CmOption.Type
