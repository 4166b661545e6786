/**
 * How ESP packets are encrypted and decrypted: `struct ibv_flow_action_esp_attr` of `ibv_create_flow_action_esp`, see
 * `ibv_flow_action_esp(3)`, as schemas with the true range of every field.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

const u32 = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 0xffff_ffff }))
const u64 = Schema.BigInt.check(Schema.isBetweenBigInt({ minimum: 0n, maximum: 0xffff_ffff_ffff_ffffn }))
const u32OrZero = u32.pipe(Schema.withDecodingDefault(Effect.succeed(0)))
const u64OrZero = u64.pipe(Schema.withDecodingDefault(Effect.succeed(0n)))

/**
 * `struct ibv_flow_action_esp`. With `"inlineCrypto"` the packet brings its ESP header along; `spi`, `seq`, `tfcPad` and
 * `hardLimitPkts` count only for `"fullOffload"`.
 *
 * @category schemas
 * @since 0.1.0
 */
export const EspHeader = Schema.Struct({
  spi: u32OrZero,
  seq: u32OrZero,
  tfcPad: u32OrZero,
  hardLimitPkts: u64OrZero,
  offload: Schema.Literals(["inlineCrypto", "fullOffload"]).pipe(
    Schema.withDecodingDefault(Effect.succeed("inlineCrypto" as const))
  ),
  mode: Schema.Literals(["tunnel", "transport"]).pipe(Schema.withDecodingDefault(Effect.succeed("tunnel" as const))),
  direction: Schema.Literals(["decrypt", "encrypt"]).pipe(
    Schema.withDecodingDefault(Effect.succeed("decrypt" as const))
  ),
  esnNewWindow: Schema.Boolean.pipe(Schema.withDecodingDefault(Effect.succeed(false)))
})

/**
 * The key of AES-GCM, 16, 24 or 32 bytes; `icvLen` is the length of the integrity check in bytes.
 *
 * @category schemas
 * @since 0.1.0
 */
export const AesGcm = Schema.Struct({
  iv: u64OrZero,
  ivAlgo: Schema.Literals(["seq"]).pipe(Schema.withDecodingDefault(Effect.succeed("seq" as const))),
  salt: u32OrZero,
  icvLen: u32.pipe(Schema.withDecodingDefault(Effect.succeed(16))),
  aesKey: Schema.Uint8Array.check(
    Schema.makeFilter((key) => [16, 24, 32].includes(key.length) || "a key of AES has 16, 24 or 32 bytes")
  )
})

const common = {
  /** The window against replay, in packets; without it none. */
  replay: Schema.optionalKey(Schema.Struct({ size: u32 })),
  /** The upper half of the extended sequence number; without it sequence numbers have 32 bits. */
  esn: Schema.optionalKey(u32)
}

/**
 * What an action is made from.
 *
 * @category schemas
 * @since 0.1.0
 */
export const FlowActionAttributes = Schema.Struct({
  ...common,
  espAttr: EspHeader.pipe(Schema.withDecodingDefault(Effect.succeed({}))),
  keymat: AesGcm
})

/**
 * @category models
 * @since 0.1.0
 */
export type FlowActionAttributes = typeof FlowActionAttributes.Type

/**
 * What a caller writes to make one.
 *
 * @category models
 * @since 0.1.0
 */
export type Input = typeof FlowActionAttributes.Encoded

/**
 * What can be changed in one; what is left out stays.
 *
 * @category schemas
 * @since 0.1.0
 */
export const FlowActionChanges = Schema.Struct({
  ...common,
  espAttr: Schema.optionalKey(EspHeader),
  keymat: Schema.optionalKey(AesGcm)
})

/**
 * @category models
 * @since 0.1.0
 */
export type FlowActionChanges = typeof FlowActionChanges.Type

/**
 * What a caller writes to change one.
 *
 * @category models
 * @since 0.1.0
 */
export type ChangesInput = typeof FlowActionChanges.Encoded
