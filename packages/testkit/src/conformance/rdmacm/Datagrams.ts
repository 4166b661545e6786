/**
 * Conformance of datagram ids: how two sides learn of each other's queue pairs.
 *
 * @since 0.1.0
 */
import * as CmId from "@effect-rdma/rdmacm/CmId"
import * as EventChannel from "@effect-rdma/rdmacm/EventChannel"
import * as QueuePair from "@effect-rdma/verbs/QueuePair"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { assertReason } from "../../internal/conformance.ts"
import { queuePairFor, rdmaCmSuite } from "../../internal/conformanceRdmaCm.ts"
import type * as RdmaCmLane from "../RdmaCmLane.ts"

/**
 * Registers the suite on a lane.
 *
 * @category constructors
 * @since 0.1.0
 */
export const suite = <Others = never>(lane: RdmaCmLane.RdmaCmLane<Others>): void => {
  const { at, it, listening, routed } = rdmaCmSuite(lane)

  it("the side that connects learns where to send, and the private data of the other one", () =>
    Effect.gen(function*() {
      const { address, listener } = yield* listening(yield* EventChannel.make(), "udp")
      const id = yield* routed(yield* EventChannel.make(), address, "udp")
      const server = Effect.gen(function*() {
        const request = yield* CmId.nextRequest(listener)
        const { queuePair } = yield* queuePairFor(request.id, "ud")
        for (const state of ["init", "rtr", "rts"] as const) {
          yield* CmId.moveQueuePair(request.id, queuePair, state)
        }
        assert.strictEqual(yield* QueuePair.state(queuePair), "rts")
        yield* CmId.accept(request.id, { qpNum: queuePair.qpNum, privateData: Uint8Array.of(4, 5, 6) })
        return { ...request, queuePair }
      })
      const [{ conn, queuePair, ud }, answer] = yield* Effect.all([
        server,
        CmId.connect(id, { privateData: Uint8Array.of(1, 2, 3) })
      ], { concurrency: "unbounded" })
      assert.isUndefined(conn)
      assert.deepStrictEqual(ud?.privateData.slice(0, 4), Uint8Array.of(1, 2, 3, 0))
      assert.isUndefined(ud?.ahAttr)
      assert.strictEqual(answer.event, "established")
      assert(answer.ud !== undefined)
      assert.deepStrictEqual(answer.ud.privateData.slice(0, 4), Uint8Array.of(4, 5, 6, 0))
      assert.strictEqual(answer.ud.qpNum, queuePair.qpNum)
      const { attributes } = yield* QueuePair.query(queuePair)
      assert.strictEqual(answer.ud.qkey, attributes.qkey)
      assert(answer.ud.ahAttr !== undefined)
      assert.strictEqual(answer.ud.ahAttr.portNum, lane.port)
      // Over Ethernet by its GID, in a subnet of InfiniBand by its LID.
      assert.isTrue(answer.ud.ahAttr.grh !== undefined || answer.ud.ahAttr.dlid !== 0)
    }))

  it("180 bytes of private data reach the listener, and 136 the client; more is EINVAL", () =>
    Effect.gen(function*() {
      const { address, listener } = yield* listening(yield* EventChannel.make(), "udp")
      const id = yield* routed(yield* EventChannel.make(), address, "udp")
      const connect = (length: number) => CmId.connect(id, { qpNum: 1, privateData: new Uint8Array(length).fill(1) })
      assertReason(yield* Effect.flip(connect(181)), "rdma_connect", "EINVAL")
      const [ud, answer] = yield* Effect.all([
        Effect.gen(function*() {
          const { id, ud } = yield* CmId.nextRequest(listener)
          yield* CmId.accept(id, { qpNum: 2, privateData: new Uint8Array(136).fill(2) })
          return ud
        }),
        connect(180)
      ], { concurrency: "unbounded" })
      assert.deepStrictEqual(ud?.privateData, new Uint8Array(180).fill(1))
      assert.deepStrictEqual(answer.ud?.privateData, new Uint8Array(136).fill(2))
    }))

  it("a rejected request is PeerUnreachable with status 2", () =>
    Effect.gen(function*() {
      const { address, listener } = yield* listening(yield* EventChannel.make(), "udp")
      const id = yield* routed(yield* EventChannel.make(), address, "udp")
      const [error] = yield* Effect.all([
        Effect.flip(CmId.connect(id)),
        Effect.scoped(Effect.flatMap(CmId.nextRequest(listener), ({ id }) => CmId.reject(id)))
      ], { concurrency: "unbounded" })
      assert(error._tag === "PeerUnreachable", error.message)
      assert.strictEqual(error.status, 2)
    }))

  it("a port that nobody listens on is PeerUnreachable with status 1", () =>
    Effect.gen(function*() {
      const id = yield* routed(yield* EventChannel.make(), at(9), "udp")
      const error = yield* Effect.flip(CmId.connect(id))
      assert(error._tag === "PeerUnreachable", error.message)
      assert.strictEqual(error.status, 1)
    }))
}
