/**
 * What a completion queue is made from: the arguments of `ibv_create_cq(3)` as a schema with the true range of each.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

/** @internal */
export const Cqe = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 0x7fff_ffff }))

/**
 * `cqe` is how many completions the queue must hold at least; `compVector` the interrupt that tells of them, one of
 * `DeviceContext.numCompVectors`.
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
