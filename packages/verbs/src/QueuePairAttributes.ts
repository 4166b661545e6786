/**
 * The attributes of a queue pair: `struct ibv_qp_attr` of `ibv_modify_qp(3)` and `struct ibv_qp_cap` of `ibv_create_qp(3)`,
 * as schemas with the true range of every field.
 *
 * @since 0.1.0
 */
import * as Enumeration from "@effect-rdma/core/Enumeration"
import * as Identifier from "@effect-rdma/core/Identifier"
import * as Mtu from "@effect-rdma/core/Mtu"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as AccessFlags from "./AccessFlags.ts"
import * as AddressHandleAttributes from "./AddressHandleAttributes.ts"
import * as QueuePairState from "./QueuePairState.ts"

const unsigned = (bits: number) => Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 2 ** bits - 1 }))
const u8 = unsigned(8)
const u32 = unsigned(32)

/** Five bits that stand for a time, and three that stand for a count. */
const time = unsigned(5)
const count = unsigned(3)

const or = <S extends Schema.Constraint>(schema: S, value: S["Encoded"]) =>
  Schema.withDecodingDefault<S>(Effect.succeed(value))(schema)

/**
 * The room of a queue pair: `struct ibv_qp_cap`. The default is room for 16 requests of one piece each way. A queue pair on
 * a shared receive queue has no room of its own for receives.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Capacities = Schema.Struct({
  maxSendWr: or(u32, 16),
  maxRecvWr: or(u32, 16),
  maxSendSge: or(u32, 1),
  maxRecvSge: or(u32, 1),
  maxInlineData: or(u32, 0)
})

/**
 * @category models
 * @since 0.1.0
 */
export type Capacities = typeof Capacities.Type

const migrationStates = Enumeration.make("MigrationState", [
  ["migrated", 0, "MIGRATED"],
  ["rearm", 1, "REARM"],
  ["armed", 2, "ARMED"]
])

/**
 * Schema for the state of automatic path migration: `ibv_qp_attr.path_mig_state`.
 *
 * @category schemas
 * @since 0.1.0
 */
export const MigrationState = migrationStates.schema

/**
 * @category models
 * @since 0.1.0
 */
export type MigrationState = typeof MigrationState.Type

/**
 * Reads `enum ibv_mig_state`.
 *
 * @category constructors
 * @since 0.1.0
 */
export const migrationStateFromNative = migrationStates.fromNative

/**
 * The number of a migration state in `enum ibv_mig_state`.
 *
 * @category getters
 * @since 0.1.0
 */
export const migrationStateToNative = migrationStates.toNative

/**
 * The alternate path: the four fields that the mask bit `IBV_QP_ALT_PATH` covers. Not on RoCE.
 *
 * @category schemas
 * @since 0.1.0
 */
export const AlternatePath = Schema.Struct({
  ahAttr: AddressHandleAttributes.AddressHandleAttributes,
  pkeyIndex: or(Identifier.PKeyIndex, 0),
  portNum: Identifier.PortNumber,
  timeout: or(time, 14)
})

/**
 * @category models
 * @since 0.1.0
 */
export type AlternatePath = typeof AlternatePath.Type

/**
 * The schema of each attribute that can be set, by its name. Each has one bit in the mask of `ibv_modify_qp`: see
 * {@link maskBits}.
 *
 * `timeout` is 4.096 µs times 2 to its power, 0 for ever; `rnrRetry` 7 is for ever too; `minRnrTimer` is an index into
 * the table of `ibv_modify_qp(3)`; `rateLimit` is in kb/s.
 *
 * @category schemas
 * @since 0.1.0
 */
export const fields = {
  qpState: QueuePairState.QueuePairState,
  curQpState: QueuePairState.QueuePairState,
  enSqdAsyncNotify: Schema.Boolean,
  qpAccessFlags: AccessFlags.AccessFlags,
  pkeyIndex: Identifier.PKeyIndex,
  portNum: Identifier.PortNumber,
  qkey: Identifier.QKey,
  ahAttr: AddressHandleAttributes.AddressHandleAttributes,
  pathMtu: Mtu.Mtu,
  timeout: time,
  retryCnt: count,
  rnrRetry: count,
  rqPsn: Identifier.Psn,
  maxRdAtomic: u8,
  altPath: AlternatePath,
  minRnrTimer: time,
  sqPsn: Identifier.Psn,
  maxDestRdAtomic: u8,
  pathMigState: MigrationState,
  cap: Capacities,
  destQpNum: Identifier.Qpn,
  rateLimit: u32
} as const

/**
 * The name of an attribute that can be set.
 *
 * @category models
 * @since 0.1.0
 */
export type Attribute = keyof typeof fields

/**
 * The bit of each attribute in the mask of `ibv_modify_qp`: `enum ibv_qp_attr_mask`.
 *
 * @category constants
 * @since 0.1.0
 */
export const maskBits: { readonly [Name in Attribute]: number } = {
  qpState: 1 << 0,
  curQpState: 1 << 1,
  enSqdAsyncNotify: 1 << 2,
  qpAccessFlags: 1 << 3,
  pkeyIndex: 1 << 4,
  portNum: 1 << 5,
  qkey: 1 << 6,
  ahAttr: 1 << 7,
  pathMtu: 1 << 8,
  timeout: 1 << 9,
  retryCnt: 1 << 10,
  rnrRetry: 1 << 11,
  rqPsn: 1 << 12,
  maxRdAtomic: 1 << 13,
  altPath: 1 << 14,
  minRnrTimer: 1 << 15,
  sqPsn: 1 << 16,
  maxDestRdAtomic: 1 << 17,
  pathMigState: 1 << 18,
  cap: 1 << 19,
  destQpNum: 1 << 20,
  rateLimit: 1 << 25
}

const names = Object.keys(maskBits) as ReadonlyArray<Attribute>

/**
 * The mask that goes with some attributes: the bits of those that are there.
 *
 * ```ts
 * import { QueuePairAttributes } from "@effect-rdma/verbs"
 *
 * QueuePairAttributes.maskOf({ qpState: "err" }) // => 1
 * ```
 *
 * @category getters
 * @since 0.1.0
 */
export const maskOf = (attributes: { readonly [Name in Attribute]?: unknown }): number =>
  names.reduce((mask, name) => attributes[name] === undefined ? mask : mask | maskBits[name], 0)

/**
 * The attributes of a mask.
 *
 * @category getters
 * @since 0.1.0
 */
export const attributesOf = (mask: number): ReadonlyArray<Attribute> =>
  names.filter((name) => (mask & maskBits[name]) !== 0)

const optional = Schema.optionalKey

/**
 * Any attributes, for one call of `ibv_modify_qp`. Those that are there are set, and the mask says so.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Modification = Schema.Struct({
  qpState: optional(fields.qpState),
  curQpState: optional(fields.curQpState),
  enSqdAsyncNotify: optional(fields.enSqdAsyncNotify),
  qpAccessFlags: optional(fields.qpAccessFlags),
  pkeyIndex: optional(fields.pkeyIndex),
  portNum: optional(fields.portNum),
  qkey: optional(fields.qkey),
  ahAttr: optional(fields.ahAttr),
  pathMtu: optional(fields.pathMtu),
  timeout: optional(fields.timeout),
  retryCnt: optional(fields.retryCnt),
  rnrRetry: optional(fields.rnrRetry),
  rqPsn: optional(fields.rqPsn),
  maxRdAtomic: optional(fields.maxRdAtomic),
  altPath: optional(fields.altPath),
  minRnrTimer: optional(fields.minRnrTimer),
  sqPsn: optional(fields.sqPsn),
  maxDestRdAtomic: optional(fields.maxDestRdAtomic),
  pathMigState: optional(fields.pathMigState),
  cap: optional(fields.cap),
  destQpNum: optional(fields.destQpNum),
  rateLimit: optional(fields.rateLimit)
})

/**
 * @category models
 * @since 0.1.0
 */
export type Modification = typeof Modification.Type

/**
 * What `ibv_query_qp(3)` tells. What was never set is 0 or what the provider left there.
 *
 * @category models
 * @since 0.1.0
 */
export interface QueuePairAttributes {
  readonly qpState: QueuePairState.ReportedQueuePairState
  readonly curQpState: QueuePairState.ReportedQueuePairState
  readonly pathMtu: Mtu.ReportedMtu
  readonly pathMigState: MigrationState | "unknown"
  readonly qkey: Identifier.QKey
  readonly rqPsn: Identifier.Psn
  readonly sqPsn: Identifier.Psn
  readonly destQpNum: Identifier.Qpn
  readonly qpAccessFlags: AccessFlags.AccessFlags
  readonly cap: Capacities
  /** `undefined` while no address was set. */
  readonly ahAttr: AddressHandleAttributes.AddressHandleAttributes | undefined
  /** `undefined` while no alternate path was set. */
  readonly altPath: AlternatePath | undefined
  readonly pkeyIndex: Identifier.PKeyIndex
  readonly enSqdAsyncNotify: boolean
  readonly sqDraining: boolean
  readonly maxRdAtomic: number
  readonly maxDestRdAtomic: number
  readonly minRnrTimer: number
  /** 0 while no port was set. */
  readonly portNum: Identifier.AnyPortNumber
  readonly timeout: number
  readonly retryCnt: number
  readonly rnrRetry: number
  readonly rateLimit: number
}
