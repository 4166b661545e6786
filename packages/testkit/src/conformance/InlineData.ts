/**
 * Inline data of batches, in one piece and in several, as tests of the scoped modules: the same on the in-memory fabric, on
 * Soft-RoCE and on hardware.
 *
 * @since 0.1.0
 */
import * as AddressHandle from "@effect-rdma/verbs/AddressHandle"
import type * as AddressHandleAttributes from "@effect-rdma/verbs/AddressHandleAttributes"
import * as CompletionQueue from "@effect-rdma/verbs/CompletionQueue"
import * as DeviceContext from "@effect-rdma/verbs/DeviceContext"
import * as ProtectionDomain from "@effect-rdma/verbs/ProtectionDomain"
import * as QueuePair from "@effect-rdma/verbs/QueuePair"
import * as SendBatch from "@effect-rdma/verbs/SendBatch"
import type * as Verbs from "@effect-rdma/verbs/Verbs"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { assertReason } from "../internal/conformance.ts"
import * as Lane from "./Lane.ts"

/**
 * What the suite has to know of the device that it runs on.
 *
 * @category models
 * @since 0.1.0
 */
export interface InlineDataLane<Others = never> extends Lane.Lane<Verbs.Verbs | Others> {
  readonly device: string
  /** The way from the port to itself. */
  readonly loop: AddressHandleAttributes.Input
  /** How the provider refuses a batch that there is no room for. */
  readonly fullBatch: "ENOMEM" | "ENOSPC"
}

/**
 * Registers the suite on a lane.
 *
 * @category constructors
 * @since 0.1.0
 */
export const suite = <Others = never>(lane: InlineDataLane<Others>): void => {
  const it = Lane.test<Verbs.Verbs | Others>(lane)

  /** Sends the pieces of inline data, from a queue pair with room for 64 bytes at least. */
  const sender = Effect.gen(function*() {
    const context = yield* DeviceContext.openByName(lane.device)
    const domain = yield* ProtectionDomain.alloc(context)
    const queue = yield* CompletionQueue.make(context, { cqe: 16 })
    const self = yield* QueuePair.makeExtended(domain, {
      qpType: "ud",
      sendCq: queue,
      recvCq: queue,
      cap: { maxSendWr: 8, maxInlineData: 64 },
      sendOpsFlags: ["send"]
    })
    yield* QueuePair.toInit(self, { portNum: lane.loop.portNum, qkey: 1 })
    yield* QueuePair.toRtr(self, {})
    yield* QueuePair.toRts(self, { sqPsn: 0 })
    const to = yield* AddressHandle.make(domain, lane.loop)
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

  it(`a piece beyond the room is ${lane.fullBatch}, and the next batch is posted`, () =>
    Effect.gen(function*() {
      const { pieces, room, whole } = yield* sender
      assertReason(yield* Effect.flip(whole(room + 1)), "ibv_wr_complete", lane.fullBatch)
      yield* pieces(room)
    }))

  it("pieces without room for all are EINVAL, and do not reach the library", () =>
    Effect.gen(function*() {
      const { pieces, room } = yield* sender
      for (const lengths of [[room, 0, 1], [room + 1]]) {
        assertReason(yield* Effect.flip(pieces(...lengths)), "ibv_wr_set_inline_data_list", "EINVAL")
      }
      yield* pieces(room)
    }))
}
