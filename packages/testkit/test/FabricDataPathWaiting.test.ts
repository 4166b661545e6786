/** What a send waits for: receives, answers, and the drain of its queue. Time is that of `TestClock`. */
import { Fabric } from "@effect-rdma/testkit"
import { Port, QueuePair } from "@effect-rdma/verbs"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { connected, devices, request, run, textAt, toRtr, toRts } from "./dataPath.ts"

/** 4.096 µs times 2 to the power of 10, and the RNR timer number 12. */
const timeout = 4.2
const rnrTimer = 0.64

for (const device of devices) {
  describe(`waiting on ${device}`, () => {
    it.effect("without a receive a send is tried again after the time that the peer asks for", () =>
      run(Effect.gen(function*() {
        const { a, b } = yield* connected(device, { pathA: { rnrRetry: 2 } })
        a.region.bytes.fill(1, 0, 8)
        a.postSend(request(1n, "send", { sgList: [a.piece()] }), request(2n, "send"))
        assert.deepStrictEqual(a.poll(), [])
        // The device reads the bytes when it sends them.
        a.region.bytes.fill(65, 0, 8)
        b.postRecv({ wrId: 3n, sgList: [b.piece()] })
        assert.deepStrictEqual(b.poll(), [])
        yield* TestClock.adjust(rnrTimer)
        assert.strictEqual(textAt(b, 0, 8), "AAAAAAAA")
        assert.deepStrictEqual([a.statuses(), b.statuses()], [["1 success"], ["3 success"]])
        yield* TestClock.adjust(2.9 * rnrTimer)
        assert.deepStrictEqual(a.statuses(), ["2 rnrRetryExcErr"])
        assert.deepStrictEqual([yield* a.state, yield* b.state], ["err", "rts"])
      })))

    it.effect("no retry is rnrRetryExcErr at once, 7 retries are for ever", () =>
      run(Effect.gen(function*() {
        const first = yield* connected(device, { pathA: { rnrRetry: 0 } })
        first.a.postSend(request(1n, "send"))
        assert.deepStrictEqual(first.a.statuses(), ["1 rnrRetryExcErr"])
        const { a, b } = yield* connected(device, { pathA: { rnrRetry: 7 } })
        a.postSend(request(1n, "send"))
        yield* TestClock.adjust("1 day")
        assert.deepStrictEqual(a.poll(), [])
        b.postRecv({ wrId: 2n, sgList: [] })
        yield* TestClock.adjust(rnrTimer)
        assert.deepStrictEqual([a.statuses(), b.statuses()], [["1 success"], ["2 success"]])
      })))

    it.effect("a peer that does not answer is retryExcErr after the timeout and one for each retry", () =>
      run(Effect.gen(function*() {
        const fabric = yield* Fabric.Fabric
        const { a, b } = yield* connected(device, { pathA: { retryCnt: 2 } })
        b.postRecv({ wrId: 9n, sgList: [] })
        yield* fabric.setLink("host-b", device, 1, "down")
        const down = yield* Port.query(b.context, 1)
        assert.deepStrictEqual([down.state, down.physState], ["down", "polling"])
        a.postSend(request(1n, "send"), request(2n, "send", { flags: [] }))
        yield* TestClock.adjust(2.9 * timeout)
        assert.deepStrictEqual(a.poll(), [])
        yield* TestClock.adjust(0.2 * timeout)
        assert.deepStrictEqual(a.statuses(), ["1 retryExcErr", "2 wrFlushErr"])
        assert.deepStrictEqual([yield* a.state, yield* b.state], ["err", "rts"])
        yield* fabric.setLink("host-b", device, 1, "up")
        assert.strictEqual((yield* Port.query(b.context, 1)).state, "active")
        assert.deepStrictEqual(yield* b.events, ["portErr", "portActive"])
      })))

    it.effect("a link that comes back in time is heard at the next retry", () =>
      run(Effect.gen(function*() {
        const fabric = yield* Fabric.Fabric
        const { a, b } = yield* connected(device, { pathA: { retryCnt: 1 } })
        b.postRecv({ wrId: 9n, sgList: [] })
        yield* fabric.setLink("host-a", device, 1, "down")
        a.postSend(request(1n, "send"))
        yield* fabric.setLink("host-a", device, 1, "up")
        assert.deepStrictEqual(a.poll(), [])
        yield* TestClock.adjust(timeout)
        assert.deepStrictEqual([a.statuses(), b.statuses()], [["1 success"], ["9 success"]])
      })))

    it.effect("timeout 0 waits for ever, and what is posted behind wakes it", () =>
      run(Effect.gen(function*() {
        const { a, b } = yield* connected(device, { pathA: { timeout: 0 } })
        b.postRecv({ wrId: 8n, sgList: [] }, { wrId: 9n, sgList: [] })
        const fabric = yield* Fabric.Fabric
        yield* fabric.setLink("host-b", device, 1, "down")
        a.postSend(request(1n, "send"))
        yield* fabric.setLink("host-b", device, 1, "up")
        yield* TestClock.adjust("1 day")
        assert.deepStrictEqual(a.poll(), [])
        a.postSend(request(2n, "send"))
        assert.deepStrictEqual(a.statuses(), ["1 success", "2 success"])
      })))

    it.effect("a peer that is not in RTR, of another number, or without its device is not there: retryExcErr", () =>
      run(Effect.gen(function*() {
        const fabric = yield* Fabric.Fabric
        const early = yield* connected(device)
        yield* QueuePair.toReset(early.b.pair)
        early.a.postSend(request(1n, "send"))
        const elsewhere = yield* connected(device)
        yield* QueuePair.toReset(elsewhere.a.pair)
        yield* toRtr(elsewhere.a, { host: "host-b", qpNum: 0xabcdef })
        yield* toRts(elsewhere.a)
        elsewhere.a.postSend(request(1n, "send"))
        const gone = yield* connected(device)
        gone.b.postRecv({ wrId: 1n, sgList: [] })
        yield* fabric.unplug("host-b", device)
        gone.a.postSend(request(1n, "send"))
        yield* TestClock.adjust(2 * timeout)
        for (const { a } of [early, elsewhere, gone]) assert.deepStrictEqual(a.statuses(), ["1 retryExcErr"])
        assert.deepStrictEqual(gone.b.poll(), [])
      })))

    it.effect("the sender whose device is gone hears nothing any more", () =>
      run(Effect.gen(function*() {
        const fabric = yield* Fabric.Fabric
        const { a, b } = yield* connected(device, { pathA: { rnrRetry: 6 } })
        a.postSend(request(1n, "send"))
        yield* fabric.unplug("host-a", device)
        b.postRecv({ wrId: 1n, sgList: [] })
        yield* TestClock.adjust("1 hour")
        assert.deepStrictEqual([a.poll(), b.poll()], [[], []])
        const { count, error } = a.postSend(request(2n, "send"))
        assert.strictEqual(error?.reason._tag, device === "rxe0" ? "EIO" : undefined)
        assert.strictEqual(count, device === "rxe0" ? 0 : 1)
      })))

    it.effect("a peer that answers to somebody else gets the message, and its sender retryExcErr", () =>
      run(Effect.gen(function*() {
        const { a, b } = yield* connected(device)
        yield* QueuePair.toReset(b.pair)
        yield* toRtr(b, { host: "host-a", qpNum: a.pair.qpNum + 100 })
        b.postRecv({ wrId: 1n, sgList: [] }, { wrId: 2n, sgList: [] })
        a.postSend(request(1n, "send"))
        yield* TestClock.adjust(2 * timeout)
        assert.deepStrictEqual([a.statuses(), b.statuses()], [["1 retryExcErr"], ["1 success"]])
      })))

    it.effect("an end that begins anew with old packet numbers is heard as a repetition", () =>
      run(Effect.gen(function*() {
        const { a, b } = yield* connected(device)
        b.postRecv({ wrId: 1n, sgList: [b.piece(0, 3000)] }, { wrId: 2n, sgList: [] })
        a.postSend(request(1n, "send", { sgList: [a.piece(0, 3000)] }))
        yield* QueuePair.toReset(a.pair)
        yield* toRtr(a, { host: "host-b", qpNum: b.pair.qpNum })
        yield* toRts(a)
        a.poll()
        // Three packets were sent: so many are taken for repeated.
        a.postSend(request(2n, "send"), request(3n, "send"), request(4n, "send"))
        assert.deepStrictEqual(a.statuses(), ["2 success", "3 success", "4 success"])
        assert.deepStrictEqual(b.statuses(), ["1 success"])
        a.postSend(request(5n, "send"))
        assert.deepStrictEqual(b.statuses(), ["2 success"])
      })))

    it.effect("RESET and ERR end a wait; nothing of it is left", () =>
      run(Effect.gen(function*() {
        const { a, b } = yield* connected(device, { pathA: { rnrRetry: 6 } })
        a.postSend(request(1n, "send"))
        yield* QueuePair.toReset(a.pair)
        b.postRecv({ wrId: 1n, sgList: [] })
        yield* TestClock.adjust("1 hour")
        assert.deepStrictEqual([a.poll(), b.poll()], [[], []])
        const other = yield* connected(device, { pathA: { rnrRetry: 7 } })
        other.a.postSend(request(1n, "send"), request(2n, "send", { flags: [] }))
        yield* QueuePair.toErr(other.a.pair)
        assert.deepStrictEqual(other.a.statuses(), ["1 wrFlushErr", "2 wrFlushErr"])
        other.b.postRecv({ wrId: 1n, sgList: [] })
        yield* TestClock.adjust("1 hour")
        assert.deepStrictEqual([other.a.poll(), other.b.poll()], [[], []])
      })))

    it.effect("SQD holds what is posted, and RTS sends it: on rxe with the next post", () =>
      run(Effect.gen(function*() {
        const { a, b } = yield* connected(device)
        b.postRecv({ wrId: 8n, sgList: [] }, { wrId: 9n, sgList: [] })
        yield* QueuePair.modify(a.pair, { qpState: "sqd", enSqdAsyncNotify: true })
        assert.deepStrictEqual(yield* a.events, ["sqDrained"])
        a.postSend(request(1n, "send"))
        assert.deepStrictEqual(a.poll(), [])
        yield* QueuePair.modify(a.pair, { qpState: "rts" })
        assert.deepStrictEqual(a.statuses(), device === "rxe0" ? [] : ["1 success"])
        a.postSend(request(2n, "send"))
        assert.deepStrictEqual(a.statuses(), device === "rxe0" ? ["1 success", "2 success"] : ["2 success"])
      })))

    it.effect("a queue that waits for a receive is drained later: rxe does not try again before RTS", () =>
      run(Effect.gen(function*() {
        const { a, b } = yield* connected(device, { pathA: { rnrRetry: 3 } })
        a.postSend(request(1n, "send"), request(2n, "send"))
        yield* QueuePair.modify(a.pair, { qpState: "sqd", enSqdAsyncNotify: true })
        assert.deepStrictEqual(yield* a.events, [])
        assert.isTrue((yield* QueuePair.query(a.pair)).attributes.sqDraining)
        b.postRecv({ wrId: 9n, sgList: [] })
        yield* TestClock.adjust(rnrTimer)
        assert.deepStrictEqual(yield* a.events, ["sqDrained"])
        assert.deepStrictEqual(a.statuses(), device === "rxe0" ? [] : ["1 success"])
        assert.isFalse((yield* QueuePair.query(a.pair)).attributes.sqDraining)
      })))
  })
}

describe("waiting by provider", () => {
  it.effect("no timer outlives the fabric", () =>
    Effect.gen(function*() {
      const { a, b } = yield* Effect.gen(function*() {
        const made = yield* connected("rxe0", { pathA: { rnrRetry: 6 } })
        made.a.postSend(request(1n, "send"))
        return made
      }).pipe(Effect.provide(Fabric.layer))
      b.postRecv({ wrId: 1n, sgList: [] })
      yield* TestClock.adjust("1 hour")
      assert.deepStrictEqual([a.poll(), b.poll()], [[], []])
    }))

  it.effect("7 retries are for ever on rxe, and 7 on mlx5", () =>
    run(Effect.gen(function*() {
      for (const device of devices) {
        const { a, b } = yield* connected(device, { pathA: { retryCnt: 7 } })
        yield* QueuePair.toErr(b.pair)
        a.postSend(request(1n, "send"))
        yield* TestClock.adjust(8.1 * timeout)
        assert.deepStrictEqual(a.statuses(), device === "rxe0" ? [] : ["1 retryExcErr"])
      }
    })))

  it.effect("mlx5 tells of a drain only when asked to, rxe always", () =>
    run(Effect.gen(function*() {
      for (const device of devices) {
        const { a } = yield* connected(device)
        yield* QueuePair.modify(a.pair, { qpState: "sqd" })
        assert.deepStrictEqual(yield* a.events, device === "rxe0" ? ["sqDrained"] : [])
      }
    })))

  it.effect("no read may be under way: on rxe it waits for ever, mlx5 lets one go", () =>
    run(Effect.gen(function*() {
      for (const device of devices) {
        const { a, b } = yield* connected(device, { pathA: { maxRdAtomic: 0 } })
        a.postSend(request(1n, "rdmaRead", { sgList: [a.piece()], remote: b.remote() }))
        yield* TestClock.adjust("1 day")
        assert.deepStrictEqual(a.statuses(), device === "rxe0" ? [] : ["1 success"])
      }
    })))
})
