/**
 * Conformance of datagrams between many: routing headers, answers, and several senders and receivers.
 *
 * @since 0.1.0
 */
import * as Gid from "@effect-rdma/core/Gid"
import * as AddressHandle from "@effect-rdma/verbs/AddressHandle"
import * as QueuePair from "@effect-rdma/verbs/QueuePair"
import * as ReceivedDatagram from "@effect-rdma/verbs/ReceivedDatagram"
import * as RoutingHeader from "@effect-rdma/verbs/RoutingHeader"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { put, textIn } from "../../internal/conformanceBytes.ts"
import { assertQuiet, assertTaken, take, takeOne } from "../../internal/conformanceCompletions.ts"
import { addressed, dataPathSuite, qkey } from "../../internal/conformanceDataPath.ts"
import type * as VerbsLane from "../VerbsLane.ts"

/**
 * Registers the suite on a lane.
 *
 * @category constructors
 * @since 0.1.0
 */
export const suite = <Others = never>(lane: VerbsLane.VerbsLane<Others>): void => {
  const { datagrams, datagramsOn, domain, headerBytes, it, itOnRoce, itWhere, roce } = dataPathSuite(lane)

  itOnRoce("the routing header tells the addresses and the traffic class", () =>
    Effect.gen(function*() {
      const { a, b } = yield* datagrams()
      const ah = yield* AddressHandle.make(a.on, {
        ...lane.loop,
        grh: { dgid: `::ffff:${roce.ownAddress}`, sgidIndex: roce.sgidIndex, trafficClass: 0x28, hopLimit: 9 }
      })
      yield* b.postRecv({ sgList: [b.part(0, 100)] })
      yield* QueuePair.send(a.queuePair, { to: addressed(ah, b), sgList: [put(a, "hello")] })
      assert.isTrue((yield* takeOne(b.receives)).hasGrh)
      const header = RoutingHeader.fromBytes(headerOf(b))
      if (header?._tag !== "Ipv4") return assert.fail(`the header is ${header?._tag}`)
      assert.strictEqual(Gid.ipv4(header.sgid), roce.ownAddress)
      assert.strictEqual(Gid.ipv4(header.dgid), roce.ownAddress)
      assert.strictEqual(header.typeOfService, 0x28)
      // The kernel takes that of the route.
      assert.strictEqual(header.timeToLive, 64)
    }))

  itWhere(lane.roce === undefined, "every datagram of Ethernet has a routing header")(
    "without a routing header its room is left as it was",
    () =>
      Effect.gen(function*() {
        const { a, b, toB } = yield* datagrams()
        b.region.bytes.fill(7)
        yield* b.postRecv({ sgList: [b.part(0, 100)] })
        yield* QueuePair.send(a.queuePair, { to: toB, sgList: [put(a, "hello")] })
        assert.isFalse((yield* takeOne(b.receives)).hasGrh)
        assert.isTrue(headerOf(b).every((byte) => byte === 7))
        assert.strictEqual(textIn(b, 5, headerBytes), "hello")
      })
  )

  it("the receiver answers by what it received", () =>
    Effect.gen(function*() {
      const { a, b, toB } = yield* datagrams()
      yield* a.postRecv({ wrId: 1n, sgList: [a.part(0, 100)] })
      yield* b.postRecv({ sgList: [b.part(0, 100)] })
      yield* QueuePair.send(a.queuePair, { to: toB, sgList: [put(a, "question")] })
      const { dlidPathBits, hasGrh, sl, slid, srcQp } = yield* takeOne(b.receives)
      const ah = yield* AddressHandle.fromReceived(b.on, lane.port, {
        slid,
        sl,
        dlidPathBits,
        ...(hasGrh ? { grh: headerOf(b) } : {})
      })
      yield* QueuePair.send(b.queuePair, {
        to: { ah, remoteQpn: srcQp, remoteQkey: qkey },
        sgList: [put(b, "answer")]
      })
      const answer = yield* takeOne(a.receives)
      assert.strictEqual(answer.srcQp, b.queuePair.qpNum)
      assert.strictEqual(textIn(a, 6, headerBytes), "answer")
    }))

  it("a queue pair sends to itself", () =>
    Effect.gen(function*() {
      const on = yield* domain
      const self = yield* datagramsOn(on)
      const ah = yield* AddressHandle.make(on, lane.loop)
      yield* self.postRecv({ sgList: [self.part(0, 100)] })
      yield* QueuePair.send(self.queuePair, { to: addressed(ah, self), sgList: [put(self, "to me")] })
      assert.strictEqual((yield* takeOne(self.receives)).srcQp, self.queuePair.qpNum)
      assert.strictEqual(textIn(self, 5, headerBytes), "to me")
    }))

  it("one sender reaches many receivers, each with what is for it", () =>
    Effect.gen(function*() {
      const on = yield* domain
      const sender = yield* datagramsOn(on)
      const ah = yield* AddressHandle.make(on, lane.loop)
      const receivers = yield* Effect.forEach(Array.from({ length: 8 }), () => datagramsOn(on))
      for (const receiver of receivers) yield* receiver.postRecv({ sgList: [receiver.part(0, 100)] })
      yield* sender.postSend(...receivers.map((receiver, index) => ({
        opcode: "send",
        to: addressed(ah, receiver),
        sgList: [put(sender, `for ${index}`, 64 * index)]
      } as const)))
      for (const [index, receiver] of receivers.entries()) {
        yield* takeOne(receiver.receives)
        assert.strictEqual(textIn(receiver, 5, headerBytes), `for ${index}`)
      }
    }))

  it("many senders reach one receiver, which knows them apart", () =>
    Effect.gen(function*() {
      const on = yield* domain
      const receiver = yield* datagramsOn(on)
      const ah = yield* AddressHandle.make(on, lane.loop)
      const senders = yield* Effect.forEach(Array.from({ length: 8 }), () => datagramsOn(on))
      yield* receiver.postRecv(
        ...senders.map((_, index) => ({ wrId: BigInt(index), sgList: [receiver.part(100 * index, 100)] }))
      )
      yield* Effect.forEach(
        senders,
        (sender, index) =>
          QueuePair.send(sender.queuePair, { to: addressed(ah, receiver), sgList: [put(sender, `from ${index}`)] }),
        { concurrency: "unbounded", discard: true }
      )
      const came = new Map<number, string>()
      for (const completion of yield* take(receiver.receives, senders.length)) {
        if (completion.status !== "success") return assert.fail(completion.status)
        came.set(completion.srcQp, textIn(receiver, 6, 100 * Number(completion.wrId) + headerBytes))
      }
      assert.deepStrictEqual(
        came,
        new Map(senders.map(({ queuePair }, index) => [queuePair.qpNum, `from ${index}`]))
      )
    }))

  it("many send to many at once, and every datagram arrives where it should", () =>
    Effect.gen(function*() {
      const on = yield* domain
      const ends = yield* Effect.forEach(Array.from({ length: 4 }), () => datagramsOn(on))
      const ah = yield* AddressHandle.make(on, lane.loop)
      for (const self of ends) {
        yield* self.postRecv(...Array.from({ length: 12 }, (_, index) => ({ sgList: [self.part(64 * index, 64)] })))
      }
      yield* Effect.forEach(ends, (from) =>
        Effect.forEach(ends, (to) =>
          Effect.repeat(
            QueuePair.send(from.queuePair, { to: addressed(ah, to), immData: from.queuePair.qpNum }),
            { times: 2 }
          ), { discard: true }), { concurrency: "unbounded", discard: true })
      for (const self of ends) {
        const counts = new Map<number, number>()
        for (const completion of yield* take(self.receives, 12)) {
          if (completion.status !== "success") return assert.fail(completion.status)
          assert.strictEqual(completion.immData, completion.srcQp)
          counts.set(completion.srcQp, (counts.get(completion.srcQp) ?? 0) + 1)
        }
        assert.deepStrictEqual([...counts.values()], [3, 3, 3, 3])
        yield* assertQuiet(self.receives)
      }
    }))

  it("address handles come and go while datagrams are on their way", () =>
    Effect.gen(function*() {
      const { a, b } = yield* datagrams()
      yield* Effect.forEach(Array.from({ length: 4 }), (_, fiber) =>
        Effect.forEach(Array.from({ length: 10 }), () =>
          Effect.scoped(Effect.flatMap(
            AddressHandle.make(a.on, lane.loop),
            (ah) =>
              QueuePair.send(a.queuePair, { wrId: BigInt(fiber), to: addressed(ah, b) })
          )), { discard: true }), { concurrency: "unbounded", discard: true })
      yield* b.postRecv({ wrId: 1n, sgList: [b.part(0, 100)] })
      const ah = yield* AddressHandle.make(a.on, lane.loop)
      yield* QueuePair.send(a.queuePair, { to: addressed(ah, b) })
      yield* assertTaken(b.receives, ["1 success"])
    }))
}

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

const headerOf = ({ region }: { readonly region: { readonly bytes: Uint8Array } }): Uint8Array =>
  region.bytes.slice(0, ReceivedDatagram.routingHeaderBytes)
