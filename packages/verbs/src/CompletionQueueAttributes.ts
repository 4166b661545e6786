/**
 * What a completion queue is made from: the arguments of `ibv_create_cq(3)`, and `struct ibv_cq_init_attr_ex` of
 * `ibv_create_cq_ex(3)`, as schemas with the true range of each field.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

/**
 * How many completions a queue must hold at least.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Cqe = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 0x7fff_ffff }))

/**
 * `compVector` is the interrupt that tells of completions, one of `DeviceContext.numCompVectors`.
 *
 * @category schemas
 * @since 0.1.0
 */
export const CompletionQueueAttributes = Schema.Struct({
  cqe: Cqe,
  compVector: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 0x7fff_ffff })).pipe(
    Schema.withDecodingDefault(Effect.succeed(0))
  )
})

/**
 * @category models
 * @since 0.1.0
 */
export type CompletionQueueAttributes = typeof CompletionQueueAttributes.Type

/**
 * What a caller writes.
 *
 * @category models
 * @since 0.1.0
 */
export type Input = typeof CompletionQueueAttributes.Encoded

/**
 * The bit of each part of a completion that an extended queue can be asked to report: `enum ibv_create_cq_wc_flags`.
 *
 * @category constants
 * @since 0.1.0
 */
export const wcFlagBits = {
  byteLen: 1,
  imm: 2,
  qpNum: 4,
  srcQp: 8,
  slid: 16,
  sl: 32,
  dlidPathBits: 64,
  completionTimestamp: 128,
  cvlan: 256,
  flowTag: 512,
  tmInfo: 1024,
  completionTimestampWallclock: 2048
} as const

/**
 * @category models
 * @since 0.1.0
 */
export type WcFlag = keyof typeof wcFlagBits

/**
 * Schema for {@link WcFlag}.
 *
 * @category schemas
 * @since 0.1.0
 */
export const WcFlag = Schema.Literals([
  "byteLen",
  "imm",
  "qpNum",
  "srcQp",
  "slid",
  "sl",
  "dlidPathBits",
  "completionTimestamp",
  "cvlan",
  "flowTag",
  "tmInfo",
  "completionTimestampWallclock"
])

/**
 * - `wcFlags`: what completions must report; by default what `ibv_poll_cq` reports.
 * - `singleThreaded`: the library need not lock the queue. On the JS thread that is always so.
 * - `ignoreOverrun`: the device need not watch for an overrun; the program takes care that none happens.
 *
 * @category schemas
 * @since 0.1.0
 */
export const ExtendedAttributes = Schema.Struct({
  ...CompletionQueueAttributes.fields,
  wcFlags: Schema.Array(WcFlag).pipe(
    Schema.withDecodingDefault(
      Effect.succeed(["byteLen", "imm", "qpNum", "srcQp", "slid", "sl", "dlidPathBits"] as const)
    )
  ),
  singleThreaded: Schema.Boolean.pipe(Schema.withDecodingDefault(Effect.succeed(false))),
  ignoreOverrun: Schema.Boolean.pipe(Schema.withDecodingDefault(Effect.succeed(false)))
})

/**
 * @category models
 * @since 0.1.0
 */
export type ExtendedAttributes = typeof ExtendedAttributes.Type

/**
 * What a caller writes.
 *
 * @category models
 * @since 0.1.0
 */
export type ExtendedInput = typeof ExtendedAttributes.Encoded

/**
 * `struct ibv_moderate_cq` of `ibv_modify_cq(3)`: an event after `cqCount` completions, or after `cqPeriod` µs.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Moderation = Schema.Struct({
  cqCount: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 0xffff })),
  cqPeriod: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 0xffff }))
})

/**
 * @category models
 * @since 0.1.0
 */
export type Moderation = typeof Moderation.Type
