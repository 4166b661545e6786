/**
 * Conformance of messages to a queue pair of another type, which takes none of them.
 *
 * @since 0.1.0
 */
import * as AddressHandle from "@effect-rdma/verbs/AddressHandle"
import * as QueuePair from "@effect-rdma/verbs/QueuePair"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { pattern } from "../../internal/conformanceBytes.ts"
import { assertQuiet, assertTaken, outcomes, take } from "../../internal/conformanceCompletions.ts"
import { dataPathSuite, end } from "../../internal/conformanceDataPath.ts"
import { pairOn, queueOn, stateOf, toRts } from "../../internal/conformanceVerbs.ts"
import type * as VerbsLane from "../VerbsLane.ts"

/**
 * Registers the suite on a lane.
 *
 * @category constructors
 * @since 0.1.0
 */
export const suite = <Others = never>(lane: VerbsLane.VerbsLane<Others>): void => {
  const { connected, domain, it, path, portNum, ready } = dataPathSuite(lane)

  for (const qpType of ["ud", "uc"] as const) {
    it(`a reliable message to a queue pair of type ${qpType} is not acknowledged: retryExcErr`, () =>
      Effect.gen(function*() {
        const on = yield* domain
        const self = yield* end(on, "rc")
        const other = qpType === "ud"
          ? yield* Effect.tap(pairOn(on, "ud"), ready.ud)
          : yield* Effect.tap(pairOn(on, "uc"), ready.uc)
        yield* QueuePair.postRecv(other, [{ sgList: [self.part(0, 2048)] }])
        yield* toRts(self.queuePair, { portNum }, { ...path, destQpNum: other.qpNum }, {
          sqPsn: 0x123,
          timeout: 8,
          retryCnt: 1
        })
        yield* self.postSend({ opcode: "send", wrId: 1n, flags: ["signaled"], sgList: [self.part()] })
        yield* assertTaken(self.sends, ["1 retryExcErr"])
        assert.deepStrictEqual([yield* stateOf(self.queuePair), yield* stateOf(other)], ["err", "rts"])
      }))
  }

  it("a datagram to a connected queue pair is dropped, and the connection stays", () =>
    Effect.gen(function*() {
      const on = yield* domain
      const { a, b } = yield* connected.rc({ on })
      const sendCq = yield* queueOn(on)
      const sender = yield* pairOn(on, "ud", { sendCq })
      yield* ready.ud(sender)
      const to = yield* AddressHandle.make(on, lane.loop)
      yield* b.postRecv({ wrId: 2n, sgList: [b.part(0, 100)] })
      yield* QueuePair.postSend(sender, [{
        opcode: "send",
        wrId: 1n,
        flags: ["signaled"],
        sgList: [a.part()],
        to: { ah: to, remoteQpn: b.queuePair.qpNum, remoteQkey: 0x1111 }
      }])
      assert.deepStrictEqual(outcomes(yield* take(sendCq, 1)), ["1 success"])
      yield* assertQuiet(b.sends, b.receives)
      a.region.bytes.set(pattern(100))
      yield* a.postSend({ opcode: "send", wrId: 3n, flags: ["signaled"], sgList: [a.part(0, 100)] })
      yield* assertTaken(a.sends, ["3 success"])
      yield* assertTaken(b.receives, ["2 success"])
    }))
}
