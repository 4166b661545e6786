/**
 * The attributes of a shared receive queue: `struct ibv_srq_attr` of `ibv_create_srq(3)` and `ibv_modify_srq(3)`, and
 * `struct ibv_tm_cap` of `ibv_create_srq_ex(3)`, as schemas with the true range of every field.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

const u32 = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 0xffff_ffff }))

/**
 * Room for `maxWr` receives of up to `maxSge` pieces each.
 *
 * @category schemas
 * @since 0.1.0
 */
export const SharedReceiveQueueAttributes = Schema.Struct({
  maxWr: u32,
  maxSge: u32.pipe(Schema.withDecodingDefault(Effect.succeed(1)))
})

/**
 * @category models
 * @since 0.1.0
 */
export type SharedReceiveQueueAttributes = typeof SharedReceiveQueueAttributes.Type

/**
 * What a caller writes.
 *
 * @category models
 * @since 0.1.0
 */
export type Input = typeof SharedReceiveQueueAttributes.Encoded

/**
 * What `ibv_modify_srq` changes: a new `maxWr`, where the device can resize, and the number of receives below which it
 * tells once that they run out (`IBV_EVENT_SRQ_LIMIT_REACHED`); 0 disarms.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Modification = Schema.Struct({
  maxWr: Schema.optionalKey(u32),
  srqLimit: Schema.optionalKey(u32)
})

/**
 * @category models
 * @since 0.1.0
 */
export type Modification = typeof Modification.Type

/**
 * What `ibv_query_srq` tells.
 *
 * @category models
 * @since 0.1.0
 */
export interface Reported {
  readonly maxWr: number
  readonly maxSge: number
  readonly srqLimit: number
}

/**
 * The tags that a tag matching queue has room for, and how many operations on them may be under way.
 *
 * @category schemas
 * @since 0.1.0
 */
export const TagMatching = Schema.Struct({
  maxNumTags: u32.check(Schema.isGreaterThan(0)),
  maxOps: u32.pipe(Schema.withDecodingDefault(Effect.succeed(16)))
})

/**
 * @category models
 * @since 0.1.0
 */
export type TagMatching = typeof TagMatching.Type
