/**
 * Conformance of awaited requests that do not end by themselves: interruption, and the release of what they use.
 *
 * @since 0.1.0
 */
import * as Errno from "@effect-rdma/core/Errno"
import * as MemoryRegion from "@effect-rdma/verbs/MemoryRegion"
import * as QueuePair from "@effect-rdma/verbs/QueuePair"
import * as WaitStrategy from "@effect-rdma/verbs/WaitStrategy"
import * as WorkCompletion from "@effect-rdma/verbs/WorkCompletion"
import { assert } from "@effect/vitest"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Scope from "effect/Scope"
import { assertReason, usesDeadHandle } from "../../internal/conformance.ts"
import { assertBytes, pattern } from "../../internal/conformanceBytes.ts"
import { assertTaken, take, within } from "../../internal/conformanceCompletions.ts"
import { dataPathSuite, end } from "../../internal/conformanceDataPath.ts"
import { stateOf } from "../../internal/conformanceVerbs.ts"
import type * as VerbsLane from "../VerbsLane.ts"

/**
 * Registers the suite on a lane.
 *
 * @category constructors
 * @since 0.1.0
 */
export const suite = <Others = never>(lane: VerbsLane.VerbsLane<Others>): void => {
  const { connected, domain, it } = dataPathSuite(lane)

  /** Two ends, and requests of them that wait for the other end. */
  const waiting = Effect.gen(function*() {
    const ends = yield* connected.rc()
    const { a, b } = ends
    return {
      ...ends,
      receive: QueuePair.recv(b.queuePair, { wrId: 1n, sgList: [b.part(0, 64)] }),
      // Nobody receives it.
      send: QueuePair.send(a.queuePair, { wrId: 2n, sgList: [a.part(0, 64)] })
    }
  })

  for (const name of ["send", "receive"] as const) {
    it(`an interrupted ${name} that never ends is flushed after the grace, and the queue pair is in ERR`, () =>
      Effect.gen(function*() {
        const ends = yield* waiting
        const fiber = yield* Effect.forkChild(ends[name].pipe(withGrace("50 millis")), { startImmediately: true })
        yield* Effect.sleep("10 millis")
        yield* within("what should end", Fiber.interrupt(fiber))
        assert.isTrue(Exit.hasInterrupts(yield* Fiber.await(fiber)))
        const { queuePair } = name === "send" ? ends.a : ends.b
        assert.strictEqual(yield* stateOf(queuePair), "err")
      }))
  }

  it("an interrupted send that ends within the grace leaves the connection as it was", () =>
    Effect.gen(function*() {
      const { a, b, send } = yield* waiting
      a.region.bytes.set(pattern(64))
      const fiber = yield* Effect.forkChild(send.pipe(withGrace("6 seconds")), { startImmediately: true })
      const interrupting = yield* Effect.forkChild(Fiber.interrupt(fiber), { startImmediately: true })
      yield* b.postRecv({ wrId: 3n, sgList: [b.part(0, 64)] })
      yield* assertTaken(b.receives, ["3 success"])
      yield* within("what should end", Fiber.join(interrupting))
      assert.isTrue(Exit.hasInterrupts(yield* Fiber.await(fiber)))
      assertBytes(b.region.bytes.subarray(0, 64), pattern(64))
      assert.deepStrictEqual([yield* stateOf(a.queuePair), yield* stateOf(b.queuePair)], ["rts", "rts"])
    }))

  it("a timeout cuts an awaited receive off", () =>
    Effect.gen(function*() {
      const { b, receive } = yield* waiting
      const error = yield* Effect.flip(
        within("what should end", Effect.timeout(receive, "30 millis").pipe(withGrace("10 millis")))
      )
      assert.strictEqual(error._tag, "TimeoutError")
      assert.strictEqual(yield* stateOf(b.queuePair), "err")
    }))

  it("the release of a region waits for the request that uses it, which is flushed", () =>
    Effect.gen(function*() {
      const { b } = yield* waiting
      const scope = yield* Scope.make()
      const region = yield* MemoryRegion.alloc(b.on, { length: 64 }).pipe(Scope.provide(scope))
      const receive = QueuePair.recv(b.queuePair, { sgList: [{ region }] }).pipe(withGrace("20 millis"))
      const fiber = yield* Effect.forkChild(Effect.flip(receive), { startImmediately: true })
      yield* Effect.sleep("10 millis")
      yield* within("what should end", Scope.close(scope, Exit.void))
      assert.strictEqual(region.bytes.length, 0)
      const error = yield* within("what should end", Fiber.join(fiber))
      assert(error instanceof WorkCompletion.WorkCompletionError)
      assert.deepInclude<object>(error, { request: "recv", status: "wrFlushErr" })
      assert.strictEqual(yield* stateOf(b.queuePair), "err")
    }))

  it("the release of a region waits for the request that uses it, when that ends within the grace", () =>
    Effect.gen(function*() {
      const { a, b } = yield* waiting
      a.region.bytes.set(pattern(64))
      const scope = yield* Scope.make()
      const region = yield* MemoryRegion.alloc(a.on, { length: 64 }).pipe(Scope.provide(scope))
      region.bytes.set(pattern(64))
      const send = QueuePair.send(a.queuePair, { sgList: [{ region }] }).pipe(withGrace("6 seconds"))
      const fiber = yield* Effect.forkChild(send, { startImmediately: true })
      const closing = yield* Effect.forkChild(Scope.close(scope, Exit.void), { startImmediately: true })
      yield* b.postRecv({ wrId: 3n, sgList: [b.part(0, 64)] })
      yield* assertTaken(b.receives, ["3 success"])
      yield* within("what should end", Fiber.join(closing))
      assert.strictEqual((yield* within("what should end", Fiber.join(fiber))).opcode, "send")
      assertBytes(b.region.bytes.subarray(0, 64), pattern(64))
      assert.strictEqual(yield* stateOf(a.queuePair), "rts")
    }))

  it("a move to ERR ends an awaited request as wrFlushErr", () =>
    Effect.gen(function*() {
      const { b, receive } = yield* waiting
      const fiber = yield* Effect.forkChild(Effect.flip(receive), { startImmediately: true })
      yield* QueuePair.toErr(b.queuePair)
      const error = yield* within("what should end", Fiber.join(fiber))
      assert(error instanceof WorkCompletion.WorkCompletionError)
      assert.deepInclude<object>(error, { request: "recv", status: "wrFlushErr", wrId: 1n })
    }))

  it("a reset ends an awaited request as ECANCELED", () =>
    Effect.gen(function*() {
      const { b, receive } = yield* waiting
      const fiber = yield* Effect.forkChild(Effect.flip(receive), { startImmediately: true })
      yield* QueuePair.toReset(b.queuePair)
      const error = yield* within("what should end", Fiber.join(fiber))
      if (error._tag !== "VerbsError") return assert.fail(error.message)
      assert.deepStrictEqual([error.call, error.reason.errno], ["ibv_modify_qp", Errno.numberOf("ECANCELED")])
    }))

  it("the release of a queue pair ends an awaited request: it used a dead handle", () =>
    Effect.gen(function*() {
      const on = yield* domain
      const scope = yield* Scope.make()
      const self = yield* end(on, "rc").pipe(Scope.provide(scope))
      yield* QueuePair.toInit(self.queuePair, { portNum: lane.port })
      const receive = QueuePair.recv(self.queuePair, { sgList: [self.part()] })
      const fiber = yield* Effect.forkChild(usesDeadHandle(receive), { startImmediately: true })
      yield* within("what should end", Scope.close(scope, Exit.void))
      yield* within("what should end", Fiber.join(fiber))
    }))

  it("what waits for room is interrupted at once, and nothing was posted of it", () =>
    Effect.gen(function*() {
      const { a, b } = yield* connected.rc({ a: { cap: { maxSendWr: 1 } } })
      const { maxSendWr } = a.queuePair.cap
      const sends = yield* Effect.forEach(
        Array.from({ length: maxSendWr }),
        () => Effect.forkChild(QueuePair.send(a.queuePair, { sgList: [a.part()] }), { startImmediately: true })
      )
      const late = yield* Effect.forkChild(QueuePair.send(a.queuePair, { inlineData: pattern(1) }), {
        startImmediately: true
      })
      yield* Effect.sleep("10 millis")
      yield* within("what should end", Fiber.interrupt(late))
      yield* b.postRecv(...sends.map(() => ({ sgList: [b.part()] })))
      assert.strictEqual((yield* within("what should end", Fiber.joinAll(sends))).length, maxSendWr)
      yield* take(b.receives, maxSendWr)
      assert.strictEqual(yield* stateOf(a.queuePair), "rts")
    }))

  it("an awaited request before RTS is EINVAL before any call", () =>
    Effect.gen(function*() {
      const self = yield* end(yield* domain, "rc")
      const error = yield* Effect.flip(QueuePair.send(self.queuePair, {}))
      if (error._tag !== "VerbsError") return assert.fail(error.message)
      assertReason(error, "ibv_post_send", "EINVAL")
    }))
}

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

const withGrace = (grace: Duration.Input) => Effect.provideService(WaitStrategy.InterruptionGrace, grace)
