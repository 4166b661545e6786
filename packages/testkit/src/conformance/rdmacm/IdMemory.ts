/**
 * Conformance of memory for the connection of an id, and of the connection itself as something scoped.
 *
 * @since 0.1.0
 */
import * as Resource from "@effect-rdma/core/Resource"
import * as CmConnection from "@effect-rdma/rdmacm/CmConnection"
import * as CmId from "@effect-rdma/rdmacm/CmId"
import * as CmMemoryRegion from "@effect-rdma/rdmacm/CmMemoryRegion"
import * as EventChannel from "@effect-rdma/rdmacm/EventChannel"
import * as CompletionQueue from "@effect-rdma/verbs/CompletionQueue"
import * as QueuePair from "@effect-rdma/verbs/QueuePair"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
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

  /** A queue pair in the domain of an id. */
  const queuePairOf = Effect.fnUntraced(function*(id: CmId.CmId) {
    const queue = yield* CompletionQueue.make(yield* CmId.context(id), { cqe: 16 })
    return yield* QueuePair.make(yield* CmId.domain(id), { qpType: "rc", sendCq: queue, recvCq: queue })
  })

  const serve = Effect.fnUntraced(function*(listener: CmId.CmId) {
    const { id } = yield* CmId.nextRequest(listener)
    const queuePair = yield* queuePairOf(id)
    for (const state of ["init", "rtr", "rts"] as const) yield* CmId.moveQueuePair(id, queuePair, state)
    return { id, queuePair, connection: yield* CmConnection.accept(id, { qpNum: queuePair.qpNum }) }
  })

  const dial = Effect.fnUntraced(function*(id: CmId.CmId) {
    const queuePair = yield* queuePairOf(id)
    yield* CmId.moveQueuePair(id, queuePair, "init")
    const connection = yield* CmConnection.connect(id, { qpNum: queuePair.qpNum })
    yield* CmId.moveQueuePair(id, queuePair, "rtr")
    yield* CmId.moveQueuePair(id, queuePair, "rts")
    yield* CmId.establish(id)
    return { id, queuePair, connection }
  })

  const connected = Effect.gen(function*() {
    const { address, listener } = yield* listening(yield* EventChannel.make())
    const id = yield* routed(yield* EventChannel.make(), address)
    const [server, client] = yield* Effect.all([serve(listener), dial(id)], { concurrency: "unbounded" })
    return { server, client }
  })

  it("memory of an id carries messages of its connection, and is deregistered before the id is destroyed", () =>
    recorded(function*(calls) {
      yield* Effect.scoped(Effect.gen(function*() {
        const { client, server } = yield* connected
        const out = yield* CmMemoryRegion.alloc(client.id, { length: 64, use: "messages" })
        const into = yield* CmMemoryRegion.alloc(server.id, { length: 64, use: "messages" })
        out.bytes.set(new TextEncoder().encode("hello"))
        yield* Effect.all([
          QueuePair.recv(server.queuePair, { sgList: [{ region: into, length: 64 }] }),
          QueuePair.send(client.queuePair, { sgList: [{ region: out, length: 5 }] })
        ], { concurrency: "unbounded" })
        assert.strictEqual(new TextDecoder().decode(into.bytes.subarray(0, 5)), "hello")
      }))
      const names = namesOf(yield* calls)
      assert.isBelow(names.lastIndexOf("ibv_dereg_mr"), names.indexOf("rdma_destroy_id"))
    }))

  it("memory that the other side reads or writes has the access for it", () =>
    Effect.gen(function*() {
      const id = yield* boundId
      const readable = yield* CmMemoryRegion.alloc(id, { length: 64, use: "read" })
      const writable = yield* CmMemoryRegion.alloc(id, { length: 64, use: "write" })
      assert.deepStrictEqual(readable.access, ["localWrite", "remoteRead"])
      assert.deepStrictEqual(writable.access, ["localWrite", "remoteWrite"])
    }))

  it("memory of an id that is bound to no device: EINVAL, and nothing is registered", () =>
    recorded(function*(calls) {
      const id = yield* idOnOwnChannel
      const error = yield* Effect.flip(Effect.scoped(CmMemoryRegion.alloc(id, { length: 64, use: "messages" })))
      assert.strictEqual(error._tag === "RdmaCmError" && error.reason._tag, "EINVAL")
      assert.strictEqual(timesCalled(yield* calls, "ibv_reg_mr"), 0)
    }))

  it("the end of the scope of a connection disconnects, and the other side is told", () =>
    recorded(function*(calls) {
      const scope = yield* Scope.make()
      const { address, listener } = yield* listening(yield* EventChannel.make())
      const id = yield* routed(yield* EventChannel.make(), address)
      const [server, client] = yield* Effect.all([serve(listener), Scope.provide(dial(id), scope)], {
        concurrency: "unbounded"
      })
      assert.strictEqual(client.connection.answer?.event, "connectResponse")
      yield* Scope.close(scope, Exit.void)
      yield* CmId.awaitDisconnected(server.id)
      assert.isTrue(Resource.isLive(id))
      assert.strictEqual(timesCalled(yield* calls, "rdma_disconnect"), 1)
    }))

  it("a connection that did not come about is not disconnected", () =>
    recorded(function*(calls) {
      const { address } = yield* listening(yield* EventChannel.make())
      const id = yield* routed(yield* EventChannel.make(), address)
      const attempt = Effect.scoped(CmConnection.connect(id, { qpNum: 1 }))
      assert.isTrue(Option.isNone(yield* Effect.timeoutOption(attempt, "50 millis")))
      const refused = yield* routed(yield* EventChannel.make(), at(9))
      const error = yield* Effect.flip(Effect.scoped(CmConnection.connect(refused, { qpNum: 1 })))
      assert.strictEqual(error._tag, "ConnectionRejected")
      assert.strictEqual(timesCalled(yield* calls, "rdma_disconnect"), 0)
    }))

  it("the other side is told the options of a vendor that one proposes, and zeroes where there are none", () =>
    Effect.gen(function*() {
      const { address, listener } = yield* listening(yield* EventChannel.make())
      const none = { vendorId: 0, options: 0, compMask: 0 }
      const proposal = { vendorId: 0x15b3, options: 5, compMask: 0 }
      const toldBy = (propose: (id: CmId.CmId) => Effect.Effect<void, unknown>) =>
        Effect.scoped(Effect.gen(function*() {
          const id = yield* routed(yield* EventChannel.make(), address)
          yield* propose(id)
          const asked = Effect.flatMap(
            CmId.nextRequest(listener),
            ({ id }) => Effect.tap(CmId.getRemoteEce(id), () => CmId.reject(id))
          )
          const [told] = yield* Effect.all([asked, Effect.flip(CmId.connect(id, { qpNum: 1 }))], {
            concurrency: "unbounded"
          })
          return told
        }))
      assert.deepStrictEqual(yield* toldBy((id) => CmId.setLocalEce(id, proposal)), proposal)
      assert.deepStrictEqual(yield* toldBy(() => Effect.void), none)
      assertReason(
        yield* Effect.flip(CmId.setLocalEce(yield* boundId, none)),
        "rdma_set_local_ece",
        "EINVAL"
      )
    }))

  it("a rejection because of options of the vendor tells that reason", () =>
    Effect.gen(function*() {
      const { address, listener } = yield* listening(yield* EventChannel.make())
      const id = yield* routed(yield* EventChannel.make(), address)
      const [error] = yield* Effect.all([
        Effect.flip(CmId.connect(id, { qpNum: 1 })),
        Effect.scoped(Effect.flatMap(CmId.nextRequest(listener), ({ id }) => CmId.rejectEce(id)))
      ], { concurrency: "unbounded" })
      assert(error._tag === "ConnectionRejected", error.message)
      assert.deepInclude(error, { status: 35, reason: "vendorOptionNotSupported" })
    }))

  it("a notification: nothing for a connection that is there, EINVAL for an id without one", () =>
    Effect.gen(function*() {
      const { server } = yield* connected
      yield* CmId.notify(server.id, "commEst")
      assertReason(yield* Effect.flip(CmId.notify(yield* boundId, "commEst")), "rdma_notify", "EINVAL")
    }))
}
