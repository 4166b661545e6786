import * as QueuePairAttributes from "@effect-rdma/verbs/QueuePairAttributes"
import * as QueuePairState from "@effect-rdma/verbs/QueuePairState"
import * as QueuePairSteps from "@effect-rdma/verbs/QueuePairSteps"
import * as QueuePairTransition from "@effect-rdma/verbs/QueuePairTransition"
import * as QueuePairType from "@effect-rdma/verbs/QueuePairType"
import { assert, describe, it } from "@effect/vitest"
import * as Schema from "effect/Schema"

// The names of `enum ibv_qp_attr_mask` without IBV_QP_, as ibv_modify_qp(3) lists them: what is needed | what is taken.
const expected: { readonly [transition: string]: { readonly [types: string]: string } } = {
  "reset reset": {},
  "reset init": {
    "rc uc xrcSend xrcRecv": "PKEY_INDEX PORT ACCESS_FLAGS |",
    ud: "PKEY_INDEX PORT QKEY |",
    rawPacket: "PORT |"
  },
  "init reset": {},
  "init err": {},
  "init init": { "rc uc xrcSend xrcRecv": "| PKEY_INDEX PORT ACCESS_FLAGS", ud: "| PKEY_INDEX PORT QKEY" },
  "init rtr": {
    "rc xrcRecv": "AV PATH_MTU DEST_QPN RQ_PSN MAX_DEST_RD_ATOMIC MIN_RNR_TIMER | ALT_PATH ACCESS_FLAGS PKEY_INDEX",
    "uc xrcSend": "AV PATH_MTU DEST_QPN RQ_PSN | ALT_PATH ACCESS_FLAGS PKEY_INDEX",
    ud: "| PKEY_INDEX QKEY"
  },
  "rtr reset": {},
  "rtr err": {},
  "rtr rts": {
    rc:
      "TIMEOUT RETRY_CNT RNR_RETRY SQ_PSN MAX_QP_RD_ATOMIC | CUR_STATE ALT_PATH ACCESS_FLAGS MIN_RNR_TIMER PATH_MIG_STATE",
    xrcSend: "TIMEOUT RETRY_CNT RNR_RETRY SQ_PSN MAX_QP_RD_ATOMIC | CUR_STATE ALT_PATH ACCESS_FLAGS PATH_MIG_STATE",
    xrcRecv: "TIMEOUT SQ_PSN | CUR_STATE ALT_PATH ACCESS_FLAGS MIN_RNR_TIMER PATH_MIG_STATE",
    uc: "SQ_PSN | CUR_STATE ALT_PATH ACCESS_FLAGS PATH_MIG_STATE",
    ud: "SQ_PSN | CUR_STATE QKEY",
    rawPacket: "| RATE_LIMIT"
  },
  "rts reset": {},
  "rts err": {},
  "rts rts": {
    "rc xrcRecv": "| CUR_STATE ACCESS_FLAGS ALT_PATH PATH_MIG_STATE MIN_RNR_TIMER",
    "uc xrcSend": "| CUR_STATE ACCESS_FLAGS ALT_PATH PATH_MIG_STATE",
    ud: "| CUR_STATE QKEY",
    rawPacket: "| RATE_LIMIT"
  },
  "rts sqd": { "rc uc ud xrcSend xrcRecv": "| EN_SQD_ASYNC_NOTIFY" },
  "sqd reset": {},
  "sqd err": {},
  "sqd rts": {
    "rc xrcRecv": "| CUR_STATE ALT_PATH ACCESS_FLAGS MIN_RNR_TIMER PATH_MIG_STATE",
    "uc xrcSend": "| CUR_STATE ALT_PATH ACCESS_FLAGS PATH_MIG_STATE",
    ud: "| CUR_STATE QKEY"
  },
  "sqd sqd": {
    rc:
      "| PORT AV TIMEOUT RETRY_CNT RNR_RETRY MAX_QP_RD_ATOMIC MAX_DEST_RD_ATOMIC ALT_PATH ACCESS_FLAGS PKEY_INDEX MIN_RNR_TIMER PATH_MIG_STATE",
    xrcSend: "| PORT AV TIMEOUT RETRY_CNT RNR_RETRY MAX_QP_RD_ATOMIC ALT_PATH ACCESS_FLAGS PKEY_INDEX PATH_MIG_STATE",
    xrcRecv: "| PORT AV TIMEOUT MAX_DEST_RD_ATOMIC ALT_PATH ACCESS_FLAGS PKEY_INDEX MIN_RNR_TIMER PATH_MIG_STATE",
    uc: "| AV ALT_PATH ACCESS_FLAGS PKEY_INDEX PATH_MIG_STATE",
    ud: "| PKEY_INDEX QKEY"
  },
  "sqe reset": {},
  "sqe err": {},
  "sqe rts": { uc: "| CUR_STATE ACCESS_FLAGS", ud: "| CUR_STATE QKEY" },
  "err reset": {},
  "err err": {}
}

// The bits as C has them, so that a wrong bit in the sources shows.
const bits: { readonly [name: string]: number } = {
  CUR_STATE: 2,
  EN_SQD_ASYNC_NOTIFY: 4,
  ACCESS_FLAGS: 8,
  PKEY_INDEX: 16,
  PORT: 32,
  QKEY: 64,
  AV: 128,
  PATH_MTU: 256,
  TIMEOUT: 512,
  RETRY_CNT: 1024,
  RNR_RETRY: 2048,
  RQ_PSN: 4096,
  MAX_QP_RD_ATOMIC: 8192,
  ALT_PATH: 16384,
  MIN_RNR_TIMER: 32768,
  SQ_PSN: 65536,
  MAX_DEST_RD_ATOMIC: 131072,
  PATH_MIG_STATE: 262144,
  DEST_QPN: 1048576,
  RATE_LIMIT: 33554432
}

const maskOfNames = (names: string): number =>
  names.split(" ").filter((name) => name !== "").reduce((mask, name) => mask | (bits[name] ?? Number.NaN), 0)

const expectedOf = (type: string, from: string, to: string) => {
  const rules = expected[`${from} ${to}`]
  if (rules === undefined) return undefined
  const found = Object.entries(rules).find(([types]) => types.split(" ").includes(type))?.[1] ?? "|"
  const [required = "", optional = ""] = found.split("|")
  return { required: maskOfNames(required), optional: maskOfNames(optional) }
}

const maskOfAttributes = (names: ReadonlyArray<QueuePairAttributes.Attribute>): number =>
  names.reduce((mask, name) => mask | QueuePairAttributes.maskBits[name], 0)

describe("QueuePairTransition", () => {
  for (const type of QueuePairType.all) {
    it(`knows each of the 49 transitions of ${type}`, () => {
      for (const from of QueuePairState.all) {
        for (const to of QueuePairState.all) {
          const rule = QueuePairTransition.ruleOf(type, from, to)
          assert.deepStrictEqual(
            rule && { required: maskOfAttributes(rule.required), optional: maskOfAttributes(rule.optional) },
            expectedOf(type, from, to),
            `${type} ${from} ${to}`
          )
        }
      }
    })

    it(`has schemas for the steps of ${type} that take exactly what the transitions take`, () => {
      for (
        const [from, to, steps] of [["reset", "init", QueuePairSteps.init], ["init", "rtr", QueuePairSteps.rtr], [
          "rtr",
          "rts",
          QueuePairSteps.rts
        ]] as const
      ) {
        const rule = QueuePairTransition.ruleOf(type, from, to)
        assert(rule !== undefined)
        const names: ReadonlyArray<string> = Object.keys(steps[type].fields)
        assert.sameMembers<string>([...names], [...rule.required, ...rule.optional], `${type} ${from} ${to}`)
      }
    })
  }

  it("tells what is missing and what is too much", () => {
    const problem = QueuePairTransition.problemOf("rc", "reset", { qpState: "init", qkey: 1 as never })
    assert.deepStrictEqual(problem, {
      from: "reset",
      to: "init",
      impossible: false,
      missing: ["pkeyIndex", "portNum", "qpAccessFlags"],
      excess: ["qkey"]
    })
    assert.strictEqual(
      QueuePairTransition.formatProblem("rc", problem!),
      "RC RESET to INIT needs pkeyIndex, portNum, qpAccessFlags and does not take qkey"
    )
  })

  it("tells where a state leads to when there is no such transition", () => {
    const problem = QueuePairTransition.problemOf("uc", "init", { qpState: "rts" })
    assert.strictEqual(
      QueuePairTransition.formatProblem("uc", problem!),
      "No transition UC INIT to RTS: from INIT it goes to RESET, INIT, RTR, ERR"
    )
    assert.isTrue(QueuePairTransition.problemOf("rc", "reset", { qpState: "err" })?.impossible)
  })

  it("finds nothing wrong where nothing is", () => {
    assert.isUndefined(QueuePairTransition.problemOf("ud", "rtr", { qpState: "rts", sqPsn: 1 as never }))
    assert.isUndefined(QueuePairTransition.problemOf("rc", "rts", { minRnrTimer: 3 }))
    assert.isUndefined(QueuePairTransition.problemOf("ud", "sqe", { qpState: "rts", curQpState: "sqe" }))
    for (const type of QueuePairType.all) {
      for (const from of QueuePairState.all) {
        assert.isUndefined(QueuePairTransition.problemOf(type, from, { qpState: "reset" }))
      }
    }
  })
})

describe("QueuePairAttributes", () => {
  it("makes the mask of the attributes that are there, and back", () => {
    for (const [name, bit] of Object.entries(QueuePairAttributes.maskBits)) {
      assert.strictEqual(QueuePairAttributes.maskOf({ [name]: 0 }), bit)
      assert.deepStrictEqual<ReadonlyArray<string>>(QueuePairAttributes.attributesOf(bit), [name])
    }
    assert.strictEqual(new Set(Object.values(QueuePairAttributes.maskBits)).size, 22)
  })

  it("has defaults that survive", () => {
    const { ahAttr: _, ...rtr } = Schema.decodeSync(QueuePairSteps.rtr.rc)({
      ahAttr: { portNum: 1, dlid: 3 },
      destQpNum: 9,
      rqPsn: 1
    })
    assert.deepStrictEqual<object>(rtr, { destQpNum: 9, rqPsn: 1, maxDestRdAtomic: 1, minRnrTimer: 12 })
    assert.deepStrictEqual<object>(Schema.decodeSync(QueuePairSteps.rts.rc)({ sqPsn: 1 }), {
      sqPsn: 1,
      timeout: 14,
      retryCnt: 6,
      rnrRetry: 7,
      maxRdAtomic: 1
    })
  })

  for (
    const [name, largest] of [
      ["timeout", 31],
      ["retryCnt", 7],
      ["rnrRetry", 7],
      ["minRnrTimer", 31],
      ["maxRdAtomic", 255],
      ["sqPsn", 0xffffff],
      ["destQpNum", 0xffffff],
      ["pkeyIndex", 0xffff],
      ["qkey", 0xffffffff]
    ] as const
  ) {
    it(`${name} ends at ${largest}`, () => {
      const is = Schema.is(QueuePairAttributes.fields[name])
      assert.deepStrictEqual([is(0), is(largest), is(largest + 1), is(-1), is(0.5)], [true, true, false, false, false])
    })
  }
})
