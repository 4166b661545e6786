/**
 * What a completed UD receive tells about its sender: the part of `struct ibv_wc` and the routing header that
 * `ibv_create_ah_from_wc(3)` needs to answer.
 *
 * @since 0.1.0
 */
import * as Identifier from "@effect-rdma/core/Identifier"
import * as Lid from "@effect-rdma/core/Lid"
import * as Schema from "effect/Schema"
import * as SchemaTransformation from "effect/SchemaTransformation"

/**
 * Bytes of the global routing header that a UD receive puts in front of the payload.
 *
 * @category constants
 * @since 0.1.0
 */
export const routingHeaderBytes = 40

// A copy: the receive buffer is the caller's, who may give it to the next receive at any time.
const RoutingHeaderBytes = Schema.Uint8Array.check(
  Schema.makeFilter((bytes: Uint8Array) => bytes.length === routingHeaderBytes || "a routing header has 40 bytes")
).pipe(Schema.decodeTo(
  Schema.Uint8Array,
  SchemaTransformation.transform<Uint8Array, Uint8Array>({ decode: (bytes) => bytes.slice(), encode: (bytes) => bytes })
))

/**
 * `slid`, `sl` and `dlidPathBits` as in the work completion. `grh` holds the first 40 bytes of the receive buffer when
 * the completion has the flag `IBV_WC_GRH`, and is left out otherwise.
 *
 * @category schemas
 * @since 0.1.0
 */
export const ReceivedDatagram = Schema.Struct({
  slid: Lid.Lid,
  sl: Identifier.ServiceLevel,
  dlidPathBits: Identifier.PathBits,
  grh: Schema.optionalKey(RoutingHeaderBytes)
})

/**
 * The type of {@link ReceivedDatagram}.
 *
 * @category models
 * @since 0.1.0
 */
export type ReceivedDatagram = typeof ReceivedDatagram.Type
