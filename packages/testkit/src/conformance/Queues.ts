/**
 * What libibverbs does with XRC domains, shared receive queues, queue pairs, multicast and batches of sends, as tests of
 * the scoped modules: the same on the in-memory fabric, on Soft-RoCE and on hardware.
 *
 * @since 0.1.0
 */
import type * as Mtu from "@effect-rdma/core/Mtu"
import * as Resource from "@effect-rdma/core/Resource"
import * as AddressHandle from "@effect-rdma/verbs/AddressHandle"
import type * as AddressHandleAttributes from "@effect-rdma/verbs/AddressHandleAttributes"
import * as CompletionQueue from "@effect-rdma/verbs/CompletionQueue"
import * as DeviceContext from "@effect-rdma/verbs/DeviceContext"
import * as MulticastAttachment from "@effect-rdma/verbs/MulticastAttachment"
import * as Port from "@effect-rdma/verbs/Port"
import * as ProtectionDomain from "@effect-rdma/verbs/ProtectionDomain"
import * as QueuePair from "@effect-rdma/verbs/QueuePair"
import * as QueuePairEndpoint from "@effect-rdma/verbs/QueuePairEndpoint"
import type * as QueuePairSteps from "@effect-rdma/verbs/QueuePairSteps"
import * as SendBatch from "@effect-rdma/verbs/SendBatch"
import * as SharedReceiveQueue from "@effect-rdma/verbs/SharedReceiveQueue"
import type * as Verbs from "@effect-rdma/verbs/Verbs"
import type { VerbsError } from "@effect-rdma/verbs/VerbsError"
import * as XrcDomain from "@effect-rdma/verbs/XrcDomain"
import { assert } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import {
  assertPath,
  assertReason,
  namesOf,
  recorded,
  testWhere,
  timesCalled,
  usesDeadHandle
} from "../internal/conformance.ts"
import * as WindowsSuite from "../internal/conformanceWindows.ts"
import * as Lane from "./Lane.ts"

/**
 * What the suite has to know of the device that it runs on.
 *
 * @category models
 * @since 0.1.0
 */
export interface QueuesLane<Others = never> extends Lane.Lane<Verbs.Verbs | Others> {
  readonly device: string
  /** An active port of the device. */
  readonly port: number
  /** The way from the port to itself. */
  readonly loop: AddressHandleAttributes.Input
  /** On an Ethernet port: a way that nobody answers on; it takes a second. */
  readonly silent: AddressHandleAttributes.Input | undefined
  /** A group, and whether its LID counts. */
  readonly group: { readonly gid: string; readonly mlid: number; readonly countsLid: boolean }
  /** Whether the provider has XRC and tag matching. */
  readonly xrc: boolean
  readonly tagMatching: boolean
  readonly rawPackets: boolean
  readonly ece: boolean
  /** Whether the room of a shared receive queue can be changed. */
  readonly resizable: boolean
  /** Whether the provider takes the create flag that keeps own multicast away. */
  readonly blocksLoopback: boolean
  /** Whether a batch in a state that cannot send is refused, and how one that is too large is. */
  readonly checkedBatches: boolean
  readonly fullBatch: "ENOMEM" | "ENOSPC"
  /** How the deregistration of a region with a window on it is refused. */
  readonly boundRegion: "EBUSY" | "EINVAL"
}

const cap = { maxSendWr: 8, maxRecvWr: 8 }

/**
 * Registers the suite on a lane.
 *
 * @category constructors
 * @since 0.1.0
 */
export const suite = <Others = never>(lane: QueuesLane<Others>): void => {
  const it = Lane.test<Verbs.Verbs | Others>(lane)
  const itWhere = testWhere<Verbs.Verbs | Others>(lane)
  const isRoce = lane.loop.grh !== undefined
  const itOnRoce = itWhere(isRoce && lane.silent !== undefined, "the port is no Ethernet port")
  const portNum = lane.port
  const domain = Effect.flatMap(DeviceContext.openByName(lane.device), ProtectionDomain.alloc)

  const pair = <const Type extends "rc" | "uc" | "ud">(qpType: Type) =>
    Effect.flatMap(domain, (domain) => pairOn(domain, qpType))

  const path = { ahAttr: lane.loop, rqPsn: 0x123 }
  const ready = {
    rc: (self: QueuePair.QueuePair<"rc">) =>
      toRts(self, { portNum }, { ...path, destQpNum: self.qpNum }, { sqPsn: 0x123 }),
    uc: (self: QueuePair.QueuePair<"uc">) =>
      toRts(self, { portNum }, { ...path, destQpNum: self.qpNum }, { sqPsn: 0x123 }),
    ud: (self: QueuePair.QueuePair<"ud">) => toRts(self, { portNum, qkey: 0x1111 }, {}, { sqPsn: 0x123 })
  }

  // ---------------------------------------------------------------------------
  // Making queue pairs
  // ---------------------------------------------------------------------------

  for (const qpType of ["rc", "uc", "ud"] as const) {
    it(`a queue pair of type ${qpType} is made in RESET, with a number and the room that was asked for`, () =>
      Effect.gen(function*() {
        const self = yield* pair(qpType)
        assert.strictEqual(self.qpType, qpType)
        assert.isAbove(self.qpNum, 1)
        assert.isAtLeast(self.cap.maxSendWr, 8)
        assert.isAtLeast(self.cap.maxRecvWr, 8)
        assert.strictEqual(yield* stateOf(self), "reset")
      }))
  }

  it("queue pairs that live at the same time have numbers of their own", () =>
    Effect.gen(function*() {
      const on = yield* domain
      const queue = yield* queueOn(on)
      const pairs = yield* Effect.forEach(
        Array.from({ length: 10 }),
        () => QueuePair.make(on, { qpType: "rc", sendCq: queue, recvCq: queue, cap })
      )
      assert.strictEqual(new Set(pairs.map(({ qpNum }) => qpNum)).size, 10)
    }))

  it("more requests than the device can hold are EINVAL", () =>
    Effect.gen(function*() {
      const on = yield* domain
      const { maxQpWr, maxSge } = yield* DeviceContext.query(on.context)
      for (
        const room of [
          { maxSendWr: maxQpWr + 1 },
          { maxRecvWr: maxQpWr + 1 },
          { maxSendSge: maxSge + 1 },
          { maxRecvSge: maxSge + 1 },
          { maxInlineData: 0x7fff_ffff }
        ]
      ) {
        const error = yield* Effect.flip(Effect.scoped(pairOn(on, "rc", { cap: room })))
        assertReason(error, "ibv_create_qp", "EINVAL")
      }
    }))

  it("room out of the range of C is a SchemaError with its path, and the library is not asked", () =>
    recorded(function*(calls) {
      const on = yield* domain
      const error = yield* Effect.flip(pairOn(on, "rc", { cap: { maxSendWr: -1 } }))
      assertPath(error, ["cap", "maxSendWr"])
      assert.strictEqual(timesCalled(yield* calls, "ibv_create_qp"), 0)
    }))

  it("a completion queue that the type needs and lacks is EINVAL before any call", () =>
    recorded(function*(calls) {
      const on = yield* domain
      const queue = yield* queueOn(on)
      for (const queues of [{}, { sendCq: queue }, { recvCq: queue }]) {
        const error = yield* Effect.flip(QueuePair.make(on, { qpType: "rc", ...queues }))
        assertReason(error, "ibv_create_qp", "EINVAL")
        assert.include(error.message, "needs a")
        const extended = yield* Effect.flip(QueuePair.makeExtended(on, { qpType: "ud", ...queues }))
        assertReason(extended, "ibv_create_qp_ex", "EINVAL")
      }
      assert.strictEqual(timesCalled(yield* calls, "ibv_create_qp"), 0)
      assert.strictEqual(timesCalled(yield* calls, "ibv_create_qp_ex"), 0)
    }))

  it("the queues of another context are EINVAL before any call", () =>
    recorded(function*(calls) {
      const [one, other] = [yield* domain, yield* domain]
      const queue = yield* queueOn(other)
      const error = yield* Effect.flip(QueuePair.make(one, { qpType: "rc", sendCq: queue, recvCq: queue }))
      assertReason(error, "ibv_create_qp", "EINVAL")
      const srq = yield* SharedReceiveQueue.make(other, { maxWr: 4 })
      const own = yield* queueOn(one)
      const refused = yield* Effect.flip(QueuePair.make(one, { qpType: "rc", sendCq: own, recvCq: own, srq }))
      assertReason(refused, "ibv_create_qp", "EINVAL")
      assert.strictEqual(timesCalled(yield* calls, "ibv_create_qp"), 0)
    }))

  it("raw packets are there where the provider has them, else refused with EOPNOTSUPP", () =>
    Effect.gen(function*() {
      const on = yield* domain
      const queue = yield* queueOn(on)
      const made = yield* Effect.result(QueuePair.make(on, { qpType: "rawPacket", sendCq: queue, recvCq: queue, cap }))
      if (Result.isSuccess(made)) return assert.isTrue(lane.rawPackets)
      assertReason(made.failure, "ibv_create_qp", "EOPNOTSUPP")
      assert.isFalse(lane.rawPackets)
    }))

  it("a create flag is taken, or refused with EOPNOTSUPP", () =>
    Effect.gen(function*() {
      const on = yield* domain
      const queue = yield* queueOn(on)
      const made = yield* Effect.result(
        QueuePair.makeExtended(on, {
          qpType: "ud",
          sendCq: queue,
          recvCq: queue,
          cap,
          createFlags: ["blockSelfMcastLb"]
        })
      )
      if (Result.isSuccess(made)) return assert.isTrue(lane.blocksLoopback)
      assertReason(made.failure, "ibv_create_qp_ex", "EOPNOTSUPP")
      assert.isFalse(lane.blocksLoopback)
    }))

  it("an extended queue pair without anything more is a plain one", () =>
    Effect.gen(function*() {
      const on = yield* domain
      const queue = yield* queueOn(on)
      const self = yield* QueuePair.makeExtended(on, { qpType: "rc", sendCq: queue, recvCq: queue, cap })
      yield* ready.rc(self)
      assert.strictEqual(yield* stateOf(self), "rts")
    }))

  // ---------------------------------------------------------------------------
  // States
  // ---------------------------------------------------------------------------

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
        retryCnt: 7,
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

  itOnRoce("on RoCE an address without a grh is EINVAL before the call", () =>
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

  itOnRoce(
    "a neighbour that does not answer is ETIMEDOUT, and the queue pair stays in INIT",
    () =>
      Effect.gen(function*() {
        const self = yield* pair("rc")
        yield* QueuePair.toInit(self, { portNum })
        const ahAttr = lane.silent ?? lane.loop
        const error = yield* Effect.flip(QueuePair.toRtr(self, { ahAttr, destQpNum: 2, rqPsn: 0 }))
        assertReason(error, "ibv_modify_qp", "ETIMEDOUT")
        assert.include(error.message, "No neighbour")
        assert.strictEqual(yield* stateOf(self), "init")
      })
  )

  // ---------------------------------------------------------------------------
  // Connections
  // ---------------------------------------------------------------------------

  it("two queue pairs connect by what they told each other as JSON", () =>
    Effect.gen(function*() {
      const on = yield* domain
      const pairs = [yield* pairOn(on, "rc"), yield* pairOn(on, "rc")] as const
      const endpoints = yield* Effect.forEach(pairs, (self) => QueuePair.endpoint(self, { portNum }))
      const texts = yield* Effect.forEach(endpoints, (endpoint) => encodeEndpoint(endpoint))
      const told = yield* Effect.forEach(texts, (text) => decodeEndpoint(text))
      assert.deepStrictEqual(told, endpoints)
      yield* QueuePair.connect(pairs[0], endpoints[0]!, told[1]!, { qpAccessFlags: ["remoteWrite"] })
      yield* QueuePair.connect(pairs[1], endpoints[1]!, told[0]!)
      const { attributes } = yield* QueuePair.query(pairs[0])
      assert.deepInclude<object>(attributes, {
        qpState: "rts",
        destQpNum: pairs[1].qpNum,
        rqPsn: endpoints[1]!.psn,
        sqPsn: endpoints[0]!.psn,
        qpAccessFlags: ["remoteWrite"]
      })
      assert.strictEqual(yield* stateOf(pairs[1]), "rts")
    }))

  it("receives are posted in INIT, and their failure brings the queue pair back to RESET", () =>
    Effect.gen(function*() {
      const self = yield* pair("uc")
      const local = yield* QueuePair.endpoint(self, { portNum, psn: 7 })
      assert.strictEqual(local.psn, 7)
      const states: Array<string> = []
      const receives = Effect.map(stateOf(self), (state) => {
        states.push(state)
      })
      const failure = yield* Effect.flip(
        QueuePair.connect(self, local, local, { receives: Effect.andThen(receives, Effect.fail("full" as const)) })
      )
      assert.strictEqual(failure, "full")
      assert.strictEqual(yield* stateOf(self), "reset")
      yield* QueuePair.connect(self, local, local, { receives })
      assert.deepStrictEqual(states, ["init", "init"])
      assert.strictEqual(yield* stateOf(self), "rts")
    }))

  it("the endpoint of another queue pair is EINVAL before any call", () =>
    recorded(function*(calls) {
      const on = yield* domain
      const [one, other] = [yield* pairOn(on, "rc"), yield* pairOn(on, "rc")]
      const local = yield* QueuePair.endpoint(other, { portNum })
      assertReason(yield* Effect.flip(QueuePair.connect(one, local, local)), "ibv_modify_qp", "EINVAL")
      assert.strictEqual(timesCalled(yield* calls, "ibv_modify_qp"), 0)
    }))

  // ---------------------------------------------------------------------------
  // Lifetimes
  // ---------------------------------------------------------------------------

  for (const first of ["domain", "queue", "srq"] as const) {
    it(`a queue pair goes before its ${first}, also when that one's scope closes first`, () =>
      recorded(function*(calls) {
        const context = yield* DeviceContext.openByName(lane.device)
        const scopes = { domain: yield* Scope.make(), queue: yield* Scope.make(), srq: yield* Scope.make() }
        const outer = yield* Effect.scope
        const on = yield* ProtectionDomain.alloc(context).pipe(
          Scope.provide(first === "domain" ? scopes.domain : outer)
        )
        const queue = yield* CompletionQueue.make(context, { cqe: 16 }).pipe(
          Scope.provide(first === "queue" ? scopes.queue : outer)
        )
        const srq = yield* SharedReceiveQueue.make(on, { maxWr: 8 }).pipe(
          Scope.provide(first === "srq" ? scopes.srq : outer)
        )
        const self = yield* QueuePair.make(on, { qpType: "rc", sendCq: queue, recvCq: queue, srq, cap })
        const before = (yield* calls).length
        yield* Scope.close(scopes[first], Exit.void)
        assert.isFalse(Resource.isLive(self))
        assert.strictEqual(namesOf(yield* calls)[before], "ibv_destroy_qp")
        for (const scope of Object.values(scopes)) yield* Scope.close(scope, Exit.void)
      }))
  }

  it("what a queue pair is made on refuses to go under it: EBUSY, and it is as before", () =>
    Effect.gen(function*() {
      const on = yield* domain
      const { verbs } = on.context
      const srq = yield* SharedReceiveQueue.make(on, { maxWr: 8 })
      const queue = yield* queueOn(on)
      const self = yield* QueuePair.make(on, { qpType: "ud", sendCq: queue, recvCq: queue, srq, cap })
      yield* QueuePair.toInit(self, { portNum, qkey: 1 })
      yield* MulticastAttachment.attach(self, lane.group)
      yield* busy("ibv_destroy_qp", verbs.destroyQp(Resource.raw(self)))
      yield* busy("ibv_destroy_srq", verbs.destroySrq(Resource.raw(srq)))
      yield* busy("ibv_destroy_cq", verbs.destroyCq(Resource.raw(queue)))
      yield* busy("ibv_dealloc_pd", verbs.deallocPd(Resource.raw(on)))
      assert.strictEqual(yield* stateOf(self), "init")
    }))

  it("a released queue pair cannot be used, and the library is not called", () =>
    recorded(function*(calls) {
      const self = yield* Effect.scoped(pair("ud"))
      const before = (yield* calls).length
      yield* usesDeadHandle(QueuePair.query(self))
      yield* usesDeadHandle(QueuePair.toErr(self))
      yield* usesDeadHandle(QueuePair.toInit(self, { portNum, qkey: 1 }))
      yield* usesDeadHandle(QueuePair.queryEce(self))
      yield* usesDeadHandle(SendBatch.post(self, () => {}))
      yield* usesDeadHandle(Effect.scoped(MulticastAttachment.attach(self, lane.group)))
      assert.strictEqual((yield* calls).length, before)
    }))

  // ---------------------------------------------------------------------------
  // Shared receive queues
  // ---------------------------------------------------------------------------

  it("a shared receive queue has at least the room that was asked for", () =>
    Effect.gen(function*() {
      const srq = yield* SharedReceiveQueue.make(yield* domain, { maxWr: 100, maxSge: 2 })
      assert.isAtLeast(srq.maxWr, 100)
      assert.isAtLeast(srq.maxSge, 2)
      const found = yield* SharedReceiveQueue.query(srq)
      assert.isAtLeast(found.maxWr, 100)
      assert.isAtLeast(found.maxSge, 2)
      assert.strictEqual(found.srqLimit, 0)
    }))

  it("a limit is armed and disarmed, and one above the room is EINVAL", () =>
    Effect.gen(function*() {
      const srq = yield* SharedReceiveQueue.make(yield* domain, { maxWr: 100 })
      yield* SharedReceiveQueue.modify(srq, { srqLimit: 10 })
      assert.strictEqual((yield* SharedReceiveQueue.query(srq)).srqLimit, 10)
      yield* SharedReceiveQueue.modify(srq, { srqLimit: 0 })
      assert.strictEqual((yield* SharedReceiveQueue.query(srq)).srqLimit, 0)
      const error = yield* Effect.flip(SharedReceiveQueue.modify(srq, { srqLimit: 1000 }))
      assertReason(error, "ibv_modify_srq", "EINVAL")
    }))

  it("the room changes where the device can, else that is EINVAL", () =>
    Effect.gen(function*() {
      const srq = yield* SharedReceiveQueue.make(yield* domain, { maxWr: 100 })
      const changed = yield* Effect.result(SharedReceiveQueue.modify(srq, { maxWr: 500 }))
      if (Result.isFailure(changed)) {
        assert.isFalse(lane.resizable)
        return assertReason(changed.failure, "ibv_modify_srq", "EINVAL")
      }
      assert.isTrue(lane.resizable)
      assert.isAtLeast((yield* SharedReceiveQueue.query(srq)).maxWr, 500)
    }))

  it("no room and more than the device has are EINVAL", () =>
    Effect.gen(function*() {
      const on = yield* domain
      const { maxSrqSge, maxSrqWr } = yield* DeviceContext.query(on.context)
      for (const attributes of [{ maxWr: 0 }, { maxWr: maxSrqWr + 1 }, { maxWr: 4, maxSge: maxSrqSge + 1 }]) {
        const error = yield* Effect.flip(SharedReceiveQueue.make(on, attributes))
        assertReason(error, "ibv_create_srq", "EINVAL")
      }
    }))

  it("an extended basic queue is a plain one, and has no number", () =>
    Effect.gen(function*() {
      const srq = yield* SharedReceiveQueue.makeExtended(yield* domain, { srqType: "basic", maxWr: 10 })
      assert.isAtLeast((yield* SharedReceiveQueue.query(srq)).maxWr, 10)
      assertReason(yield* Effect.flip(SharedReceiveQueue.number(srq)), "ibv_get_srq_num", "EOPNOTSUPP")
    }))

  it("a queue that matches tags is there, or refused with EOPNOTSUPP", () =>
    Effect.gen(function*() {
      const on = yield* domain
      const completionQueue = yield* CompletionQueue.makeExtended(on.context, { cqe: 16 }).pipe(
        Effect.catchReason("VerbsError", "EOPNOTSUPP", () => CompletionQueue.make(on.context, { cqe: 16 }))
      )
      const made = yield* Effect.result(
        SharedReceiveQueue.makeExtended(on, {
          srqType: "tm",
          maxWr: 8,
          completionQueue,
          tmCap: { maxNumTags: 4 }
        })
      )
      if (Result.isFailure(made)) {
        assert.isFalse(lane.tagMatching)
        return assertReason(made.failure, "ibv_create_srq_ex", "EOPNOTSUPP")
      }
      assert.isTrue(lane.tagMatching)
      assert.isAbove(yield* SharedReceiveQueue.number(made.success), 0)
    }))

  // ---------------------------------------------------------------------------
  // XRC
  // ---------------------------------------------------------------------------

  it("an XRC domain opens, or is refused with EOPNOTSUPP", () =>
    Effect.gen(function*() {
      const { context } = yield* domain
      const opened = yield* Effect.result(XrcDomain.open(context))
      if (Result.isSuccess(opened)) return assert.isTrue(lane.xrc)
      assert.isFalse(lane.xrc)
      assertReason(opened.failure, "ibv_open_xrcd", "EOPNOTSUPP")
    }))

  it("the sending side of XRC is made, or refused with EOPNOTSUPP", () =>
    Effect.gen(function*() {
      const on = yield* domain
      const sendCq = yield* queueOn(on)
      const made = yield* Effect.result(QueuePair.makeExtended(on, { qpType: "xrcSend", sendCq, cap }))
      if (Result.isFailure(made)) {
        assert.isFalse(lane.xrc)
        return assertReason(made.failure, "ibv_create_qp_ex", "EOPNOTSUPP")
      }
      assert.isTrue(lane.xrc)
      const self = made.success
      yield* toRts(self, { portNum }, { ...path, destQpNum: self.qpNum }, { sqPsn: 1 })
      assert.strictEqual(yield* stateOf(self), "rts")
    }))

  const itXrc = itWhere(lane.xrc, "the provider has no XRC")

  itXrc(
    "a receiving queue pair and its queue work in an XRC domain, and go before it",
    () =>
      recorded(function*(calls) {
        const on = yield* domain
        const completionQueue = yield* queueOn(on)
        const scope = yield* Scope.make()
        const xrcDomain = yield* XrcDomain.open(on.context).pipe(Scope.provide(scope))
        const srq = yield* SharedReceiveQueue.makeExtended(on, { srqType: "xrc", maxWr: 8, xrcDomain, completionQueue })
        assert.isAbove(yield* SharedReceiveQueue.number(srq), 0)
        const self = yield* QueuePair.makeExtended(xrcDomain, { qpType: "xrcRecv" })
        yield* toRts(self, { portNum }, { ...path, destQpNum: self.qpNum }, { sqPsn: 1 })
        const other = yield* QueuePair.open(xrcDomain, self.qpNum)
        assert.strictEqual(other.qpNum, self.qpNum)
        assert.strictEqual(yield* stateOf(other), "rts")
        const before = (yield* calls).length
        yield* Scope.close(scope, Exit.void)
        assert.deepStrictEqual(namesOf(yield* calls).slice(before), [
          "ibv_destroy_qp",
          "ibv_destroy_qp",
          "ibv_destroy_srq",
          "ibv_close_xrcd"
        ])
      })
  )

  itXrc("a number that is none cannot be opened: EINVAL", () =>
    Effect.gen(function*() {
      const { context } = yield* domain
      const error = yield* Effect.flip(QueuePair.open(yield* XrcDomain.open(context), 0xabcdef))
      assertReason(error, "ibv_open_qp", "EINVAL")
    }))

  // ---------------------------------------------------------------------------
  // Multicast
  // ---------------------------------------------------------------------------

  it("a datagram queue pair is attached for as long as the scope, and detached before it goes", () =>
    recorded(function*(calls) {
      const scope = yield* Scope.make()
      const self = yield* pair("ud").pipe(Scope.provide(scope))
      yield* QueuePair.toInit(self, { portNum, qkey: 1 })
      yield* Effect.scoped(MulticastAttachment.attach(self, lane.group))
      assert.strictEqual(timesCalled(yield* calls, "ibv_detach_mcast"), 1)
      const attachment = yield* MulticastAttachment.attach(self, lane.group)
      const before = (yield* calls).length
      yield* Scope.close(scope, Exit.void)
      assert.isFalse(Resource.isLive(attachment))
      assert.deepStrictEqual(namesOf(yield* calls).slice(before, before + 2), ["ibv_detach_mcast", "ibv_destroy_qp"])
    }))

  it("attached twice is one membership: the last scope ends it", () =>
    recorded(function*(calls) {
      const self = yield* pair("ud")
      yield* QueuePair.toInit(self, { portNum, qkey: 1 })
      yield* Effect.scoped(Effect.gen(function*() {
        yield* MulticastAttachment.attach(self, lane.group)
        yield* Effect.scoped(MulticastAttachment.attach(self, lane.group))
        assert.strictEqual(timesCalled(yield* calls, "ibv_detach_mcast"), 0)
      }))
      assert.strictEqual(timesCalled(yield* calls, "ibv_detach_mcast"), 1)
    }))

  it("an address that is no group is EINVAL", () =>
    Effect.gen(function*() {
      const self = yield* pair("ud")
      yield* QueuePair.toInit(self, { portNum, qkey: 1 })
      const error = yield* Effect.flip(
        MulticastAttachment.attach(self, { gid: "fe80::1", mlid: lane.group.mlid })
      )
      assertReason(error, "ibv_attach_mcast", "EINVAL")
      const unicast = yield* Effect.result(MulticastAttachment.attach(self, { gid: lane.group.gid, mlid: 1 }))
      assert.strictEqual(Result.isFailure(unicast), lane.group.countsLid)
    }))

  // ---------------------------------------------------------------------------
  // Batches of sends
  // ---------------------------------------------------------------------------

  const extended = Effect.fnUntraced(function*() {
    const on = yield* domain
    const queue = yield* queueOn(on)
    const self = yield* QueuePair.makeExtended(on, {
      qpType: "ud",
      sendCq: queue,
      recvCq: queue,
      cap: { ...cap, maxInlineData: 64 },
      sendOpsFlags: ["send"]
    })
    return { on, self }
  })
  it("a batch of sends is posted in RTS", () =>
    Effect.gen(function*() {
      const { on, self } = yield* extended()
      const to = yield* AddressHandle.make(on, lane.loop)
      yield* ready.ud(self)
      yield* SendBatch.post(self, (batch) => {
        hello(self, to)(batch)
        hello(self, to)(batch)
      })
      yield* SendBatch.post(self, hello(self, to))
      yield* QueuePair.toErr(self)
    }))

  it("an empty batch is none", () =>
    Effect.gen(function*() {
      const { self } = yield* extended()
      yield* ready.ud(self)
      yield* SendBatch.post(self, () => {})
    }))

  it("a batch in a state that cannot send is EINVAL where the kernel looks", () =>
    Effect.gen(function*() {
      const { on, self } = yield* extended()
      const to = yield* AddressHandle.make(on, lane.loop)
      yield* QueuePair.toInit(self, { portNum, qkey: 1 })
      const posted = yield* Effect.result(SendBatch.post(self, hello(self, to)))
      assert.strictEqual(Result.isFailure(posted), lane.checkedBatches)
      if (Result.isFailure(posted)) assertReason(posted.failure, "ibv_wr_complete", "EINVAL")
    }))

  it("when the builder throws, the batch is aborted, and the next one can be posted", () =>
    Effect.gen(function*() {
      const { on, self } = yield* extended()
      const to = yield* AddressHandle.make(on, lane.loop)
      yield* ready.ud(self)
      const exit = yield* Effect.exit(SendBatch.post(self, (batch) => {
        hello(self, to)(batch)
        throw new Error("no more")
      }))
      assert(Exit.isFailure(exit))
      assert.strictEqual(String(Cause.squash(exit.cause)), "Error: no more")
      yield* SendBatch.post(self, hello(self, to))
      yield* QueuePair.toErr(self)
    }))

  it("a request of a kind that was not asked for is EOPNOTSUPP, and the batch is aborted", () =>
    Effect.gen(function*() {
      const { on, self } = yield* extended()
      const to = yield* AddressHandle.make(on, lane.loop)
      yield* ready.ud(self)
      const error = yield* Effect.flip(SendBatch.post(self, (batch) => {
        hello(self, to)(batch)
        batch.rdmaRead({ wrId: 2n }, { rkey: 1, remoteAddr: 0n })
      }))
      assertReason(error, "ibv_wr_rdma_read", "EOPNOTSUPP")
      assert.include(error.message, "sendOpsFlags")
      yield* SendBatch.post(self, hello(self, to))
      yield* QueuePair.toErr(self)
    }))

  it(`a batch that the send queue has no room for is ${lane.fullBatch}, and nothing of it is posted`, () =>
    Effect.gen(function*() {
      const { on, self } = yield* extended()
      const to = yield* AddressHandle.make(on, lane.loop)
      yield* ready.ud(self)
      const error = yield* Effect.flip(SendBatch.post(self, (batch) => {
        for (let index = 0; index < 10_000; index++) hello(self, to)(batch)
      }))
      assertReason(error, "ibv_wr_complete", lane.fullBatch)
      yield* SendBatch.post(self, hello(self, to))
      yield* QueuePair.toErr(self)
    }))

  it("a queue pair that was not made for batches takes none: EOPNOTSUPP before any call", () =>
    recorded(function*(calls) {
      const self = yield* pair("ud")
      yield* ready.ud(self)
      const error = yield* Effect.flip(SendBatch.post(self, () => assert.fail("the builder ran")))
      assertReason(error, "ibv_wr_start", "EOPNOTSUPP")
      assert.strictEqual(timesCalled(yield* calls, "ibv_wr_complete"), 0)
    }))

  WindowsSuite.suite(lane)

  // ---------------------------------------------------------------------------
  // Enhanced connection establishment
  // ---------------------------------------------------------------------------

  it("the options of a connection are there, or refused with EOPNOTSUPP", () =>
    Effect.gen(function*() {
      const self = yield* pair("rc")
      const asked = yield* Effect.result(QueuePair.queryEce(self))
      if (Result.isFailure(asked)) {
        assert.isFalse(lane.ece)
        assertReason(asked.failure, "ibv_query_ece", "EOPNOTSUPP")
        const set = yield* Effect.flip(QueuePair.setEce(self, { vendorId: 0x15b3, options: 0, compMask: 0 }))
        return assertReason(set, "ibv_set_ece", "EOPNOTSUPP")
      }
      assert.isTrue(lane.ece)
      yield* QueuePair.setEce(self, asked.success)
      const unknown = yield* Effect.flip(QueuePair.setEce(self, { ...asked.success, compMask: 1 }))
      assertReason(unknown, "ibv_set_ece", "EINVAL")
    }))

  it("the options of no vendor are EOPNOTSUPP", () =>
    Effect.gen(function*() {
      const self = yield* pair("rc")
      const error = yield* Effect.flip(QueuePair.setEce(self, { vendorId: 0, options: 0, compMask: 0 }))
      assertReason(error, "ibv_set_ece", "EOPNOTSUPP")
    }))
}

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

const encodeEndpoint = Schema.encodeEffect(QueuePairEndpoint.FromJson)
const decodeEndpoint = Schema.decodeEffect(QueuePairEndpoint.FromJson)

const queueOn = (domain: ProtectionDomain.ProtectionDomain) => CompletionQueue.make(domain.context, { cqe: 16 })

const pairOn = Effect.fnUntraced(function*<const Type extends "rc" | "uc" | "ud">(
  domain: ProtectionDomain.ProtectionDomain,
  qpType: Type,
  options: Omit<QueuePair.Options<Type>, "qpType"> = {}
) {
  const queue = yield* queueOn(domain)
  return yield* QueuePair.make(domain, { sendCq: queue, recvCq: queue, cap, ...options, qpType })
})
const stateOf = (self: QueuePair.QueuePair) => Effect.map(QueuePair.query(self), ({ attributes }) => attributes.qpState)

const hello = (self: QueuePair.QueuePair, to: AddressHandle.AddressHandle) => (batch: SendBatch.Builder): void => {
  batch.send({ wrId: 1n, flags: ["signaled"] })
  batch.setUdAddr(to, self.qpNum, 0x1111)
  batch.setInlineData(new TextEncoder().encode("hello"))
}

const busy = (call: string, refused: Effect.Effect<void, VerbsError>) =>
  Effect.map(Effect.flip(refused), (error) => assertReason(error, call, "EBUSY"))

const toRts = <Type extends "rc" | "uc" | "ud" | "xrcSend" | "xrcRecv">(
  self: QueuePair.QueuePair<Type>,
  init: QueuePairSteps.Init<Type>,
  rtr: QueuePairSteps.Rtr<Type>,
  rts: QueuePairSteps.Rts<Type>
) =>
  Effect.gen(function*() {
    yield* QueuePair.toInit(self, init)
    yield* QueuePair.toRtr(self, rtr)
    yield* QueuePair.toRts(self, rts)
  })

const reaches =
  <Type extends "rc" | "uc" | "ud">(ready: (self: QueuePair.QueuePair<Type>) => Effect.Effect<void, unknown>) =>
  (self: QueuePair.QueuePair<Type>) =>
    Effect.andThen(
      ready(self),
      Effect.map(QueuePair.state(self), (state) => assert.strictEqual(state, "rts"))
    )
