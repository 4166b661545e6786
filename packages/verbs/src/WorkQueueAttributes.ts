/**
 * What a work queue is made from and how it is changed: `struct ibv_wq_init_attr` of `ibv_create_wq(3)` and `struct
 * ibv_wq_attr` of `ibv_modify_wq(3)`, as schemas with the true range of every field.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

const u32 = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 0xffff_ffff }))

/**
 * `enum ibv_wq_flags`: `"cvlanStripping"` takes the VLAN tag out of a packet, `"scatterFcs"` leaves its checksum at its
 * end, `"delayDrop"` lets packets wait for a receive request, `"pciWriteEndPadding"` fills the last cache line.
 *
 * @category schemas
 * @since 0.1.0
 */
export const WorkQueueFlag = Schema.Literals(["cvlanStripping", "scatterFcs", "delayDrop", "pciWriteEndPadding"])

/**
 * @category models
 * @since 0.1.0
 */
export type WorkQueueFlag = typeof WorkQueueFlag.Type

/**
 * `enum ibv_wq_state` but for `IBV_WQS_UNKNOWN`, which no queue can be moved to.
 *
 * @category schemas
 * @since 0.1.0
 */
export const WorkQueueState = Schema.Literals(["reset", "rdy", "err"])

/**
 * @category models
 * @since 0.1.0
 */
export type WorkQueueState = typeof WorkQueueState.Type

/**
 * Room for `maxWr` receive requests of `maxSge` pieces each, at least. The type is always `IBV_WQT_RQ`: there is no other.
 *
 * @category schemas
 * @since 0.1.0
 */
export const WorkQueueAttributes = Schema.Struct({
  maxWr: u32,
  maxSge: u32.pipe(Schema.withDecodingDefault(Effect.succeed(1))),
  createFlags: Schema.Array(WorkQueueFlag).pipe(Schema.withDecodingDefault(Effect.succeed([])))
})

/**
 * @category models
 * @since 0.1.0
 */
export type WorkQueueAttributes = typeof WorkQueueAttributes.Type

/**
 * What a caller writes.
 *
 * @category models
 * @since 0.1.0
 */
export type Input = typeof WorkQueueAttributes.Encoded

/**
 * What is changed; what is left out stays. `currWqState` is the state that the queue must be in. `flags` names each flag
 * that is set or cleared.
 *
 * @category schemas
 * @since 0.1.0
 */
export const WorkQueueChanges = Schema.Struct({
  wqState: Schema.optionalKey(WorkQueueState),
  currWqState: Schema.optionalKey(WorkQueueState),
  flags: Schema.optionalKey(Schema.Struct({
    cvlanStripping: Schema.optionalKey(Schema.Boolean),
    scatterFcs: Schema.optionalKey(Schema.Boolean),
    delayDrop: Schema.optionalKey(Schema.Boolean),
    pciWriteEndPadding: Schema.optionalKey(Schema.Boolean)
  }))
})

/**
 * @category models
 * @since 0.1.0
 */
export type WorkQueueChanges = typeof WorkQueueChanges.Type
