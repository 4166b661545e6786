/**
 * Enhanced connection establishment: what `ibv_query_ece(3)` and `ibv_set_ece(3)` exchange between two ends that may be of
 * different vendors.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"

const u32 = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 0xffff_ffff }))

/**
 * `struct ibv_ece`. The options mean something to one vendor only; `compMask` is 0 today.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Ece = Schema.Struct({ vendorId: u32, options: u32, compMask: u32 })

/**
 * @category models
 * @since 0.1.0
 */
export type Ece = typeof Ece.Type
