/**
 * Conformance of the queues that librdmacm makes on an id.
 *
 * @since 0.1.0
 */
import * as Resource from "@effect-rdma/core/Resource"
import * as CmId from "@effect-rdma/rdmacm/CmId"
import * as CmQueuePair from "@effect-rdma/rdmacm/CmQueuePair"
import * as CmSharedReceiveQueue from "@effect-rdma/rdmacm/CmSharedReceiveQueue"
import * as EventChannel from "@effect-rdma/rdmacm/EventChannel"
import * as CompletionQueue from "@effect-rdma/verbs/CompletionQueue"
import * as DeviceContext from "@effect-rdma/verbs/DeviceContext"
import * as ProtectionDomain from "@effect-rdma/verbs/ProtectionDomain"
import * as SharedReceiveQueue from "@effect-rdma/verbs/SharedReceiveQueue"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Scope from "effect/Scope"
import { assertReason, namesOf, recorded, timesCalled } from "../../internal/conformance.ts"
import { rdmaCmSuite } from "../../internal/conformanceRdmaCm.ts"
import type * as RdmaCmLane from "../RdmaCmLane.ts"

/**
 * Registers the suite on a lane.
 *
 * @category constructors
 * @since 0.1.0
 */
export const suite = <Others = never>(lane: RdmaCmLane.RdmaCmLane<Others>): void => {
  const { at, idOnOwnChannel, it, listening, routed } = rdmaCmSuite(lane)
  const boundId = Effect.tap(idOnOwnChannel, (id) => CmId.bind(id, at(0)))

  it("a queue pair on an id is destroyed before the id, with the queues that came with it", () =>
    recorded(function*(calls) {
      yield* Effect.scoped(Effect.gen(function*() {
        const id = yield* boundId
        const queuePair = yield* CmQueuePair.make(id, { qpType: "rc", cap: { maxSendWr: 4, maxRecvWr: 4 } })
        assert.isAbove(queuePair.qpNum, 1)
        assert.isAtLeast(queuePair.cap.maxSendWr, 4)
        const { pd, qp, recvCq, sendCq } = yield* CmId.state(id)
        for (const pointer of [pd, qp, recvCq, sendCq]) assert.isDefined(pointer)
      }))
      assert.deepStrictEqual(namesOf(yield* calls).slice(-3), [
        "rdma_destroy_qp",
        "rdma_destroy_id",
        "rdma_destroy_event_channel"
      ])
    }))

  it("a queue pair works with queues of verbs, and goes before them", () =>
    recorded(function*(calls) {
      yield* Effect.scoped(Effect.gen(function*() {
        const id = yield* boundId
        const context = yield* CmId.context(id)
        const outer = yield* ProtectionDomain.alloc(context)
        const queue = yield* CompletionQueue.make(context, { cqe: 8 })
        yield* CmQueuePair.make(id, { qpType: "rc", domain: outer, sendCq: queue, recvCq: queue })
      }))
      const names = namesOf(yield* calls)
      assert.isBelow(names.indexOf("rdma_destroy_qp"), names.indexOf("ibv_destroy_cq"))
      assert.isBelow(names.indexOf("ibv_destroy_cq"), names.indexOf("rdma_destroy_id"))
    }))

  it("an id has one queue pair at a time: EINVAL", () =>
    Effect.gen(function*() {
      const id = yield* boundId
      yield* Effect.scoped(Effect.gen(function*() {
        yield* CmQueuePair.make(id, { qpType: "rc" })
        assertReason(yield* Effect.flip(CmQueuePair.make(id, { qpType: "rc" })), "rdma_create_qp", "EINVAL")
      }))
      yield* CmQueuePair.make(id, { qpType: "rc" })
    }))

  it("what would end the process or leak is refused with EINVAL, and the library is not called", () =>
    recorded(function*(calls) {
      const id = yield* boundId
      const context = yield* CmId.context(id)
      const queue = yield* CompletionQueue.make(context, { cqe: 8 })
      const other = yield* DeviceContext.openByName(lane.device)
      const stranger = yield* CompletionQueue.make(other, { cqe: 8 })
      const refused = [
        yield* Effect.flip(CmQueuePair.make(yield* CmId.make(id.channel, "tcp"), { qpType: "rc" })),
        yield* Effect.flip(CmQueuePair.make(id, { qpType: "rc", sendCq: queue })),
        yield* Effect.flip(CmQueuePair.make(id, { qpType: "rc", sendCq: stranger, recvCq: stranger })),
        yield* Effect.flip(CmQueuePair.make(id, { qpType: "rc", domain: yield* ProtectionDomain.alloc(other) }))
      ]
      for (const error of refused) assertReason(error, "rdma_create_qp", "EINVAL")
      const outOfRoom = [{ maxSendWr: 0 }, { maxRecvWr: 0 }]
      for (const cap of outOfRoom) {
        assertReason(yield* Effect.flip(CmQueuePair.make(id, { qpType: "rc", cap })), "rdma_create_qp", "EINVAL")
      }
      const shared = yield* SharedReceiveQueue.make(yield* ProtectionDomain.alloc(context), { maxWr: 4 })
      const withShared = CmQueuePair.make(id, { qpType: "rc", srq: shared })
      assertReason(yield* Effect.flip(withShared), "rdma_create_qp", "EINVAL")
      assert.strictEqual(timesCalled(yield* calls, "rdma_create_qp"), 0)
      const unbound = yield* CmId.make(id.channel, "tcp")
      assertReason(
        yield* Effect.flip(CmSharedReceiveQueue.make(unbound, { maxWr: 4 })),
        "rdma_create_srq",
        "EINVAL"
      )
      assert.strictEqual(timesCalled(yield* calls, "rdma_create_srq"), 0)
    }))

  it("a shared receive queue on an id is destroyed before the id", () =>
    recorded(function*(calls) {
      yield* Effect.scoped(Effect.gen(function*() {
        const id = yield* boundId
        const queue = yield* CmSharedReceiveQueue.make(id, { maxWr: 4 })
        assert.isAtLeast(queue.maxWr, 4)
        assert.isDefined((yield* CmId.state(id)).srq)
      }))
      assert.deepStrictEqual(namesOf(yield* calls).slice(-3), [
        "rdma_destroy_srq",
        "rdma_destroy_id",
        "rdma_destroy_event_channel"
      ])
    }))

  it("an id has one shared receive queue, and it is made before the queue pair: EINVAL", () =>
    recorded(function*(calls) {
      const id = yield* boundId
      const refused = Effect.flip(CmSharedReceiveQueue.make(id, { maxWr: 4 }))
      yield* Effect.scoped(Effect.gen(function*() {
        yield* CmSharedReceiveQueue.make(id, { maxWr: 4 })
        assertReason(yield* refused, "rdma_create_srq", "EINVAL")
      }))
      yield* CmQueuePair.make(id, { qpType: "rc" })
      assertReason(yield* refused, "rdma_create_srq", "EINVAL")
      assert.strictEqual(timesCalled(yield* calls, "rdma_create_srq"), 1)
    }))

  it("a queue pair on an id is destroyed before the shared receive queue of the id, whichever scope ends first", () =>
    recorded(function*(calls) {
      const id = yield* boundId
      const outer = yield* Effect.scope
      const queuePair = yield* Effect.scoped(Effect.andThen(
        CmSharedReceiveQueue.make(id, { maxWr: 4 }),
        Scope.provide(CmQueuePair.make(id, { qpType: "rc" }), outer)
      ))
      assert.isFalse(Resource.isLive(queuePair))
      assert.deepStrictEqual(namesOf(yield* calls).slice(-2), ["rdma_destroy_qp", "rdma_destroy_srq"])
      assert.deepInclude(yield* CmId.state(id), { qp: undefined, srq: undefined })
    }))

  it("librdmacm moves the queue pairs that it made, and tells both sides that they are established", () =>
    Effect.gen(function*() {
      const channel = yield* EventChannel.make()
      const { address, listener } = yield* listening(channel)
      const id = yield* routed(channel, address)
      const client = yield* CmQueuePair.make(id, { qpType: "rc" })
      const server = Effect.gen(function*() {
        const request = yield* CmId.nextRequest(listener)
        assert.strictEqual(request.conn?.qpNum, client.qpNum)
        const queuePair = yield* CmQueuePair.make(request.id, { qpType: "rc" })
        yield* CmId.accept(request.id)
        return queuePair
      })
      const [queuePair, answer] = yield* Effect.all([server, CmId.connect(id)], { concurrency: "unbounded" })
      assert.strictEqual(answer.event, "established")
      assert.strictEqual(answer.conn?.qpNum, queuePair.qpNum)
    }))
}
