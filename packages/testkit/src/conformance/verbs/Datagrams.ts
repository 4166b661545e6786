/**
 * Conformance of datagrams: what arrives, and what of those that cannot.
 *
 * @since 0.1.0
 */
import * as AddressHandle from "@effect-rdma/verbs/AddressHandle"
import * as Port from "@effect-rdma/verbs/Port"
import * as ProtectionDomain from "@effect-rdma/verbs/ProtectionDomain"
import * as QueuePair from "@effect-rdma/verbs/QueuePair"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { assertReason, recorded, timesCalled } from "../../internal/conformance.ts"
import { put, textIn } from "../../internal/conformanceBytes.ts"
import { assertQuiet, assertTaken, take, takeOne, within } from "../../internal/conformanceCompletions.ts"
import { addressed, dataPathSuite, qkey } from "../../internal/conformanceDataPath.ts"
import { stateOf } from "../../internal/conformanceVerbs.ts"
import type * as VerbsLane from "../VerbsLane.ts"

/**
 * Registers the suite on a lane.
 *
 * @category constructors
 * @since 0.1.0
 */
export const suite = <Others = never>(lane: VerbsLane.VerbsLane<Others>): void => {
  const { connected, datagrams, datagramsOn, domain, headerBytes, it, open } = dataPathSuite(lane)
  const { statuses } = lane

  it("a datagram arrives behind room for its routing header, and says who sent it", () =>
    Effect.gen(function*() {
      const { a, b, toB } = yield* datagrams()
      yield* b.postRecv({ wrId: 1n, sgList: [b.part(0, 100)] })
      yield* a.postSend({ opcode: "send", wrId: 2n, flags: ["signaled"], to: toB, sgList: [put(a, "hello")] })
      yield* assertTaken(a.sends, ["2 success"])
      const received = yield* takeOne(b.receives)
      assert.strictEqual(textIn(b, 5, headerBytes), "hello")
      assert.deepInclude<object>(received, {
        wrId: 1n,
        opcode: "recv",
        byteLen: headerBytes + 5,
        qpNum: b.queuePair.qpNum,
        srcQp: a.queuePair.qpNum,
        immData: undefined,
        hasGrh: lane.roce !== undefined
      })
    }))

  it("immediate data comes with a datagram", () =>
    Effect.gen(function*() {
      const { a, b, toB } = yield* datagrams()
      yield* b.postRecv({ sgList: [b.part(0, 100)] })
      yield* a.postSend({ opcode: "sendWithImm", immData: 0xdead_beef, to: toB, sgList: [put(a, "told")] })
      const { byteLen, immData, opcode } = yield* takeOne(b.receives)
      assert.deepStrictEqual({ byteLen, immData, opcode }, {
        byteLen: headerBytes + 4,
        immData: 0xdead_beef,
        opcode: "recv"
      })
    }))

  it("inline data is copied when it is posted", () =>
    Effect.gen(function*() {
      const { a, b, toB } = yield* datagrams()
      yield* b.postRecv({ sgList: [b.part(0, 100)] })
      const inlineData = new TextEncoder().encode("inline")
      yield* a.postSend({ opcode: "send", to: toB, inlineData })
      inlineData.fill(0)
      assert.strictEqual((yield* takeOne(b.receives)).byteLen, headerBytes + 6)
      assert.strictEqual(textIn(b, 6, headerBytes), "inline")
    }))

  it("an empty datagram arrives, and fills no more than the room for the header", () =>
    Effect.gen(function*() {
      const { a, b, toB } = yield* datagrams()
      b.region.bytes.fill(7)
      yield* b.postRecv({ sgList: [b.part(0, 100)] })
      yield* a.postSend({ opcode: "send", to: toB })
      assert.strictEqual((yield* takeOne(b.receives)).byteLen, headerBytes)
      assert.strictEqual(b.region.bytes[headerBytes], 7)
    }))

  it("a datagram is gathered from its pieces and scattered over those of the receive, header and all", () =>
    Effect.gen(function*() {
      const { a, b, toB } = yield* datagrams()
      yield* b.postRecv({ sgList: [b.part(0, headerBytes), b.part(100, 3), b.part(200, 50)] })
      const sgList = [put(a, "one "), put(a, "two ", 64), put(a, "three", 128)]
      yield* a.postSend({ opcode: "send", to: toB, sgList })
      assert.strictEqual((yield* takeOne(b.receives)).byteLen, headerBytes + 13)
      assert.strictEqual(textIn(b, 3, 100) + textIn(b, 10, 200), "one two three")
    }))

  it("a datagram as long as the MTU of the port arrives", () =>
    Effect.gen(function*() {
      const { a, b, toB } = yield* datagrams({ length: 8192 })
      const { activeMtu } = yield* Port.query(a.on.context, lane.port)
      if (activeMtu === "unknown") return
      a.region.bytes.fill(0x5a, 0, activeMtu)
      yield* b.postRecv({ sgList: [b.part(0, headerBytes + activeMtu)] })
      yield* a.postSend({ opcode: "send", to: toB, sgList: [a.part(0, activeMtu)] })
      assert.strictEqual((yield* takeOne(b.receives)).byteLen, headerBytes + activeMtu)
      assert.isTrue(b.region.bytes.subarray(headerBytes, headerBytes + activeMtu).every((byte) => byte === 0x5a))
    }))

  it("one that is longer than the MTU does not arrive", () =>
    Effect.gen(function*() {
      const { a, b, toB } = yield* datagrams({ length: 8192 })
      const { activeMtu } = yield* Port.query(a.on.context, lane.port)
      if (activeMtu === "unknown") return
      yield* b.postRecv({ sgList: [b.part(0, 8192)] })
      yield* a.postSend({ opcode: "send", wrId: 1n, flags: ["signaled"], to: toB, sgList: [a.part(0, activeMtu + 1)] })
      yield* assertTaken(a.sends, [`1 ${statuses.longDatagram}`])
      yield* assertQuiet(b.receives)
    }))

  it("another Q_Key than the receiver's: sent, and dropped there without taking a receive", () =>
    Effect.gen(function*() {
      const { a, b, toB } = yield* datagrams()
      yield* b.postRecv({ wrId: 1n, sgList: [b.part(0, 100)] })
      yield* QueuePair.send(a.queuePair, { to: { ...toB, remoteQkey: qkey + 1 }, sgList: [put(a, "no")] })
      yield* assertQuiet(b.receives)
      yield* QueuePair.send(a.queuePair, { to: toB, sgList: [put(a, "yes")] })
      yield* assertTaken(b.receives, ["1 success"])
      assert.strictEqual(textIn(b, 3, headerBytes), "yes")
    }))

  it("a changed Q_Key counts from then on", () =>
    Effect.gen(function*() {
      const { a, b, toB } = yield* datagrams()
      yield* b.postRecv({ wrId: 1n, sgList: [b.part(0, 100)] })
      yield* QueuePair.modify(b.queuePair, { qkey: 0x2222 })
      yield* QueuePair.send(a.queuePair, { to: toB, sgList: [put(a, "old")] })
      yield* assertQuiet(b.receives)
      yield* QueuePair.send(a.queuePair, { to: { ...toB, remoteQkey: 0x2222 }, sgList: [put(a, "new")] })
      yield* assertTaken(b.receives, ["1 success"])
      assert.strictEqual(textIn(b, 3, headerBytes), "new")
    }))

  it("a number that no queue pair has, and that of a connected one: sent, and nobody hears", () =>
    Effect.gen(function*() {
      const on = yield* domain
      const a = yield* datagramsOn(on)
      const { b } = yield* connected.rc({ on })
      const gone = yield* Effect.scoped(datagramsOn(on))
      const ah = yield* AddressHandle.make(on, lane.loop)
      yield* b.postRecv({ wrId: 1n, sgList: [b.part(0, 100)] })
      yield* QueuePair.send(a.queuePair, { to: addressed(ah, gone), sgList: [put(a, "hello?")] })
      yield* QueuePair.send(a.queuePair, { to: addressed(ah, b), sgList: [put(a, "hello?")] })
      yield* assertQuiet(b.receives)
      assert.strictEqual(yield* stateOf(b.queuePair), "rts")
    }))

  it("without a receive a datagram is lost, and the next one arrives", () =>
    Effect.gen(function*() {
      const { a, b, toB } = yield* datagrams()
      yield* QueuePair.send(a.queuePair, { to: toB, sgList: [put(a, "lost")] })
      yield* assertQuiet(b.receives)
      yield* b.postRecv({ wrId: 1n, sgList: [b.part(0, 100)] })
      yield* assertQuiet(b.receives)
      yield* QueuePair.send(a.queuePair, { to: toB, sgList: [put(a, "next")] })
      yield* assertTaken(b.receives, ["1 success"])
      assert.strictEqual(textIn(b, 4, headerBytes), "next")
    }))

  it("a receive that is too small for the data: the sender does not know, and the receiver is in ERR", () =>
    Effect.gen(function*() {
      const { a, b, toB } = yield* datagrams()
      yield* b.postRecv({ wrId: 1n, sgList: [b.part(0, headerBytes + 4)] })
      yield* QueuePair.send(a.queuePair, { to: toB, sgList: [put(a, "too long")] })
      yield* assertTaken(b.receives, [`1 ${statuses.shortDatagramReceive}`])
      assert.strictEqual(yield* stateOf(b.queuePair), "err")
      yield* QueuePair.send(a.queuePair, { to: toB, sgList: [put(a, "more")] })
    }))

  it("datagrams of one sender arrive in their order", () =>
    Effect.gen(function*() {
      const { a, b, toB } = yield* datagrams()
      for (let round = 0; round < 4; round++) {
        const numbers = Array.from({ length: 16 }, (_, index) => round * 16 + index)
        yield* b.postRecv(
          ...numbers.map((number) => ({ wrId: BigInt(number), sgList: [b.part(64 * (number % 16), 64)] }))
        )
        yield* a.postSend(
          ...numbers.map((
            number
          ) => ({ opcode: "sendWithImm", immData: number, to: toB, flags: ["signaled"] } as const))
        )
        yield* take(a.sends, 16)
        const received = yield* take(b.receives, 16)
        assert.deepStrictEqual(
          received.map((completion) => completion.status === "success" ? completion.immData : completion.status),
          numbers
        )
      }
    }))

  it("a burst beyond the receives loses the rest, and traffic goes on after it", () =>
    Effect.gen(function*() {
      const { a, b, toB } = yield* datagrams()
      const receive = (wrId: bigint) => ({ wrId, sgList: [b.part(0, 100)] })
      yield* b.postRecv(receive(1n), receive(2n))
      yield* a.postSend(
        ...Array.from({ length: 16 }, () => ({ opcode: "send", to: toB, flags: ["signaled"] } as const))
      )
      yield* take(a.sends, 16)
      yield* assertTaken(b.receives, ["1 success", "2 success"])
      yield* assertQuiet(b.receives)
      yield* b.postRecv(receive(3n))
      yield* QueuePair.send(a.queuePair, { to: toB })
      yield* assertTaken(b.receives, ["3 success"])
    }))

  it("those that are not signaled say nothing, and free their places with the next that is", () =>
    Effect.gen(function*() {
      const { a, b, toB } = yield* datagrams()
      const silent = { opcode: "send", to: toB } as const
      for (let round = 0; round < 3; round++) {
        yield* a.postSend(...Array.from({ length: 15 }, () => silent), { ...silent, wrId: 9n, flags: ["signaled"] })
        yield* assertTaken(a.sends, ["9 success"])
      }
      yield* assertQuiet(a.sends, b.receives)
    }))

  it("reads, writes and atomics are no datagrams: EINVAL before any call", () =>
    recorded(function*(calls) {
      const { a, b, toB } = yield* datagrams()
      const other = { to: toB, sgList: [a.part()], remote: b.remote() } as const
      for (
        const request of [
          { ...other, opcode: "rdmaRead" },
          { ...other, opcode: "rdmaWrite" },
          { ...other, opcode: "atomicFetchAndAdd", add: 1n },
          { ...other, opcode: "atomicCmpAndSwp", compare: 0n, swap: 1n }
        ] as const
      ) {
        assertReason(yield* Effect.flip(a.postSend(request)), "ibv_post_send", "EINVAL")
      }
      const nowhere = a.postSend({ opcode: "send", sgList: [a.part()] })
      assertReason(yield* Effect.flip(nowhere), "ibv_post_send", "EINVAL")
      assert.strictEqual(timesCalled(yield* calls, "ibv_post_send"), 0)
    }))

  it("an address handle of another domain is used, or refused where the provider looks", () =>
    Effect.gen(function*() {
      const context = yield* open
      const [one, other] = [yield* ProtectionDomain.alloc(context), yield* ProtectionDomain.alloc(context)]
      const [a, b] = [yield* datagramsOn(one), yield* datagramsOn(one)]
      const ah = yield* AddressHandle.make(other, lane.loop)
      yield* b.postRecv({ sgList: [b.part(0, 100)] })
      yield* a.postSend({
        opcode: "send",
        wrId: 1n,
        flags: ["signaled"],
        to: addressed(ah, b),
        sgList: [put(a, "hello")]
      })
      yield* assertTaken(a.sends, [`1 ${statuses.foreignAddressHandle}`])
      if (statuses.foreignAddressHandle === "success") yield* takeOne(b.receives)
      else yield* assertQuiet(b.receives)
    }))

  it("a send and a receive are awaited", () =>
    Effect.gen(function*() {
      const { a, b, toB } = yield* datagrams()
      const [received] = yield* within(
        "a datagram",
        Effect.all([
          QueuePair.recv(b.queuePair, { sgList: [b.part(0, 100)] }),
          Effect.delay(QueuePair.send(a.queuePair, { to: toB, sgList: [put(a, "awaited")] }), "20 millis")
        ], { concurrency: "unbounded" })
      )
      assert.strictEqual(received.byteLen, headerBytes + 7)
      assert.strictEqual(textIn(b, 7, headerBytes), "awaited")
    }))
}
