/**
 * Conformance of queue pairs: how they are made and released, what they hold, and their options.
 *
 * @since 0.1.0
 */
import * as Resource from "@effect-rdma/core/Resource"
import * as CompletionQueue from "@effect-rdma/verbs/CompletionQueue"
import * as DataInOrder from "@effect-rdma/verbs/DataInOrder"
import * as DeviceContext from "@effect-rdma/verbs/DeviceContext"
import * as MulticastAttachment from "@effect-rdma/verbs/MulticastAttachment"
import * as ProtectionDomain from "@effect-rdma/verbs/ProtectionDomain"
import * as QueuePair from "@effect-rdma/verbs/QueuePair"
import * as SendBatch from "@effect-rdma/verbs/SendBatch"
import * as SharedReceiveQueue from "@effect-rdma/verbs/SharedReceiveQueue"
import type { VerbsError } from "@effect-rdma/verbs/VerbsError"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Result from "effect/Result"
import * as Scope from "effect/Scope"
import { assertPath, assertReason, namesOf, recorded, timesCalled, usesDeadHandle } from "../../internal/conformance.ts"
import { cap, pairOn, queueOn, stateOf, verbsSuite } from "../../internal/conformanceVerbs.ts"
import type * as VerbsLane from "../VerbsLane.ts"

/**
 * Registers the suite on a lane.
 *
 * @category constructors
 * @since 0.1.0
 */
export const suite = <Others = never>(lane: VerbsLane.VerbsLane<Others>): void => {
  const { domain, has, it, pair, portNum, ready } = verbsSuite(lane)

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
      if (Result.isSuccess(made)) return assert.isTrue(has("rawPackets"))
      assertReason(made.failure, "ibv_create_qp", "EOPNOTSUPP")
      assert.isFalse(has("rawPackets"))
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
      if (Result.isSuccess(made)) return assert.isTrue(has("blocksLoopback"))
      assertReason(made.failure, "ibv_create_qp_ex", "EOPNOTSUPP")
      assert.isFalse(has("blocksLoopback"))
    }))

  it("an extended queue pair without anything more is a plain one", () =>
    Effect.gen(function*() {
      const on = yield* domain
      const queue = yield* queueOn(on)
      const self = yield* QueuePair.makeExtended(on, { qpType: "rc", sendCq: queue, recvCq: queue, cap })
      yield* ready.rc(self)
      assert.strictEqual(yield* stateOf(self), "rts")
    }))

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

  it("a queue pair promises the order of its data or not, and only while it lives", () =>
    Effect.gen(function*() {
      const dead = yield* Effect.scoped(Effect.gen(function*() {
        const self = yield* pair("rc")
        assert.strictEqual(typeof (yield* DataInOrder.query(self, "rdmaWrite")), "boolean")
        return self
      }))
      yield* usesDeadHandle(DataInOrder.query(dead, "rdmaWrite"))
    }))

  it("the options of a connection are there, or refused with EOPNOTSUPP", () =>
    Effect.gen(function*() {
      const self = yield* pair("rc")
      const asked = yield* Effect.result(QueuePair.queryEce(self))
      if (Result.isFailure(asked)) {
        assert.isFalse(has("ece"))
        assertReason(asked.failure, "ibv_query_ece", "EOPNOTSUPP")
        const set = yield* Effect.flip(QueuePair.setEce(self, { vendorId: 0x15b3, options: 0, compMask: 0 }))
        return assertReason(set, "ibv_set_ece", "EOPNOTSUPP")
      }
      assert.isTrue(has("ece"))
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

const busy = (call: string, refused: Effect.Effect<void, VerbsError>) =>
  Effect.map(Effect.flip(refused), (error) => assertReason(error, call, "EBUSY"))
