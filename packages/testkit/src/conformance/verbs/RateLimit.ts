/**
 * Conformance of how fast queue pairs may send.
 *
 * @since 0.1.0
 */
import * as CompletionQueue from "@effect-rdma/verbs/CompletionQueue"
import * as ProtectionDomain from "@effect-rdma/verbs/ProtectionDomain"
import * as QueuePair from "@effect-rdma/verbs/QueuePair"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { assertPath, assertReason, recorded, timesCalled, usesDeadHandle } from "../../internal/conformance.ts"
import { verbsSuite } from "../../internal/conformanceVerbs.ts"
import type * as VerbsLane from "../VerbsLane.ts"

const limits = "ibv_modify_qp_rate_limit"

/**
 * Registers the suite on a lane.
 *
 * @category constructors
 * @since 0.1.0
 */
export const suite = <Others = never>(lane: VerbsLane.VerbsLane<Others>): void => {
  const { it, itWhere, open } = verbsSuite(lane)

  const pairOf = Effect.fnUntraced(function*<const Type extends "rc" | "ud" | "rawPacket">(qpType: Type) {
    const domain = yield* ProtectionDomain.alloc(yield* open)
    const queue = yield* CompletionQueue.make(domain.context, { cqe: 4 })
    return yield* QueuePair.make(domain, { qpType, sendCq: queue, recvCq: queue })
  })

  itWhere(lane.rateLimit === undefined, "the provider has limits")(
    "a limit is EOPNOTSUPP, whatever the queue pair and the limit",
    () =>
      Effect.gen(function*() {
        for (const self of [yield* pairOf("rc"), yield* pairOf("ud")]) {
          for (const limit of [{ rateLimit: 1 }, { rateLimit: 0 }, { rateLimit: 2, maxBurstSz: 1, typicalPktSz: 1 }]) {
            assertReason(yield* Effect.flip(QueuePair.modifyRateLimit(self, limit)), limits, "EOPNOTSUPP")
          }
        }
      })
  )

  const { rateLimit = 0 } = lane
  itWhere(lane.rateLimit !== undefined, "the provider has no limits")(
    "a raw packet queue pair takes a limit in RTS alone, and loses it",
    () =>
      Effect.gen(function*() {
        const self = yield* pairOf("rawPacket")
        const limit = Effect.map(QueuePair.query(self), ({ attributes }) => attributes.rateLimit)
        assertReason(yield* Effect.flip(QueuePair.modifyRateLimit(self, { rateLimit })), limits, "EINVAL")
        yield* QueuePair.toInit(self, { portNum: lane.port })
        yield* QueuePair.toRtr(self, {})
        yield* QueuePair.toRts(self, {})
        yield* QueuePair.modifyRateLimit(self, { rateLimit })
        assert.strictEqual(yield* limit, rateLimit)
        yield* QueuePair.modifyRateLimit(self, { rateLimit: 0 })
        assert.strictEqual(yield* limit, 0)
      })
  )

  it("a limit that C has no room for, and one for a destroyed queue pair, do not reach the library", () =>
    recorded(function*(calls) {
      const self = yield* pairOf("rc")
      assertPath(yield* Effect.flip(QueuePair.modifyRateLimit(self, { rateLimit: 2 ** 32 })), ["rateLimit"])
      const burst = { rateLimit: 1, typicalPktSz: 0x1_0000 }
      assertPath(yield* Effect.flip(QueuePair.modifyRateLimit(self, burst)), ["typicalPktSz"])
      const dead = yield* Effect.scoped(pairOf("rc"))
      yield* usesDeadHandle(QueuePair.modifyRateLimit(dead, { rateLimit: 1 }))
      assert.strictEqual(timesCalled(yield* calls, limits), 0)
    }))
}
