/**
 * Conformance of messages between connected queue pairs: what arrives, where, and what both sides are told.
 *
 * @since 0.1.0
 */
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { assertReason } from "../../internal/conformance.ts"
import { assertBytes, pattern } from "../../internal/conformanceBytes.ts"
import { assertQuiet, assertTaken, take, takeOne } from "../../internal/conformanceCompletions.ts"
import { dataPathSuite, end } from "../../internal/conformanceDataPath.ts"
import type * as VerbsLane from "../VerbsLane.ts"

/**
 * Registers the suite on a lane.
 *
 * @category constructors
 * @since 0.1.0
 */
export const suite = <Others = never>(lane: VerbsLane.VerbsLane<Others>): void => {
  const { connected, domain, it, ready } = dataPathSuite(lane)

  for (const qpType of ["rc", "uc"] as const) {
    const pair = connected[qpType]

    it(`${qpType}: a message arrives in the first receive, and both sides are told`, () =>
      Effect.gen(function*() {
        const { a, b } = yield* pair()
        a.region.bytes.set(pattern(100))
        yield* b.postRecv({ wrId: 1n, sgList: [b.part(1000, 200)] })
        yield* a.postSend({ opcode: "send", wrId: 2n, flags: ["signaled"], sgList: [a.part(0, 100)] })
        const sent = yield* takeOne(a.sends)
        assert.deepInclude<object>(sent, { wrId: 2n, opcode: "send", qpNum: a.queuePair.qpNum })
        const received = yield* takeOne(b.receives)
        assert.deepInclude<object>(received, {
          wrId: 1n,
          opcode: "recv",
          qpNum: b.queuePair.qpNum,
          byteLen: 100,
          immData: undefined,
          invalidatedRkey: undefined
        })
        assertBytes(b.region.bytes.subarray(1000, 1100), pattern(100))
        // The rest of the receive is as it was.
        assertBytes(b.region.bytes.subarray(1100, 1200), new Uint8Array(100))
        yield* assertQuiet(a.sends, a.receives)
        yield* assertQuiet(b.sends, b.receives)
      }))

    it(`${qpType}: immediate data goes with a message`, () =>
      Effect.gen(function*() {
        const { a, b } = yield* pair()
        a.region.bytes.set(pattern(10))
        yield* b.postRecv({ wrId: 1n, sgList: [b.part(0, 64)] }, { wrId: 2n, sgList: [b.part(64, 64)] })
        yield* a.postSend(
          { opcode: "sendWithImm", immData: 0xdead_beef, flags: ["signaled"], sgList: [a.part(0, 10)] },
          { opcode: "sendWithImm", immData: 0, flags: ["signaled"], sgList: [] }
        )
        yield* take(a.sends, 2)
        const received = yield* take(b.receives, 2)
        assert.deepStrictEqual(
          received.map((one) =>
            one.status === "success" ? [one.wrId, one.opcode, one.byteLen, one.immData] : one.status
          ),
          [[1n, "recv", 10, 0xdead_beef], [2n, "recv", 0, 0]]
        )
      }))

    it(`${qpType}: inline data is copied when it is posted, and needs no region`, () =>
      Effect.gen(function*() {
        const { a, b } = yield* pair()
        const inlineData = pattern(64)
        yield* b.postRecv({ sgList: [b.part(0, 64)] })
        yield* a.postSend({ opcode: "send", flags: ["signaled"], inlineData })
        inlineData.fill(0)
        yield* take(a.sends, 1)
        assert.strictEqual((yield* takeOne(b.receives)).byteLen, 64)
        assertBytes(b.region.bytes.subarray(0, 64), pattern(64))
      }))

    it(`${qpType}: pieces of a message fill the pieces of a receive, wherever the borders are`, () =>
      Effect.gen(function*() {
        const { a, b } = yield* pair()
        a.region.bytes.set(pattern(4096))
        yield* b.postRecv({ sgList: [b.part(100, 1), b.part(200, 50), b.part(0, 0), b.part(300, 500)] })
        yield* a.postSend({
          opcode: "send",
          flags: ["signaled"],
          sgList: [a.part(2000, 20), a.part(10, 0), a.part(1, 33), a.part(3000, 100)]
        })
        yield* take(a.sends, 1)
        assert.strictEqual((yield* takeOne(b.receives)).byteLen, 153)
        const message = Buffer.concat([
          pattern(4096).subarray(2000, 2020),
          pattern(34).subarray(1),
          pattern(4096).subarray(3000, 3100)
        ])
        const { bytes } = b.region
        assertBytes(
          Buffer.concat([bytes.subarray(100, 101), bytes.subarray(200, 250), bytes.subarray(300, 402)]),
          message
        )
      }))

    it(`${qpType}: an empty message, of no pieces or of empty ones, takes a receive`, () =>
      Effect.gen(function*() {
        const { a, b } = yield* pair()
        yield* b.postRecv({ wrId: 1n, sgList: [] }, { wrId: 2n, sgList: [b.part(0, 64)] }, { wrId: 3n, sgList: [] })
        yield* a.postSend(
          { opcode: "send", wrId: 1n, flags: ["signaled"] },
          { opcode: "send", wrId: 2n, flags: ["signaled"], sgList: [a.part(0, 0), a.part(7, 0)] },
          { opcode: "send", wrId: 3n, flags: ["signaled"], inlineData: new Uint8Array(0) }
        )
        yield* assertTaken(a.sends, ["1 success", "2 success", "3 success"])
        const received = yield* take(b.receives, 3)
        assert.deepStrictEqual(
          received.map((one) => one.status === "success" ? [one.wrId, one.byteLen] : one.status),
          [[1n, 0], [2n, 0], [3n, 0]]
        )
      }))

    it(`${qpType}: a message of many packets arrives whole, from and at any offset`, () =>
      Effect.gen(function*() {
        const { a, b } = yield* pair({ a: { length: 70_000 }, b: { length: 70_000 } })
        a.region.bytes.set(pattern(70_000))
        yield* b.postRecv({ wrId: 1n, sgList: [b.part(5, 69_000)] })
        yield* a.postSend({
          opcode: "send",
          flags: ["signaled"],
          sgList: [a.part(3, 1), a.part(11, 65_000), a.part(2, 7)]
        })
        yield* take(a.sends, 1)
        assert.strictEqual((yield* takeOne(b.receives)).byteLen, 65_008)
        const source = pattern(70_000)
        const message = Buffer.concat([source.subarray(3, 4), source.subarray(11, 65_011), source.subarray(2, 9)])
        assertBytes(b.region.bytes.subarray(5, 65_013), message)
        assertBytes(b.region.bytes.subarray(65_013), new Uint8Array(70_000 - 65_013))
      }))

    it(`${qpType}: a message may fill its receive to the last byte`, () =>
      Effect.gen(function*() {
        const { a, b } = yield* pair()
        a.region.bytes.set(pattern(4096))
        yield* b.postRecv({ sgList: [b.part(0, 4000), b.part(4000, 96)] })
        yield* a.postSend({ opcode: "send", flags: ["signaled"], sgList: [a.part(0, 4096)] })
        yield* take(a.sends, 1)
        assert.strictEqual((yield* takeOne(b.receives)).byteLen, 4096)
        assertBytes(b.region.bytes, pattern(4096))
      }))

    it(`${qpType}: a batch of messages of many sizes arrives in order, one in each receive`, () =>
      Effect.gen(function*() {
        const { a, b } = yield* pair()
        a.region.bytes.set(pattern(4096))
        const sizes = [1, 300, 0, 2, 128, 63, 64, 65]
        yield* b.postRecv(...sizes.map((_, index) => ({ wrId: BigInt(index), sgList: [b.part(index * 400, 400)] })))
        yield* a.postSend(...sizes.map((length, index) => ({
          opcode: "send" as const,
          wrId: BigInt(index),
          flags: ["signaled"] as const,
          sgList: [a.part(index * 17, length)]
        })))
        yield* assertTaken(a.sends, sizes.map((_, index) => `${index} success`))
        const received = yield* take(b.receives, 8)
        assert.deepStrictEqual(
          received.map((one) => one.status === "success" ? [one.wrId, one.byteLen] : one.status),
          sizes.map((length, index) => [BigInt(index), length])
        )
        sizes.forEach((length, index) =>
          assertBytes(
            b.region.bytes.subarray(index * 400, index * 400 + length),
            pattern(4096).subarray(index * 17, index * 17 + length)
          )
        )
      }))

    it(`${qpType}: many messages, one under way at a time, go round the queues again and again`, () =>
      Effect.gen(function*() {
        const { a, b } = yield* pair()
        for (let round = 0; round < 50; round++) {
          const message = pattern(8, round)
          a.region.bytes.set(message)
          yield* b.postRecv({ wrId: BigInt(round), sgList: [b.part(0, 8)] })
          yield* a.postSend({ opcode: "send", wrId: BigInt(round), flags: ["signaled"], sgList: [a.part(0, 8)] })
          yield* assertTaken(a.sends, [`${round} success`])
          yield* assertTaken(b.receives, [`${round} success`])
          assertBytes(b.region.bytes.subarray(0, 8), message)
        }
      }))

    it(`${qpType}: both ends send at once`, () =>
      Effect.gen(function*() {
        const { a, b } = yield* pair()
        for (const [from, to, seed] of [[a, b, 1], [b, a, 2]] as const) {
          from.region.bytes.set(pattern(2000, seed))
          yield* to.postRecv({ wrId: 10n, sgList: [to.part(2000, 2000)] })
        }
        const request = { opcode: "send", wrId: 20n, flags: ["signaled"] } as const
        yield* a.postSend({ ...request, sgList: [a.part(0, 2000)] })
        yield* b.postSend({ ...request, sgList: [b.part(0, 2000)] })
        for (const end of [a, b]) {
          yield* assertTaken(end.sends, ["20 success"])
          yield* assertTaken(end.receives, ["10 success"])
        }
        assertBytes(a.region.bytes.subarray(2000, 4000), pattern(2000, 2))
        assertBytes(b.region.bytes.subarray(2000, 4000), pattern(2000, 1))
      }))

    it(`${qpType}: a send that does not ask for it has no completion, and its place is free again after a later one`, () =>
      Effect.gen(function*() {
        const { a, b } = yield* pair()
        const { maxSendWr } = a.queuePair.cap
        for (let round = 0; round < 3; round++) {
          for (let index = 0; index < maxSendWr; index++) {
            yield* b.postRecv({ sgList: [b.part(0, 8)] })
            const isLast = index === maxSendWr - 1
            yield* a.postSend({
              opcode: "send",
              wrId: BigInt(index),
              flags: isLast ? ["signaled"] : [],
              sgList: [a.part()]
            })
            assert.strictEqual((yield* takeOne(b.receives)).byteLen, 8)
          }
          yield* assertTaken(a.sends, [`${maxSendWr - 1} success`])
        }
        yield* assertQuiet(a.sends, a.receives)
      }))

    it(`${qpType}: with sqSigAll every send has a completion`, () =>
      Effect.gen(function*() {
        const { a, b } = yield* pair({ a: { sqSigAll: true } })
        yield* b.postRecv({ sgList: [] }, { sgList: [] })
        yield* a.postSend({ opcode: "send", wrId: 1n }, { opcode: "send", wrId: 2n, flags: ["signaled"] })
        yield* assertTaken(a.sends, ["1 success", "2 success"])
      }))
  }

  it("sends and receives of a queue pair can complete in two queues", () =>
    Effect.gen(function*() {
      const self = yield* end(yield* domain, "rc")
      yield* ready.rc(self.queuePair)
      yield* self.postRecv({ wrId: 1n, sgList: [] })
      yield* self.postSend({ opcode: "send", wrId: 2n, flags: ["signaled"] })
      yield* assertTaken(self.sends, ["2 success"])
      yield* assertTaken(self.receives, ["1 success"])
    }))

  it("inline data beyond the room of the queue pair is EINVAL, and nothing is sent", () =>
    Effect.gen(function*() {
      const { a, b } = yield* connected.rc()
      const inlineData = new Uint8Array(a.queuePair.cap.maxInlineData + 1)
      assertReason(yield* Effect.flip(a.postSend({ opcode: "send", inlineData })), "ibv_post_send", "EINVAL")
      yield* b.postRecv({ wrId: 1n, sgList: [b.part(0, 64)] })
      yield* a.postSend({ opcode: "send", flags: ["signaled"], inlineData: pattern(3) })
      yield* take(a.sends, 1)
      assert.strictEqual((yield* takeOne(b.receives)).byteLen, 3)
    }))

  it("a send queue that is full takes no more until a completion was polled: ENOMEM", () =>
    Effect.gen(function*() {
      const { a, b } = yield* connected.rc({ a: { cap: { maxSendWr: 4 } } })
      const { maxSendWr } = a.queuePair.cap
      const one = { opcode: "rdmaWrite", flags: ["signaled"], sgList: [a.part()], remote: b.remote() } as const
      yield* a.postSend(...Array.from({ length: maxSendWr }, () => one))
      assertReason(yield* Effect.flip(a.postSend(one)), "ibv_post_send", "ENOMEM")
      yield* take(a.sends, maxSendWr)
      yield* a.postSend(one)
      yield* take(a.sends, 1)
    }))

  it("a queue pair that sends to itself receives what it sent", () =>
    Effect.gen(function*() {
      const self = yield* end(yield* domain, "rc")
      yield* ready.rc(self.queuePair)
      self.region.bytes.set(pattern(100))
      yield* self.postRecv({ wrId: 1n, sgList: [self.part(100, 100)] })
      yield* self.postSend({ opcode: "send", wrId: 2n, flags: ["signaled"], sgList: [self.part(0, 100)] })
      yield* assertTaken(self.sends, ["2 success"])
      yield* assertTaken(self.receives, ["1 success"])
      assertBytes(self.region.bytes.subarray(100, 200), pattern(100))
    }))
}
