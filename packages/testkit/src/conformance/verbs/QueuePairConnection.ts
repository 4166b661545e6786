/**
 * Conformance of queue pairs that connect by what they told each other.
 *
 * @since 0.1.0
 */
import * as QueuePair from "@effect-rdma/verbs/QueuePair"
import * as QueuePairEndpoint from "@effect-rdma/verbs/QueuePairEndpoint"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { assertReason, recorded, timesCalled } from "../../internal/conformance.ts"
import { pairOn, stateOf, verbsSuite } from "../../internal/conformanceVerbs.ts"
import type * as VerbsLane from "../VerbsLane.ts"

/**
 * Registers the suite on a lane.
 *
 * @category constructors
 * @since 0.1.0
 */
export const suite = <Others = never>(lane: VerbsLane.VerbsLane<Others>): void => {
  const { domain, it, pair, portNum } = verbsSuite(lane)

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
}

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

const encodeEndpoint = Schema.encodeEffect(QueuePairEndpoint.FromJson)
const decodeEndpoint = Schema.decodeEffect(QueuePairEndpoint.FromJson)
