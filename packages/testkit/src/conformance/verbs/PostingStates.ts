/**
 * Conformance of posting in each state of a queue pair, and of what becomes of requests when the state changes.
 *
 * @since 0.1.0
 */
import * as QueuePair from "@effect-rdma/verbs/QueuePair"
import type { VerbsError } from "@effect-rdma/verbs/VerbsError"
import type * as WorkCompletion from "@effect-rdma/verbs/WorkCompletion"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { assertReason, recorded, timesCalled } from "../../internal/conformance.ts"
import { put, textIn } from "../../internal/conformanceBytes.ts"
import { assertQuiet, assertTaken, within } from "../../internal/conformanceCompletions.ts"
import { dataPathSuite, type End, end } from "../../internal/conformanceDataPath.ts"
import { postReceives, postSends } from "../../internal/conformanceRequests.ts"
import { stateOf } from "../../internal/conformanceVerbs.ts"
import type * as VerbsLane from "../VerbsLane.ts"

/**
 * Registers the suite on a lane.
 *
 * @category constructors
 * @since 0.1.0
 */
export const suite = <Others = never>(lane: VerbsLane.VerbsLane<Others>): void => {
  const { connect, connected, domain, has, it, path, portNum } = dataPathSuite(lane)

  const alone = Effect.flatMap(domain, (on) => end(on, "rc"))
  const toInit = ({ queuePair }: End<"rc">) => QueuePair.toInit(queuePair, { portNum })
  const toRtr = ({ queuePair }: End<"rc">, peer: End) =>
    QueuePair.toRtr(queuePair, { ...path, destQpNum: peer.queuePair.qpNum })
  const toRts = ({ queuePair }: End<"rc">) => QueuePair.toRts(queuePair, { sqPsn: path.rqPsn })

  const early = {
    RESET: () => Effect.void,
    INIT: toInit,
    RTR: (self: End<"rc">) => Effect.andThen(toInit(self), toRtr(self, self))
  }
  for (const [state, reach] of Object.entries(early)) {
    it(`a send in ${state} is EINVAL before any call`, () =>
      recorded(function*(calls) {
        const self = yield* alone
        yield* reach(self)
        assertReason(yield* Effect.flip(postSends(self, 1n)), "ibv_post_send", "EINVAL")
        assertRefused(yield* Effect.flip(QueuePair.send(self.queuePair, {})), "ibv_post_send", "EINVAL")
        assert.strictEqual(timesCalled(yield* calls, "ibv_post_send"), 0)
        yield* assertQuiet(self.sends)
      }))
  }

  it("a receive in RESET is EINVAL before any call", () =>
    recorded(function*(calls) {
      const self = yield* alone
      assertReason(yield* Effect.flip(postReceives(self, 1n)), "ibv_post_recv", "EINVAL")
      assertRefused(yield* Effect.flip(QueuePair.recv(self.queuePair, { sgList: [] })), "ibv_post_recv", "EINVAL")
      assert.strictEqual(timesCalled(yield* calls, "ibv_post_recv"), 0)
    }))

  it("receives that were posted in INIT, RTR and RTS take messages in that order", () =>
    Effect.gen(function*() {
      const on = yield* domain
      const [a, b] = [yield* end(on, "rc"), yield* end(on, "rc")]
      yield* toInit(b)
      yield* postReceives(b, 1n)
      yield* toRtr(b, a)
      yield* postReceives(b, 2n)
      yield* toRts(b)
      yield* postReceives(b, 3n)
      yield* toInit(a)
      yield* toRtr(a, b)
      yield* toRts(a)
      yield* postSends(a, 4n, 5n, 6n)
      yield* assertTaken(b.receives, ["1 success", "2 success", "3 success"])
      yield* assertTaken(a.sends, ["4 success", "5 success", "6 success"])
    }))

  it("a queue pair in RTR receives, and answers reads", () =>
    Effect.gen(function*() {
      const on = yield* domain
      const [a, b] = [yield* end(on, "rc"), yield* end(on, "rc")]
      yield* QueuePair.toInit(b.queuePair, { portNum, qpAccessFlags: ["remoteRead"] })
      yield* toRtr(b, a)
      yield* postReceives(b, 1n)
      for (const step of [toInit(a), toRtr(a, b), toRts(a)]) yield* step
      yield* within("the send", QueuePair.send(a.queuePair, { sgList: [put(a, "early")] }))
      yield* assertTaken(b.receives, ["1 success"])
      assert.strictEqual(textIn(b, 5), "early")
      yield* within("the read", QueuePair.rdmaRead(a.queuePair, { sgList: [a.part(0, 5)], remote: b.remote() }))
      assert.strictEqual(textIn(a, 5), "early")
      assert.strictEqual(yield* stateOf(b.queuePair), "rtr")
    }))

  it("ERR flushes the receives in their order", () =>
    Effect.gen(function*() {
      const { b } = yield* connected.rc()
      yield* postReceives(b, 1n, 2n, 3n)
      yield* QueuePair.toErr(b.queuePair)
      yield* assertTaken(b.receives, ["1 wrFlushErr", "2 wrFlushErr", "3 wrFlushErr"])
      yield* assertQuiet(b.receives, b.sends)
    }))

  it("ERR flushes the sends that wait, in their order, also those that are not signaled", () =>
    Effect.gen(function*() {
      // The peer has no receive.
      const { a } = yield* connected.rc()
      yield* postSends(a, 1n)
      yield* a.postSend({ opcode: "send", wrId: 2n })
      yield* postSends(a, 3n)
      yield* assertQuiet(a.sends)
      yield* QueuePair.toErr(a.queuePair)
      yield* assertTaken(a.sends, ["1 wrFlushErr", "2 wrFlushErr", "3 wrFlushErr"])
      yield* assertQuiet(a.sends)
    }))

  it("what was done before ERR stays done", () =>
    Effect.gen(function*() {
      const { a, b } = yield* connected.rc()
      yield* postReceives(b, 1n)
      yield* postSends(a, 2n, 3n)
      yield* assertTaken(b.receives, ["1 success"])
      yield* QueuePair.toErr(a.queuePair)
      yield* assertTaken(a.sends, ["2 success", "3 wrFlushErr"])
    }))

  it("sends that are posted in ERR are flushed", () =>
    Effect.gen(function*() {
      const { a } = yield* connected.rc()
      yield* QueuePair.toErr(a.queuePair)
      for (let wrId = 1n; wrId <= 3n; wrId++) {
        yield* postSends(a, wrId)
        yield* assertTaken(a.sends, [`${wrId} wrFlushErr`])
      }
    }))

  it("receives that are posted in ERR are flushed, on some providers when it is set again", () =>
    Effect.gen(function*() {
      const { b } = yield* connected.rc()
      yield* QueuePair.toErr(b.queuePair)
      yield* postReceives(b, 1n, 2n)
      if (!has("flushesAtOnce")) {
        yield* assertQuiet(b.receives)
        yield* QueuePair.toErr(b.queuePair)
      }
      yield* assertTaken(b.receives, ["1 wrFlushErr", "2 wrFlushErr"])
    }))

  it("ERR in INIT flushes the receives", () =>
    Effect.gen(function*() {
      const self = yield* alone
      yield* toInit(self)
      yield* postReceives(self, 1n, 2n)
      yield* QueuePair.toErr(self.queuePair)
      yield* assertTaken(self.receives, ["1 wrFlushErr", "2 wrFlushErr"])
    }))

  it("RESET drops what waits without a completion, and gives its places back", () =>
    Effect.gen(function*() {
      const { a, b } = yield* connected.rc()
      yield* postSends(a, ...Array.from({ length: 16 }, (_, wrId) => BigInt(wrId)))
      yield* postReceives(a, ...Array.from({ length: 16 }, (_, wrId) => BigInt(wrId)))
      yield* QueuePair.toReset(a.queuePair)
      yield* QueuePair.toReset(b.queuePair)
      yield* assertQuiet(a.sends, a.receives)
      yield* connect(a, b)
      yield* postReceives(b, ...Array.from({ length: 16 }, (_, wrId) => BigInt(wrId)))
      yield* postSends(a, ...Array.from({ length: 16 }, (_, wrId) => BigInt(wrId)))
      const all = Array.from({ length: 16 }, (_, wrId) => `${wrId} success`)
      yield* assertTaken(b.receives, all)
      yield* assertTaken(a.sends, all)
    }))

  it("a queue pair lives several lives, by ERR and by RESET alone", () =>
    Effect.gen(function*() {
      const { a, b } = yield* connected.rc()
      for (const viaErr of [false, true, false, true]) {
        yield* postReceives(b, 1n)
        yield* postSends(a, 2n)
        yield* assertTaken(b.receives, ["1 success"])
        yield* assertTaken(a.sends, ["2 success"])
        for (const self of [a, b]) {
          if (viaErr) yield* QueuePair.toErr(self.queuePair)
          yield* QueuePair.toReset(self.queuePair)
        }
        yield* connect(b, a)
      }
    }))

  it("a queue pair finds another peer after a reset", () =>
    Effect.gen(function*() {
      const { a, b } = yield* connected.rc()
      yield* postReceives(b, 1n)
      yield* within("the first send", QueuePair.send(a.queuePair, {}))
      const c = yield* end(b.on, "rc")
      yield* QueuePair.toReset(a.queuePair)
      yield* connect(a, c)
      yield* postReceives(c, 2n)
      yield* within("the second send", QueuePair.send(a.queuePair, {}))
      yield* assertTaken(c.receives, ["2 success"])
      yield* assertTaken(b.receives, ["1 success"])
      yield* assertQuiet(b.receives)
    }))

  it("SQD keeps the sends that are posted then until RTS, and still receives", () =>
    Effect.gen(function*() {
      const { a, b } = yield* connected.rc()
      yield* postReceives(b, 1n, 2n)
      yield* postReceives(a, 3n)
      yield* QueuePair.modify(a.queuePair, { qpState: "sqd" })
      yield* postSends(a, 4n)
      yield* assertQuiet(a.sends, b.receives)
      yield* within("a send to it", QueuePair.send(b.queuePair, {}))
      yield* assertTaken(a.receives, ["3 success"])
      yield* QueuePair.modify(a.queuePair, { qpState: "rts" })
      // Some providers go on with the next post only.
      yield* postSends(a, 5n)
      yield* assertTaken(a.sends, ["4 success", "5 success"])
      yield* assertTaken(b.receives, ["1 success", "2 success"])
    }))

  it("a queue pair in INIT or ERR goes with receives on it", () =>
    Effect.gen(function*() {
      for (const last of [() => Effect.void, QueuePair.toErr]) {
        yield* Effect.scoped(Effect.gen(function*() {
          const self = yield* alone
          yield* toInit(self)
          yield* postReceives(self, 1n, 2n)
          yield* last(self.queuePair)
        }))
      }
    }))
}

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

const assertRefused = (
  error: VerbsError | WorkCompletion.WorkCompletionError,
  call: string,
  reason: VerbsError["reason"]["_tag"]
): void => error._tag === "VerbsError" ? assertReason(error, call, reason) : assert.fail(error.message)
