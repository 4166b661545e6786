/**
 * Conformance of messages that find no receive, and of peers that do not answer.
 *
 * @since 0.1.0
 */
import * as QueuePair from "@effect-rdma/verbs/QueuePair"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Scope from "effect/Scope"
import { put, textIn } from "../../internal/conformanceBytes.ts"
import { assertQuiet, assertTaken, within } from "../../internal/conformanceCompletions.ts"
import { dataPathSuite, end } from "../../internal/conformanceDataPath.ts"
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
  const { connected, domain, it, portNum } = dataPathSuite(lane)

  it("without a retry a message without a receive ends with rnrRetryExcErr, and the sender is in ERR", () =>
    Effect.gen(function*() {
      const { a, b } = yield* connected.rc({ path: { rnrRetry: 0, minRnrTimer: 1 } })
      yield* postSends(a, 1n)
      yield* assertTaken(a.sends, ["1 rnrRetryExcErr"])
      assert.strictEqual(yield* stateOf(a.queuePair), "err")
      assert.strictEqual(yield* stateOf(b.queuePair), "rts")
      yield* assertQuiet(b.receives)
    }))

  it("what is behind it is flushed", () =>
    Effect.gen(function*() {
      const { a } = yield* connected.rc({ path: { rnrRetry: 1, minRnrTimer: 1 } })
      yield* postSends(a, 1n, 2n, 3n)
      yield* assertTaken(a.sends, ["1 rnrRetryExcErr", "2 wrFlushErr", "3 wrFlushErr"])
    }))

  it("what was sent before it stays sent", () =>
    Effect.gen(function*() {
      const { a, b } = yield* connected.rc({ path: { rnrRetry: 1, minRnrTimer: 1 } })
      yield* postReceives(b, 1n, 2n)
      yield* postSends(a, 3n, 4n, 5n)
      yield* assertTaken(a.sends, ["3 success", "4 success", "5 rnrRetryExcErr"])
      yield* assertTaken(b.receives, ["1 success", "2 success"])
    }))

  it("a receive that comes between the retries takes the message", () =>
    Effect.gen(function*() {
      // 6 times 41 ms.
      const { a, b } = yield* connected.rc({ path: { rnrRetry: 6, minRnrTimer: 24 } })
      yield* a.postSend({ opcode: "send", wrId: 1n, flags: ["signaled"], sgList: [put(a, "retried")] })
      yield* Effect.sleep("20 millis")
      yield* postReceives(b, 2n)
      yield* assertTaken(a.sends, ["1 success"])
      yield* assertTaken(b.receives, ["2 success"])
      assert.strictEqual(textIn(b, 7), "retried")
    }))

  it("with 7 retries the sender waits as long as it takes, and the messages keep their order", () =>
    Effect.gen(function*() {
      const { a, b } = yield* connected.rc({ path: { rnrRetry: 7, minRnrTimer: 1 } })
      yield* a.postSend(...[1, 2, 3].map((number) => ({
        opcode: "sendWithImm",
        immData: number,
        wrId: BigInt(number),
        flags: ["signaled"]
      } as const)))
      for (const number of [1, 2, 3]) {
        yield* assertQuiet(a.sends, b.receives)
        yield* postReceives(b, 0n)
        const [received] = yield* assertTaken(b.receives, ["0 success"])
        assert.strictEqual(received?.status === "success" ? received.immData : undefined, number)
        yield* assertTaken(a.sends, [`${number} success`])
      }
    }))

  it("a write with immediate data waits for a receive, and a plain one does not", () =>
    Effect.gen(function*() {
      const { a, b } = yield* connected.rc({ path: { minRnrTimer: 1 } })
      const write = { sgList: [put(a, "written")], remote: b.remote(), flags: ["signaled"] } as const
      yield* a.postSend({ ...write, opcode: "rdmaWrite", wrId: 1n })
      yield* assertTaken(a.sends, ["1 success"])
      yield* a.postSend({ ...write, opcode: "rdmaWriteWithImm", immData: 5, wrId: 2n })
      yield* assertQuiet(a.sends, b.receives)
      yield* postReceives(b, 3n)
      yield* assertTaken(a.sends, ["2 success"])
      yield* assertTaken(b.receives, ["3 success"])
    }))

  it("a write with immediate data ends with rnrRetryExcErr too", () =>
    Effect.gen(function*() {
      const { a, b } = yield* connected.rc({ path: { rnrRetry: 0, minRnrTimer: 1 } })
      yield* a.postSend({ opcode: "rdmaWriteWithImm", immData: 5, wrId: 1n, remote: b.remote(), sgList: [put(a, "x")] })
      yield* assertTaken(a.sends, ["1 rnrRetryExcErr"])
    }))

  it("an awaited send says that the receiver was not ready", () =>
    Effect.gen(function*() {
      const { a } = yield* connected.rc({ path: { rnrRetry: 0, minRnrTimer: 1 } })
      const error = yield* within("the end of the send", Effect.flip(QueuePair.send(a.queuePair, { wrId: 8n })))
      if (error._tag !== "WorkCompletionError") return assert.fail(error.message)
      assert.deepStrictEqual([error.status, error.wrId, error.qpNum], ["rnrRetryExcErr", 8n, a.queuePair.qpNum])
      assert.include(error.message, "RNR retry counter exceeded")
    }))

  it("a sender that waits is flushed by ERR, and its message never arrives", () =>
    Effect.gen(function*() {
      const { a, b } = yield* connected.rc({ path: { minRnrTimer: 1 } })
      yield* postSends(a, 1n)
      yield* assertQuiet(a.sends)
      yield* QueuePair.toErr(a.queuePair)
      yield* assertTaken(a.sends, ["1 wrFlushErr"])
      yield* postReceives(b, 2n)
      yield* assertQuiet(b.receives)
    }))

  it("a sender that waits can be destroyed", () =>
    Effect.gen(function*() {
      const on = yield* domain
      yield* Effect.scoped(Effect.gen(function*() {
        const { a } = yield* connected.rc({ on, path: { minRnrTimer: 1 } })
        yield* postSends(a, 1n, 2n)
        yield* Effect.sleep("10 millis")
      }))
    }))

  const quick = { timeout: 8, retryCnt: 1 } as const

  it("a peer that is gone does not answer: retryExcErr, what is behind it is flushed, and the sender is in ERR", () =>
    Effect.gen(function*() {
      const on = yield* domain
      const scope = yield* Scope.fork(yield* Effect.scope)
      const [a, b] = [yield* end(on, "rc"), yield* end(on, "rc").pipe(Scope.provide(scope))]
      const local = yield* QueuePair.endpoint(a.queuePair, { portNum })
      yield* QueuePair.connect(a.queuePair, local, yield* QueuePair.endpoint(b.queuePair, { portNum }), quick)
      yield* Scope.close(scope, Exit.void)
      yield* postSends(a, 1n, 2n)
      yield* assertTaken(a.sends, ["1 retryExcErr", "2 wrFlushErr"])
      assert.strictEqual(yield* stateOf(a.queuePair), "err")
    }))

  for (const state of ["RESET", "INIT"] as const) {
    it(`a peer in ${state} does not answer: retryExcErr`, () =>
      Effect.gen(function*() {
        const on = yield* domain
        const [a, b] = [yield* end(on, "rc"), yield* end(on, "rc")]
        const local = yield* QueuePair.endpoint(a.queuePair, { portNum })
        yield* QueuePair.connect(a.queuePair, local, yield* QueuePair.endpoint(b.queuePair, { portNum }), quick)
        if (state === "INIT") {
          yield* QueuePair.toInit(b.queuePair, { portNum })
          yield* postReceives(b, 1n)
        }
        yield* postSends(a, 2n)
        yield* assertTaken(a.sends, ["2 retryExcErr"])
        yield* assertQuiet(b.receives)
      }))
  }

  it("a peer that comes to RTR between the retries gets the message", () =>
    Effect.gen(function*() {
      const on = yield* domain
      const [a, b] = [yield* end(on, "rc"), yield* end(on, "rc")]
      const [local, remote] = [
        yield* QueuePair.endpoint(a.queuePair, { portNum }),
        yield* QueuePair.endpoint(b.queuePair, { portNum })
      ]
      // 7 times 67 ms.
      yield* QueuePair.connect(a.queuePair, local, remote)
      yield* postSends(a, 1n)
      yield* Effect.sleep("30 millis")
      yield* QueuePair.connect(b.queuePair, remote, local, { receives: postReceives(b, 2n) })
      yield* assertTaken(b.receives, ["2 success"])
      yield* assertTaken(a.sends, ["1 success"])
    }))

  it("reads, writes and atomics to a peer that is gone end with retryExcErr", () =>
    Effect.gen(function*() {
      const on = yield* domain
      const stays = yield* end(on, "rc")
      const remote = stays.remote()
      const gone = yield* Effect.scoped(end(on, "rc"))
      const requests = [
        { opcode: "rdmaWrite", remote },
        { opcode: "rdmaRead", remote },
        { opcode: "atomicFetchAndAdd", remote, add: 1n }
      ] as const
      for (const request of requests) {
        const a = yield* end(on, "rc")
        const local = yield* QueuePair.endpoint(a.queuePair, { portNum })
        yield* QueuePair.connect(a.queuePair, local, { ...local, qpNum: gone.queuePair.qpNum }, quick)
        yield* a.postSend({ ...request, wrId: 1n, sgList: [a.part()] })
        yield* assertTaken(a.sends, ["1 retryExcErr"])
      }
    }))

  it("an awaited send to nobody fails with retryExcErr", () =>
    Effect.gen(function*() {
      const on = yield* domain
      const [a, gone] = [yield* end(on, "rc"), yield* Effect.scoped(end(on, "rc"))]
      const local = yield* QueuePair.endpoint(a.queuePair, { portNum })
      yield* QueuePair.connect(a.queuePair, local, { ...local, qpNum: gone.queuePair.qpNum }, quick)
      const fiber = yield* Effect.forkChild(Effect.flip(QueuePair.send(a.queuePair, { sgList: [a.part()] })))
      const error = yield* within("the end of the send", Fiber.join(fiber))
      assert.strictEqual(error._tag === "WorkCompletionError" ? error.status : error.message, "retryExcErr")
    }))

  it("an unreliable connection to nobody succeeds", () =>
    Effect.gen(function*() {
      const on = yield* domain
      const [a, gone] = [yield* end(on, "uc"), yield* Effect.scoped(end(on, "uc"))]
      const local = yield* QueuePair.endpoint(a.queuePair, { portNum })
      yield* QueuePair.connect(a.queuePair, local, { ...local, qpNum: gone.queuePair.qpNum })
      yield* postSends(a, 1n, 2n)
      yield* assertTaken(a.sends, ["1 success", "2 success"])
    }))
}
