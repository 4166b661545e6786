/**
 * Conformance of requests: their responses, or what there is instead.
 *
 * @since 0.1.0
 */
import type * as Umad from "@effect-rdma/umad/Umad"
import * as UmadAgent from "@effect-rdma/umad/UmadAgent"
import * as UmadPort from "@effect-rdma/umad/UmadPort"
import { assert } from "@effect/vitest"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Scope from "effect/Scope"
import { recorded, testWhere, timesCalled, usesDeadHandle } from "../../internal/conformance.ts"
import {
  attributeOf,
  getCounters,
  modifierOf,
  openPort,
  packet,
  performance,
  setNodeInfo,
  transactionOf
} from "../../internal/conformanceUmad.ts"
import * as LeakCheck from "../../LeakCheck.ts"
import type * as UmadLane from "../UmadLane.ts"

/**
 * Registers the suite on a lane.
 *
 * @category constructors
 * @since 0.1.0
 */
export const suite = <Others = never>(lane: UmadLane.UmadLane<Others>): void => {
  const { answering, silent } = lane.peers ?? { answering: 0, silent: 0 }
  const it = testWhere<Umad.Umad | Others>(lane)(lane.peers !== undefined, "there is no subnet")
  const whereTimePasses = testWhere<Umad.Umad | Others>(lane)(
    lane.peers !== undefined && lane.hasKernel,
    "a simulator knows at once that nobody is there"
  )
  const toPeer = { address: { lid: answering } }
  const toNobody = { address: { lid: silent }, timeout: 20, retries: 1 }

  // ---------------------------------------------------------------------------
  // Answers
  // ---------------------------------------------------------------------------

  it("a request is answered by the port that it is sent to", () =>
    Effect.gen(function*() {
      const port = yield* openPort()
      const { address, mad, status } = yield* UmadPort.request(port, { ...toPeer, mad: getCounters() })
      assert.strictEqual(status, 0)
      assert.strictEqual(mad.length, 256)
      assert.deepStrictEqual(Array.from(mad.subarray(0, 4)), [1, performance.mgmtClass, 1, 0x81])
      assert.strictEqual(attributeOf(mad), performance.counters)
      assert.strictEqual(address.lid, answering)
      assert.strictEqual(address.qpn, 1)
    }))

  it("an agent's own request is answered as the port's is", () =>
    Effect.gen(function*() {
      const port = yield* openPort()
      const agent = yield* UmadAgent.register(port, performance)
      const { agentId, mad } = yield* UmadAgent.request(agent, { ...toPeer, mad: getCounters(7) })
      assert.strictEqual(mad[3], 0x81)
      assert.strictEqual(modifierOf(mad), 7)
      assert.isAtLeast(agentId, 0)
    }))

  it("the bytes of a request stay the caller's: its transaction id is filled in elsewhere", () =>
    Effect.gen(function*() {
      const port = yield* openPort()
      const mad = getCounters()
      const before = mad.slice()
      const replies = yield* Effect.all([
        UmadPort.request(port, { ...toPeer, mad }),
        UmadPort.request(port, { ...toPeer, mad })
      ], { concurrency: 2 })
      assert.deepStrictEqual(mad, before)
      assert.notStrictEqual(transactionOf(replies[0].mad), transactionOf(replies[1].mad))
    }))

  it("sixty-four requests at once get each its own response", () =>
    Effect.gen(function*() {
      const port = yield* openPort()
      const modifiers = Array.from({ length: 64 }, (_, index) => index + 1)
      const answered = yield* Effect.forEach(
        modifiers,
        (modifier) =>
          Effect.map(UmadPort.request(port, { ...toPeer, mad: getCounters(modifier) }), ({ mad }) => modifierOf(mad)),
        { concurrency: "unbounded" }
      )
      assert.deepStrictEqual(answered, modifiers)
    }))

  it("five hundred requests one after the other are answered", () =>
    recorded(function*(calls) {
      const port = yield* openPort()
      for (let modifier = 0; modifier < 500; modifier++) {
        const { mad } = yield* UmadPort.request(port, { ...toPeer, mad: getCounters(modifier) })
        assert.strictEqual(modifierOf(mad), modifier)
      }
      assert.strictEqual(timesCalled(yield* calls, "umad_send"), 500)
    }))

  it("requests of one class share the port's agent, even the first ones at once", () =>
    recorded(function*(calls) {
      const port = yield* openPort()
      yield* Effect.all(
        Array.from({ length: 8 }, () => UmadPort.request(port, { ...toPeer, mad: getCounters() })),
        { concurrency: "unbounded" }
      )
      assert.strictEqual(timesCalled(yield* calls, "umad_register"), 1)
      yield* Effect.exit(UmadPort.request(port, { ...toPeer, mad: setNodeInfo() }))
      assert.strictEqual(timesCalled(yield* calls, "umad_register"), 2)
    }))

  it("a MAD that is a header alone is filled up to a packet", () =>
    Effect.gen(function*() {
      const port = yield* openPort()
      const { mad } = yield* UmadPort.request(port, { ...toPeer, mad: getCounters(9).subarray(0, 24) })
      assert.strictEqual(mad.length, 256)
      assert.strictEqual(modifierOf(mad), 9)
    }))

  it("two open ports of the process get each its own responses", () =>
    Effect.gen(function*() {
      // On a simulator, the class belongs to the port that asked last.
      const classes = [performance.mgmtClass, 0x01]
      const ports = yield* Effect.all([openPort(), openPort()])
      const replies = yield* Effect.forEach(ports, (port, index) =>
        UmadPort.request(port, { ...toPeer, mad: packet(classes[index] ?? 0, 1, index === 0 ? 0x12 : 0x11) }), {
        concurrency: 2
      })
      assert.deepStrictEqual(
        replies.map(({ mad }) =>
          mad[1]
        ),
        classes
      )
    }))

  // ---------------------------------------------------------------------------
  // Refusals
  // ---------------------------------------------------------------------------

  it("a response with a status is MadStatus, and has the response", () =>
    Effect.gen(function*() {
      const port = yield* openPort()
      const error = yield* Effect.flip(UmadPort.request(port, { ...toPeer, mad: setNodeInfo() }))
      if (error._tag !== "MadStatus") return assert.fail(error.message)
      // Not at all, or not of this attribute.
      assert.include([0x0008, 0x000c], error.status)
      assert.strictEqual(error.mad[3], 0x81)
      assert.deepInclude(error, { mgmtClass: 0x01, method: 0x02, attributeId: 0x11, lid: answering })
      assert.include(error.message, "the method is not supported")
    }))

  it("a request that nobody answers is MadTimeout, and never its own bytes", () =>
    Effect.gen(function*() {
      const port = yield* openPort()
      const error = yield* Effect.flip(UmadPort.request(port, { ...toNobody, mad: getCounters() }))
      if (error._tag !== "MadTimeout") return assert.fail(error.message)
      const { attributeId, lid, method, mgmtClass, retries, timeoutMs } = error
      assert.deepStrictEqual([mgmtClass, method, attributeId, lid], [0x04, 0x01, 0x12, silent])
      assert.deepStrictEqual([timeoutMs, retries], [20, 1])
      assert.include(error.message, "ETIMEDOUT")
    }))

  it("requests that are answered and requests that are not do not disturb each other", () =>
    Effect.gen(function*() {
      const port = yield* openPort()
      const exits = yield* Effect.forEach(
        Array.from({ length: 40 }, (_, index) => index),
        (index) =>
          Effect.exit(UmadPort.request(port, {
            ...(index % 4 === 0 ? toNobody : toPeer),
            mad: getCounters(index)
          })),
        { concurrency: "unbounded" }
      )
      exits.forEach((exit, index) => {
        assert.strictEqual(Exit.isSuccess(exit), index % 4 !== 0, String(index))
        if (Exit.isSuccess(exit)) assert.strictEqual(modifierOf(exit.value.mad), index)
      })
    }))

  whereTimePasses("a request takes the time of all its repetitions", () =>
    Effect.gen(function*() {
      const port = yield* openPort()
      const [elapsed] = yield* Effect.timed(
        Effect.flip(UmadPort.request(port, { ...toNobody, timeout: 30, retries: 2, mad: getCounters() }))
      )
      const millis = Duration.toMillis(elapsed)
      // Timers may be a little early.
      assert.isAtLeast(millis, 85)
      assert.isBelow(millis, 1000)
    }))

  it("a request that is out of range is a SchemaError, and the library is not called", () =>
    recorded(function*(calls) {
      const port = yield* openPort()
      const agent = yield* UmadAgent.register(port, performance)
      const before = (yield* calls).length
      const mad = getCounters()
      const refused = [
        { ...toPeer, mad: mad.subarray(0, 23) },
        { ...toPeer, mad: new Uint8Array(0) },
        { ...toPeer, mad: new Uint8Array(257) },
        { address: { lid: 0x1_0000 }, mad },
        { address: { lid: 1, sl: 16 }, mad },
        { address: { lid: 1, qpn: 2 ** 24 }, mad },
        { ...toPeer, mad, timeout: 0 },
        { ...toPeer, mad, timeout: Infinity },
        { ...toPeer, mad, retries: -1 },
        { ...toPeer, mad, retries: 256 },
        { ...toPeer, mad, timeout: "20 days", retries: 3 }
      ] as const
      for (const outgoing of refused) {
        const error = yield* Effect.flip(UmadAgent.request(agent, outgoing))
        assert.strictEqual(error._tag, "SchemaError", JSON.stringify(outgoing))
      }
      assert.strictEqual((yield* calls).length, before)
    }))

  // ---------------------------------------------------------------------------
  // Lifetimes
  // ---------------------------------------------------------------------------

  it("a request that is interrupted leaves nothing, and the next one gets its own response", () =>
    Effect.gen(function*() {
      yield* Effect.scoped(Effect.gen(function*() {
        const port = yield* openPort()
        for (let round = 1; round <= 20; round++) {
          const fiber = yield* Effect.forkChild(
            UmadPort.request(port, { ...toPeer, mad: getCounters(round) }),
            { startImmediately: true }
          )
          if (round % 2 === 0) yield* Effect.yieldNow
          yield* Fiber.interrupt(fiber)
          const { mad } = yield* UmadPort.request(port, { ...toPeer, mad: getCounters(round + 100) })
          assert.strictEqual(modifierOf(mad), round + 100)
        }
      }))
      yield* LeakCheck.assertNothingAlive
    }))

  it("of two requests at once the one that is interrupted takes nothing from the other", () =>
    Effect.gen(function*() {
      const port = yield* openPort()
      yield* UmadPort.request(port, { ...toPeer, mad: getCounters() })
      const [first, second] = yield* Effect.forEach([1, 2], (modifier) =>
        Effect.forkChild(UmadPort.request(port, { ...toPeer, mad: getCounters(modifier) }), { startImmediately: true }))
      if (first === undefined || second === undefined) {
        return
      }
      yield* Fiber.interrupt(first)
      assert.strictEqual(modifierOf((yield* Fiber.join(second)).mad), 2)
    }))

  whereTimePasses("closing the port ends the requests that wait on it", () =>
    Effect.gen(function*() {
      const scope = yield* Scope.make()
      const port = yield* Scope.provide(openPort(), scope)
      const request = UmadPort.request(port, { ...toNobody, timeout: "1 minute", mad: getCounters() })
      const fiber = yield* Effect.forkChild(usesDeadHandle(request), { startImmediately: true })
      yield* Effect.yieldNow
      yield* Scope.close(scope, Exit.void)
      assert.include((yield* Fiber.join(fiber)).message, "was used after it was released")
      yield* LeakCheck.assertNothingAlive
    }))
}
