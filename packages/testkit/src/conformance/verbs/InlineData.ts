/**
 * Conformance of inline data in batches, in one piece and in several.
 *
 * @since 0.1.0
 */
import * as AddressHandle from "@effect-rdma/verbs/AddressHandle"
import * as QueuePair from "@effect-rdma/verbs/QueuePair"
import * as SendBatch from "@effect-rdma/verbs/SendBatch"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { assertReason } from "../../internal/conformance.ts"
import { queueOn, verbsSuite } from "../../internal/conformanceVerbs.ts"
import type * as VerbsLane from "../VerbsLane.ts"

/**
 * Registers the suite on a lane.
 *
 * @category constructors
 * @since 0.1.0
 */
export const suite = <Others = never>(lane: VerbsLane.VerbsLane<Others>): void => {
  const { domain, it, ready } = verbsSuite(lane)

  /** Sends the pieces of inline data, from a queue pair with room for 64 bytes at least. */
  const sender = Effect.gen(function*() {
    const on = yield* domain
    const queue = yield* queueOn(on)
    const self = yield* QueuePair.makeExtended(on, {
      qpType: "ud",
      sendCq: queue,
      recvCq: queue,
      cap: { maxSendWr: 8, maxInlineData: 64 },
      sendOpsFlags: ["send"]
    })
    yield* ready.ud(self)
    const to = yield* AddressHandle.make(on, lane.loop)
    const send = (setData: (batch: SendBatch.Builder) => void) =>
      SendBatch.post(self, (batch) => {
        batch.send({ wrId: 1n })
        batch.setUdAddr(to, self.qpNum, 1)
        setData(batch)
      })
    return {
      room: self.cap.maxInlineData,
      whole: (length: number) => send((batch) => batch.setInlineData(new Uint8Array(length))),
      pieces: (...lengths: ReadonlyArray<number>) =>
        send((batch) => batch.setInlineDataList(lengths.map((length) => new Uint8Array(length))))
    }
  })

  it("inline data fills the room of the queue pair, in one piece and in several", () =>
    Effect.gen(function*() {
      const { pieces, room, whole } = yield* sender
      assert.isAtLeast(room, 64)
      yield* whole(room)
      yield* pieces(room)
      yield* pieces(room - 3, 0, 1, 2)
      yield* pieces()
    }))

  it("what has no room is EINVAL, does not reach the library, and the next batch is posted", () =>
    Effect.gen(function*() {
      const { pieces, room, whole } = yield* sender
      assertReason(yield* Effect.flip(whole(room + 1)), "ibv_wr_set_inline_data", "EINVAL")
      for (const lengths of [[room, 0, 1], [room + 1]]) {
        assertReason(yield* Effect.flip(pieces(...lengths)), "ibv_wr_set_inline_data_list", "EINVAL")
      }
      yield* pieces(room)
    }))
}
