/**
 * Conformance of batches of sends.
 *
 * @since 0.1.0
 */
import * as AddressHandle from "@effect-rdma/verbs/AddressHandle"
import * as QueuePair from "@effect-rdma/verbs/QueuePair"
import * as SendBatch from "@effect-rdma/verbs/SendBatch"
import { assert } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { assertReason, recorded, timesCalled } from "../../internal/conformance.ts"
import { cap, queueOn, verbsSuite } from "../../internal/conformanceVerbs.ts"
import type * as VerbsLane from "../VerbsLane.ts"

/**
 * Registers the suite on a lane.
 *
 * @category constructors
 * @since 0.1.0
 */
export const suite = <Others = never>(lane: VerbsLane.VerbsLane<Others>): void => {
  const { domain, it, pair, portNum, ready } = verbsSuite(lane)

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

  it("a batch in a state that cannot send is EINVAL before any call", () =>
    recorded(function*(calls) {
      const { on, self } = yield* extended()
      const to = yield* AddressHandle.make(on, lane.loop)
      yield* QueuePair.toInit(self, { portNum, qkey: 1 })
      assertReason(yield* Effect.flip(SendBatch.post(self, hello(self, to))), "ibv_wr_start", "EINVAL")
      assert.strictEqual(timesCalled(yield* calls, "ibv_wr_complete"), 0)
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

  it("a batch that the send queue has no room for is ENOMEM, and nothing of it is posted", () =>
    Effect.gen(function*() {
      const { on, self } = yield* extended()
      const to = yield* AddressHandle.make(on, lane.loop)
      yield* ready.ud(self)
      const error = yield* Effect.flip(SendBatch.post(self, (batch) => {
        for (let index = 0; index < 10_000; index++) hello(self, to)(batch)
      }))
      assertReason(error, "ibv_wr_send", "ENOMEM")
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
}

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

const hello = (self: QueuePair.QueuePair, to: AddressHandle.AddressHandle) => (batch: SendBatch.Builder): void => {
  batch.send({ wrId: 1n, flags: ["signaled"] })
  batch.setUdAddr(to, self.qpNum, 0x1111)
  batch.setInlineData(new TextEncoder().encode("hello"))
}
