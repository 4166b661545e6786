/**
 * The attributes of the three steps that bring a queue pair to life, RESET to INIT to RTR to RTS, by its type: exactly
 * those that the transition takes, with defaults that survive a busy or slow peer.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as QueuePairAttributes from "./QueuePairAttributes.ts"
import type * as QueuePairType from "./QueuePairType.ts"

const { fields } = QueuePairAttributes
const optional = Schema.optionalKey
const or = <S extends Schema.Constraint>(schema: S, value: S["Encoded"]) =>
  Schema.withDecodingDefault<S>(Effect.succeed(value))(schema)

const connectedInit = Schema.Struct({
  portNum: fields.portNum,
  pkeyIndex: or(fields.pkeyIndex, 0),
  qpAccessFlags: or(fields.qpAccessFlags, [])
})

/**
 * RESET to INIT. The P_Key index is 0 and no remote access is given unless asked for.
 *
 * @category schemas
 * @since 0.1.0
 */
export const init = {
  rc: connectedInit,
  uc: connectedInit,
  xrcSend: connectedInit,
  xrcRecv: connectedInit,
  ud: Schema.Struct({ portNum: fields.portNum, pkeyIndex: or(fields.pkeyIndex, 0), qkey: fields.qkey }),
  rawPacket: Schema.Struct({ portNum: fields.portNum })
} as const

/**
 * What the step to INIT takes.
 *
 * @category models
 * @since 0.1.0
 */
export type Init<Type extends QueuePairType.QueuePairType> = (typeof init)[Type]["Encoded"]

const path = {
  ahAttr: fields.ahAttr,
  pathMtu: optional(fields.pathMtu),
  destQpNum: fields.destQpNum,
  rqPsn: fields.rqPsn,
  altPath: optional(fields.altPath),
  qpAccessFlags: optional(fields.qpAccessFlags),
  pkeyIndex: optional(fields.pkeyIndex)
}

const responder = Schema.Struct({
  ...path,
  maxDestRdAtomic: or(fields.maxDestRdAtomic, 1),
  minRnrTimer: or(fields.minRnrTimer, 12)
})

/**
 * INIT to RTR. Without a `pathMtu` it is the active MTU of the port; one read or atomic at a time is answered, and a sender
 * that finds no receive waits 0.64 ms (12), unless asked for otherwise.
 *
 * @category schemas
 * @since 0.1.0
 */
export const rtr = {
  rc: responder,
  uc: Schema.Struct(path),
  xrcSend: Schema.Struct(path),
  xrcRecv: responder,
  ud: Schema.Struct({ pkeyIndex: optional(fields.pkeyIndex), qkey: optional(fields.qkey) }),
  rawPacket: Schema.Struct({})
} as const

/**
 * What the step to RTR takes.
 *
 * @category models
 * @since 0.1.0
 */
export type Rtr<Type extends QueuePairType.QueuePairType> = (typeof rtr)[Type]["Encoded"]

const sending = {
  sqPsn: fields.sqPsn,
  curQpState: optional(fields.curQpState),
  altPath: optional(fields.altPath),
  qpAccessFlags: optional(fields.qpAccessFlags),
  pathMigState: optional(fields.pathMigState)
}

const requester = {
  ...sending,
  timeout: or(fields.timeout, 14),
  retryCnt: or(fields.retryCnt, 6),
  rnrRetry: or(fields.rnrRetry, 7),
  maxRdAtomic: or(fields.maxRdAtomic, 1)
}

/**
 * RTR to RTS. An unanswered packet is sent again after 67 ms (14) up to 6 times, since Soft-RoCE takes 7 for ever; a
 * receiver that is not ready is waited for without end (7), and one read or atomic is under way at a time, unless asked
 * for otherwise.
 *
 * @category schemas
 * @since 0.1.0
 */
export const rts = {
  rc: Schema.Struct({ ...requester, minRnrTimer: optional(fields.minRnrTimer) }),
  uc: Schema.Struct(sending),
  xrcSend: Schema.Struct(requester),
  xrcRecv: Schema.Struct({ ...sending, timeout: requester.timeout, minRnrTimer: optional(fields.minRnrTimer) }),
  ud: Schema.Struct({
    sqPsn: fields.sqPsn,
    curQpState: optional(fields.curQpState),
    qkey: optional(fields.qkey)
  }),
  rawPacket: Schema.Struct({ rateLimit: optional(fields.rateLimit) })
} as const

/**
 * What the step to RTS takes.
 *
 * @category models
 * @since 0.1.0
 */
export type Rts<Type extends QueuePairType.QueuePairType> = (typeof rts)[Type]["Encoded"]
