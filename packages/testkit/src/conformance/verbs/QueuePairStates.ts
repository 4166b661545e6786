/**
 * Conformance of the states of queue pairs.
 *
 * @since 0.1.0
 */
import type * as Mtu from "@effect-rdma/core/Mtu"
import * as Port from "@effect-rdma/verbs/Port"
import * as QueuePair from "@effect-rdma/verbs/QueuePair"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { assertPath, assertReason, recorded, timesCalled } from "../../internal/conformance.ts"
import { stateOf, verbsSuite } from "../../internal/conformanceVerbs.ts"
import type * as VerbsLane from "../VerbsLane.ts"

/**
 * Registers the suite on a lane.
 *
 * @category constructors
 * @since 0.1.0
 */
export const suite = <Others = never>(lane: VerbsLane.VerbsLane<Others>): void => {
  const { it, itWhere, pair, path, portNum, ready, roce, toIpv4 } = verbsSuite(lane)

  const itOnEthernet = itWhere(lane.roce !== undefined, "the port is no Ethernet port")

  it("a reliable connection goes to RTS on itself", () => Effect.flatMap(pair("rc"), reaches(ready.rc)))
  it("an unreliable connection goes to RTS on itself", () => Effect.flatMap(pair("uc"), reaches(ready.uc)))
  it("datagrams go to RTS", () => Effect.flatMap(pair("ud"), reaches(ready.ud)))

  it("each step is seen by a query", () =>
    Effect.gen(function*() {
      const self = yield* pair("rc")
      yield* QueuePair.toInit(self, { portNum, qpAccessFlags: ["remoteRead", "remoteWrite"] })
      const init = (yield* QueuePair.query(self)).attributes
      assert.deepStrictEqual(
        [init.qpState, init.portNum, init.pkeyIndex, [...init.qpAccessFlags].toSorted()],
        ["init", portNum, 0, ["remoteRead", "remoteWrite"]]
      )
      yield* QueuePair.toRtr(self, { ...path, destQpNum: self.qpNum, minRnrTimer: 20 })
      const rtr = (yield* QueuePair.query(self)).attributes
      assert.deepInclude<object>(rtr, {
        qpState: "rtr",
        destQpNum: self.qpNum,
        rqPsn: 0x123,
        minRnrTimer: 20,
        maxDestRdAtomic: 1,
        pathMtu: (yield* Port.query(self.context, portNum)).activeMtu
      })
      yield* QueuePair.toRts(self, { sqPsn: 0x456 })
      const rts = (yield* QueuePair.query(self)).attributes
      assert.deepInclude<object>(rts, {
        qpState: "rts",
        sqPsn: 0x456,
        timeout: 14,
        retryCnt: 6,
        rnrRetry: 7,
        maxRdAtomic: 1
      })
    }))

  it("a queue pair goes by ERR and RESET to RTS again", () =>
    Effect.gen(function*() {
      const self = yield* pair("rc")
      yield* ready.rc(self)
      yield* QueuePair.toErr(self)
      assert.strictEqual(yield* stateOf(self), "err")
      yield* QueuePair.toReset(self)
      assert.strictEqual(yield* stateOf(self), "reset")
      yield* ready.rc(self)
      assert.strictEqual(yield* stateOf(self), "rts")
    }))

  it("the send queue is drained and goes on", () =>
    Effect.gen(function*() {
      const self = yield* pair("rc")
      yield* ready.rc(self)
      yield* QueuePair.modify(self, { minRnrTimer: 3 })
      yield* QueuePair.modify(self, { qpState: "sqd" })
      assert.strictEqual(yield* stateOf(self), "sqd")
      yield* QueuePair.modify(self, { qpState: "rts" })
      assert.deepInclude<object>((yield* QueuePair.query(self)).attributes, { qpState: "rts", minRnrTimer: 3 })
    }))

  it("a transition that there is not is EINVAL, and the message tells where the state leads to", () =>
    Effect.gen(function*() {
      const self = yield* pair("rc")
      const early = yield* Effect.flip(QueuePair.modify(self, { qpState: "rts", sqPsn: 1 }))
      assertReason(early, "ibv_modify_qp", "EINVAL")
      assert.include(early.message, "No transition RC RESET to RTS")
      assert.include(early.message, "INIT")
      const toErr = yield* Effect.flip(QueuePair.toErr(self))
      assertReason(toErr, "ibv_modify_qp", "EINVAL")
      assert.include(toErr.message, "No transition RC RESET to ERR")
      assert.strictEqual(yield* stateOf(self), "reset")
    }))

  it("a transition that lacks attributes is EINVAL, and the message names them", () =>
    Effect.gen(function*() {
      const self = yield* pair("rc")
      const error = yield* Effect.flip(QueuePair.modify(self, { qpState: "init", portNum }))
      assertReason(error, "ibv_modify_qp", "EINVAL")
      assert.include(error.message, "RC RESET to INIT needs pkeyIndex, qpAccessFlags")
    }))

  it("an attribute that the type does not take is EINVAL, and the message names it", () =>
    Effect.gen(function*() {
      const self = yield* pair("uc")
      const error = yield* Effect.flip(
        QueuePair.modify(self, { qpState: "init", portNum, pkeyIndex: 0, qpAccessFlags: [], qkey: 1 })
      )
      assertReason(error, "ibv_modify_qp", "EINVAL")
      assert.include(error.message, "UC RESET to INIT does not take qkey")
    }))

  it("right attributes with a wrong value are EINVAL, and the message says so", () =>
    Effect.gen(function*() {
      const self = yield* pair("rc")
      const error = yield* Effect.flip(QueuePair.toInit(self, { portNum: 200 }))
      assertReason(error, "ibv_modify_qp", "EINVAL")
      assert.include(error.message, "a value is not the device's own")
    }))

  it("a step takes exactly the attributes of its type: another name is a SchemaError before any call", () =>
    recorded(function*(calls) {
      const self = yield* pair("ud")
      const wrong: { portNum: number; qkey: number } = Object.assign({ portNum, qkey: 1 }, { qpAccessFlags: [] })
      assertPath(yield* Effect.flip(QueuePair.toInit(self, wrong)), ["qpAccessFlags"])
      const misspelt: { readonly pkeyIndex?: number } = Object.assign({ pkeyIndex: 0 }, { portnum: 1 })
      assertPath(yield* Effect.flip(QueuePair.modify(self, misspelt)), ["portnum"])
      assert.strictEqual(timesCalled(yield* calls, "ibv_modify_qp"), 0)
    }))

  it("values out of range are SchemaErrors with their paths, and the library is not asked", () =>
    recorded(function*(calls) {
      const self = yield* pair("rc")
      assertPath(yield* Effect.flip(QueuePair.toInit(self, { portNum: 0 })), ["portNum"])
      assertPath(yield* Effect.flip(QueuePair.toRts(self, { sqPsn: 0x1_000000 })), ["sqPsn"])
      assertPath(yield* Effect.flip(QueuePair.toRts(self, { sqPsn: 1, retryCnt: 8 })), ["retryCnt"])
      const rtr = { ...path, destQpNum: 1, minRnrTimer: 32 }
      assertPath(yield* Effect.flip(QueuePair.toRtr(self, rtr)), ["minRnrTimer"])
      assert.strictEqual(timesCalled(yield* calls, "ibv_modify_qp"), 0)
    }))

  it("a path MTU above the active one of the port is EINVAL before the call", () =>
    recorded(function*(calls) {
      const self = yield* pair("uc")
      const { activeMtu } = yield* Port.query(self.context, portNum)
      yield* QueuePair.toInit(self, { portNum })
      const before = timesCalled(yield* calls, "ibv_modify_qp")
      const larger = ([512, 1024, 2048, 4096] as const).find((mtu) => activeMtu !== "unknown" && mtu > activeMtu)
      if (larger === undefined) return
      const error = yield* Effect.flip(QueuePair.toRtr(self, { ...path, destQpNum: 2, pathMtu: larger }))
      assertReason(error, "ibv_modify_qp", "EINVAL")
      assert.include(error.message, `up to ${activeMtu} bytes`)
      assert.strictEqual(timesCalled(yield* calls, "ibv_modify_qp"), before)
    }))

  it("a smaller path MTU is taken", () =>
    Effect.gen(function*() {
      const self = yield* pair("uc")
      yield* QueuePair.toInit(self, { portNum })
      yield* QueuePair.toRtr(self, { ...path, destQpNum: self.qpNum, pathMtu: 256 })
      assert.strictEqual((yield* QueuePair.query(self)).attributes.pathMtu, 256 satisfies Mtu.Mtu)
    }))

  itOnEthernet("on RoCE an address without a grh is EINVAL before the call", () =>
    recorded(function*(calls) {
      const self = yield* pair("rc")
      yield* QueuePair.toInit(self, { portNum })
      const before = timesCalled(yield* calls, "ibv_modify_qp")
      const error = yield* Effect.flip(
        QueuePair.toRtr(self, { ahAttr: { portNum, dlid: 1 }, destQpNum: 2, rqPsn: 0 })
      )
      assertReason(error, "ibv_modify_qp", "EINVAL")
      assert.include(error.message, "needs a grh")
      assert.strictEqual(timesCalled(yield* calls, "ibv_modify_qp"), before)
    }))

  itOnEthernet(
    "a neighbour that does not answer is ETIMEDOUT, and the queue pair stays in INIT",
    () =>
      Effect.gen(function*() {
        const self = yield* pair("rc")
        yield* QueuePair.toInit(self, { portNum })
        const ahAttr = toIpv4(roce.silentAddress)
        const error = yield* Effect.flip(QueuePair.toRtr(self, { ahAttr, destQpNum: 2, rqPsn: 0 }))
        assertReason(error, "ibv_modify_qp", "ETIMEDOUT")
        assert.include(error.message, "No neighbour")
        assert.strictEqual(yield* stateOf(self), "init")
      })
  )
}

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

const reaches =
  <Type extends "rc" | "uc" | "ud">(ready: (self: QueuePair.QueuePair<Type>) => Effect.Effect<void, unknown>) =>
  (self: QueuePair.QueuePair<Type>) =>
    Effect.andThen(
      ready(self),
      Effect.map(QueuePair.state(self), (state) => assert.strictEqual(state, "rts"))
    )
