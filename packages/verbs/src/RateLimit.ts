/**
 * How fast a queue pair may send: `struct ibv_qp_rate_limit_attr` of `ibv_modify_qp_rate_limit(3)`.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

const unsigned = (maximum: number) => Schema.Int.check(Schema.isBetween({ minimum: 0, maximum }))
const orZero = (maximum: number) => unsigned(maximum).pipe(Schema.withDecodingDefault(Effect.succeed(0)))

/**
 * `rateLimit` is in kb/s, 0 for none. `maxBurstSz` is how many bytes may leave at the speed of the link, `typicalPktSz`
 * the usual size of a packet in bytes; 0 leaves either to the device, and they go with a `rateLimit` only.
 *
 * @category schemas
 * @since 0.1.0
 */
export const RateLimit = Schema.Struct({
  rateLimit: unsigned(0xffff_ffff),
  maxBurstSz: orZero(0xffff_ffff),
  typicalPktSz: orZero(0xffff)
})

/**
 * The type of {@link RateLimit}.
 *
 * @category models
 * @since 0.1.0
 */
export type RateLimit = typeof RateLimit.Type
