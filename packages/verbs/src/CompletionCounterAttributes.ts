/**
 * What a completion counter counts: `struct ibv_comp_cntr_init_attr` and its kin of `ibv_create_comp_cntr(3)`.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

/**
 * `wrs` counts work requests, `bytes` their bytes.
 *
 * @category schemas
 * @since 0.1.0
 */
export const CompletionCounterAttributes = Schema.Struct({
  type: Schema.Literals(["wrs", "bytes"]).pipe(Schema.withDecodingDefault(Effect.succeed("wrs" as const)))
})

/**
 * @category models
 * @since 0.1.0
 */
export type CompletionCounterAttributes = typeof CompletionCounterAttributes.Type

/**
 * What a caller writes.
 *
 * @category models
 * @since 0.1.0
 */
export type Input = typeof CompletionCounterAttributes.Encoded

/**
 * What a counter holds: 64 bits. A device may count less far: `maxValue` of {@link Capabilities}.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Amount = Schema.BigInt.check(
  Schema.isBetweenBigInt({ minimum: 0n, maximum: 0xffff_ffff_ffff_ffffn })
)

/**
 * The bit of each kind of operation of a queue pair that a counter can be attached for: `enum ibv_qp_attach_comp_cntr_op`.
 *
 * @category constants
 * @since 0.1.0
 */
export const operationBits = {
  send: 1,
  recv: 2,
  rdmaRead: 4,
  remoteRdmaRead: 8,
  rdmaWrite: 16,
  remoteRdmaWrite: 32
} as const

/**
 * @category models
 * @since 0.1.0
 */
export type AttachedOperation = keyof typeof operationBits

/**
 * What a counter is attached for: at least one kind.
 *
 * @category schemas
 * @since 0.1.0
 */
export const AttachedOperations = Schema.NonEmptyArray(
  Schema.Literals(["send", "recv", "rdmaRead", "remoteRdmaRead", "rdmaWrite", "remoteRdmaWrite"])
)

/**
 * `struct ibv_comp_cntr_caps`: how far the device counts, with how many counters, and for what.
 *
 * @category models
 * @since 0.1.0
 */
export interface Capabilities {
  readonly maxValue: bigint
  readonly maxCounters: number
  readonly supportedQpAttachOps: ReadonlyArray<AttachedOperation>
}
