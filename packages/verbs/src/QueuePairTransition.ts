/**
 * Which attributes each transition of a queue pair needs and which it takes, by type: the rules of the InfiniBand
 * specification in the form that the Linux kernel enforces (`ibv_modify_qp(3)` has the usual ones).
 *
 * @since 0.1.0
 */
import * as QueuePairAttributes from "./QueuePairAttributes.ts"
import * as QueuePairState from "./QueuePairState.ts"
import * as QueuePairType from "./QueuePairType.ts"

type Attribute = QueuePairAttributes.Attribute
type State = QueuePairState.QueuePairState
type Type = QueuePairType.QueuePairType

/**
 * What a transition needs and takes beside the state itself.
 *
 * @category models
 * @since 0.1.0
 */
export interface Rule {
  readonly required: ReadonlyArray<Attribute>
  readonly optional: ReadonlyArray<Attribute>
}

type Attributes = { readonly [T in Type]?: ReadonlyArray<Attribute> }

interface Entry {
  readonly required?: Attributes
  readonly optional?: Attributes
}

const onPort: ReadonlyArray<Attribute> = ["pkeyIndex", "portNum"]
const connected: ReadonlyArray<Attribute> = [...onPort, "qpAccessFlags"]
const datagram: ReadonlyArray<Attribute> = [...onPort, "qkey"]
const connectedTypes = (attributes: ReadonlyArray<Attribute>) => ({
  rc: attributes,
  uc: attributes,
  xrcSend: attributes,
  xrcRecv: attributes
})

const path: ReadonlyArray<Attribute> = ["ahAttr", "pathMtu", "destQpNum", "rqPsn"]
const responder: ReadonlyArray<Attribute> = [...path, "maxDestRdAtomic", "minRnrTimer"]
const requester: ReadonlyArray<Attribute> = ["timeout", "retryCnt", "rnrRetry", "sqPsn", "maxRdAtomic"]

const whileSending: ReadonlyArray<Attribute> = ["curQpState", "altPath", "qpAccessFlags", "pathMigState"]
const whileAnswering: ReadonlyArray<Attribute> = [...whileSending, "minRnrTimer"]
const sending: Attributes = {
  ud: ["curQpState", "qkey"],
  uc: whileSending,
  rc: whileAnswering,
  xrcSend: whileSending,
  xrcRecv: whileAnswering
}

const drained: ReadonlyArray<Attribute> = [
  "portNum",
  "ahAttr",
  "timeout",
  "altPath",
  "qpAccessFlags",
  "pkeyIndex",
  "pathMigState"
]

const always: Entry = {}

const table: { readonly [From in State]: { readonly [To in State]?: Entry } } = {
  reset: {
    reset: always,
    init: { required: { ...connectedTypes(connected), ud: datagram, rawPacket: ["portNum"] } }
  },
  init: {
    reset: always,
    err: always,
    init: { optional: { ...connectedTypes(connected), ud: datagram } },
    rtr: {
      required: { uc: path, rc: responder, xrcSend: path, xrcRecv: responder },
      optional: { ...connectedTypes(["altPath", "qpAccessFlags", "pkeyIndex"]), ud: ["pkeyIndex", "qkey"] }
    }
  },
  rtr: {
    reset: always,
    err: always,
    rts: {
      required: { ud: ["sqPsn"], uc: ["sqPsn"], rc: requester, xrcSend: requester, xrcRecv: ["timeout", "sqPsn"] },
      optional: { ...sending, rawPacket: ["rateLimit"] }
    }
  },
  rts: {
    reset: always,
    err: always,
    rts: { optional: { ...sending, rawPacket: ["rateLimit"] } },
    sqd: { optional: { ...connectedTypes(["enSqdAsyncNotify"]), ud: ["enSqdAsyncNotify"] } }
  },
  sqd: {
    reset: always,
    err: always,
    rts: { optional: sending },
    sqd: {
      optional: {
        ud: ["pkeyIndex", "qkey"],
        uc: ["ahAttr", "altPath", "qpAccessFlags", "pkeyIndex", "pathMigState"],
        rc: [...drained, "retryCnt", "rnrRetry", "maxRdAtomic", "maxDestRdAtomic", "minRnrTimer"],
        xrcSend: [...drained, "retryCnt", "rnrRetry", "maxRdAtomic"],
        xrcRecv: [...drained, "maxDestRdAtomic", "minRnrTimer"]
      }
    }
  },
  sqe: {
    reset: always,
    err: always,
    rts: { optional: { ud: ["curQpState", "qkey"], uc: ["curQpState", "qpAccessFlags"] } }
  },
  err: { reset: always, err: always }
}

/**
 * The rule of a transition, `undefined` when there is no such transition.
 *
 * ```ts
 * import { QueuePairTransition } from "@effect-rdma/verbs"
 *
 * QueuePairTransition.ruleOf("ud", "rtr", "rts")?.required // => ["sqPsn"]
 * QueuePairTransition.ruleOf("rc", "init", "rts") // => undefined
 * ```
 *
 * @category getters
 * @since 0.1.0
 */
export const ruleOf = (type: Type, from: State, to: State): Rule | undefined => {
  const entry = table[from][to]
  return entry && { required: entry.required?.[type] ?? [], optional: entry.optional?.[type] ?? [] }
}

/**
 * Why some attributes do not make a transition.
 *
 * @category models
 * @since 0.1.0
 */
export interface Problem {
  readonly from: State
  readonly to: State
  /** There is no such transition; then nothing is missing and nothing is too much. */
  readonly impossible: boolean
  readonly missing: ReadonlyArray<Attribute>
  readonly excess: ReadonlyArray<Attribute>
}

/**
 * Compares attributes with the table; `undefined` when they make the transition. Without a `qpState` the queue pair is to
 * stay in its state. `curQpState` stands for the state that the caller believes in, where the table lets it.
 *
 * @category combinators
 * @since 0.1.0
 */
export const problemOf = (
  type: Type,
  state: State,
  attributes: QueuePairAttributes.Modification
): Problem | undefined => {
  const from = attributes.curQpState ?? state
  const to = attributes.qpState ?? from
  const rule = ruleOf(type, from, to)
  if (rule === undefined) return { from, to, impossible: true, missing: [], excess: [] }
  const given = QueuePairAttributes.attributesOf(QueuePairAttributes.maskOf(attributes))
  const missing = rule.required.filter((name) => !given.includes(name))
  const excess = given.filter((name) =>
    name !== "qpState" && !rule.required.includes(name) && !rule.optional.includes(name)
  )
  return missing.length === 0 && excess.length === 0 ? undefined : { from, to, impossible: false, missing, excess }
}

/**
 * A problem in a sentence, with what to do.
 *
 * @category getters
 * @since 0.1.0
 */
export const formatProblem = (type: Type, { excess, from, impossible, missing, to }: Problem): string => {
  const step = `${QueuePairType.format(type)} ${QueuePairState.format(from)} to ${QueuePairState.format(to)}`
  if (impossible) {
    const next = QueuePairState.all.filter((state) => ruleOf(type, from, state) !== undefined)
    return `No transition ${step}: from ${QueuePairState.format(from)} it goes to ${
      next.map(QueuePairState.format).join(", ")
    }`
  }
  const parts = [
    ...(missing.length === 0 ? [] : [`needs ${missing.join(", ")}`]),
    ...(excess.length === 0 ? [] : [`does not take ${excess.join(", ")}`])
  ]
  return `${step} ${parts.join(" and ")}`
}
