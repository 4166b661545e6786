/** Links that take time, lose something, or are cut. Time is that of `TestClock`. */
import { Fabric, Topology } from "@effect-rdma/testkit"
import { AddressHandle, QueuePair } from "@effect-rdma/verbs"
import { assert, describe, it } from "@effect/vitest"
import { Cause, Clock, Effect, Exit } from "effect"
import { TestClock } from "effect/testing"
import { connected as connection, parametersOf, side as manager } from "./connections.ts"
import { addressOf, connected, devices, request, run, type Side, side, text, textAt } from "./dataPath.ts"

const disturb = (node: string, disturbance: Fabric.Disturbance, portNum = 1) =>
  Effect.flatMap(Fabric.Fabric, (fabric) => fabric.disturb(node, portNum, disturbance))

/** Longer than any way here: 67 ms. */
const patient = { timeout: 14, retryCnt: 6 }

const receives = (count: number, { piece }: Side, length = 2048) =>
  Array.from({ length: count }, (_, index) => ({ wrId: BigInt(index), sgList: [piece(0, length)] }))

/** A datagram queue pair in RTS. */
const datagrams = Effect.fnUntraced(function*(device: (typeof devices)[number]) {
  const self = yield* side(device, { qpType: "ud" })
  yield* QueuePair.modify(self.pair, { qpState: "init", portNum: 1, pkeyIndex: 0, qkey: 5 })
  yield* QueuePair.modify(self.pair, { qpState: "rtr" })
  yield* QueuePair.modify(self.pair, { qpState: "rts", sqPsn: 0 })
  return self
})

const problem = (effect: Effect.Effect<void>) =>
  Effect.map(Effect.exit(effect), (exit) => Exit.isFailure(exit) ? String(Cause.squash(exit.cause)) : "none")

for (const device of devices) {
  describe(`a link of ${device}`, () => {
    it.effect("takes its latency and its time for each byte, and what comes meanwhile waits", () =>
      run(Effect.gen(function*() {
        const { a, b } = yield* connected(device, { pathA: patient })
        // 1000 bytes in a millisecond.
        yield* disturb(`host-b ${device}`, { latency: "5 millis", bandwidth: 0.008 })
        b.postRecv(...receives(3, b))
        a.region.bytes.fill(1)
        a.postSend(
          request(7n, "send", { sgList: [a.piece(0, 2000)] }),
          request(8n, "send", { sgList: [a.piece(0, 1000)] }),
          request(9n, "send")
        )
        // What is on its way was read already.
        a.region.bytes.fill(2)
        const seen: Array<string> = []
        for (const time of [6.999, 7, 7.999, 8, 11.999, 12, 12.999, 13]) {
          yield* TestClock.setTime(time)
          const statuses = [
            ...b.statuses().map((status) => `b ${status}`),
            ...a.statuses().map((status) => `a ${status}`)
          ]
          seen.push(`${time}: ${statuses.join(", ")}`)
        }
        assert.deepStrictEqual(seen, [
          "6.999: ",
          "7: b 0 success",
          "7.999: ",
          "8: b 1 success, b 2 success",
          "11.999: ",
          "12: a 7 success",
          "12.999: ",
          "13: a 8 success, a 9 success"
        ])
        assert.strictEqual(b.region.bytes[999], 1)
      })))

    it.effect("is gone through after the other: both ends of the way take their time", () =>
      run(Effect.gen(function*() {
        const { a, b } = yield* connected(device, { pathA: patient })
        yield* disturb(`host-a ${device}`, { latency: "1 millis", bandwidth: 0.008 })
        yield* disturb(`host-b ${device}`, { latency: "2 millis", bandwidth: 0.004 })
        b.region.bytes.fill(66, 0, 500)
        const read = request(1n, "rdmaRead", { sgList: [a.piece(0, 500)], remote: b.remote() })
        a.postSend(read)
        // There 3 ms, back 1 + 2 + 0.5 + 1.
        yield* TestClock.setTime(7.499)
        assert.deepStrictEqual([a.statuses(), textAt(a, 0, 3)], [[], "\0\0\0"])
        yield* TestClock.setTime(7.5)
        assert.deepStrictEqual([a.statuses(), textAt(a, 497, 3)], [["1 success"], "BBB"])
      })))

    it.effect("has no more reads under way than there may be, and what is behind a fence waits for them", () =>
      run(Effect.gen(function*() {
        const { a, b } = yield* connected(device, { pathA: { ...patient, maxRdAtomic: 1 } })
        yield* disturb(`host-b ${device}`, { latency: "2 millis" })
        b.postRecv(...receives(1, b))
        const read = (wrId: bigint) => request(wrId, "rdmaRead", { sgList: [a.piece()], remote: b.remote() })
        a.postSend(read(1n), read(2n), request(3n, "send", { flags: ["signaled", "fence"] }))
        yield* TestClock.setTime(4)
        assert.deepStrictEqual(a.statuses(), ["1 success"])
        yield* TestClock.setTime(9)
        assert.deepStrictEqual([a.statuses(), b.statuses()], [["2 success"], []])
        yield* TestClock.setTime(12)
        assert.deepStrictEqual([a.statuses(), b.statuses()], [["3 success"], ["0 success"]])
      })))

    it.effect("an unreliable message has left at once, and arrives later, also when its sender is gone", () =>
      run(Effect.gen(function*() {
        const b = yield* datagrams(device).pipe(Effect.provide(Fabric.host("host-b")))
        yield* disturb(`host-a ${device}`, { latency: "3 millis" })
        b.postRecv(...receives(1, b))
        yield* Effect.scoped(Effect.gen(function*() {
          const a = yield* datagrams(device)
          const to = yield* AddressHandle.make(a.domain, addressOf(device, "host-b"))
          yield* QueuePair.postSend(a.pair, [
            {
              opcode: "send",
              flags: ["signaled"],
              inlineData: text("soon"),
              to: { ah: to, remoteQpn: b.pair.qpNum, remoteQkey: 5 }
            }
          ])
          assert.deepStrictEqual(a.poll().map(({ status }) => status), ["success"])
        }))
        yield* TestClock.setTime(2.999)
        assert.deepStrictEqual(b.statuses(), [])
        yield* TestClock.setTime(3)
        assert.deepStrictEqual([b.statuses(), textAt(b, 40, 4)], [["0 success"], "soon"])
      })))

    it.effect("that loses everything is retryExcErr after the retries; a datagram is lost in silence", () =>
      run(Effect.gen(function*() {
        const { a, b } = yield* connected(device, { pathA: { timeout: 10, retryCnt: 2 } })
        const [from, to] = [
          yield* datagrams(device),
          yield* datagrams(device).pipe(Effect.provide(Fabric.host("host-b")))
        ]
        yield* disturb(`host-b ${device}`, { loss: 1 })
        b.postRecv(...receives(1, b))
        to.postRecv(...receives(1, to))
        const handle = yield* AddressHandle.make(from.domain, addressOf(device, "host-b"))
        yield* QueuePair.postSend(from.pair, [
          { opcode: "send", flags: ["signaled"], to: { ah: handle, remoteQpn: to.pair.qpNum, remoteQkey: 5 } }
        ])
        a.postSend(request(1n, "send"), request(2n, "send"))
        const timeout = 0.004096 * 2 ** 10
        yield* TestClock.adjust(2.99 * timeout)
        assert.deepStrictEqual([from.poll().map(({ status }) => status), a.poll()], [["success"], []])
        yield* TestClock.adjust(0.02 * timeout)
        assert.deepStrictEqual(a.statuses(), ["1 retryExcErr", "2 wrFlushErr"])
        assert.deepStrictEqual([b.poll(), to.poll()], [[], []])
      })))

    it.effect("that loses a part delivers each reliable message once and in order, the same ones with the same seed", () =>
      run(Effect.gen(function*() {
        const lossy = Effect.gen(function*() {
          const cap = { maxSendWr: 200, maxRecvWr: 200 }
          const ends = { cap, cqe: 500 }
          const { a, b } = yield* connected(device, { a: ends, b: ends, pathA: { timeout: 10, retryCnt: 6 } })
          let lost = 0
          let count = 0
          yield* disturb(`host-b ${device}`, { latency: "1 millis", loss: 0.05, seed: 3 })
          yield* disturb(`host-a ${device}`, {
            drops: (packet) => {
              count = packet.count
              lost += packet.kind === "message" ? 1 : 0
              return false
            }
          })
          const start = yield* Clock.currentTimeMillis
          b.postRecv(...receives(200, b))
          a.postSend(...Array.from({ length: 200 }, (_, index) => request(BigInt(index), "send")))
          const [sent, received]: [Array<string>, Array<string>] = [[], []]
          while (sent.length < 200) {
            yield* TestClock.adjust(1)
            sent.push(...a.statuses())
            received.push(...b.statuses())
          }
          const all = Array.from({ length: 200 }, (_, index) => `${index} success`)
          assert.deepStrictEqual([sent, received], [all, all])
          // Some were sent more than once.
          assert.isAbove(lost, 200)
          return [(yield* Clock.currentTimeMillis) - start, lost, count]
        })
        const once = yield* lossy
        // The time and the count of the link go on.
        const [took, lost] = yield* lossy
        assert.deepStrictEqual([took, lost], once.slice(0, 2))
      })))

    it.effect("that loses an answer has what it answers done once: no message twice, no sum twice, and what was read comes", () =>
      run(Effect.gen(function*() {
        const { a, b } = yield* connected(device, { pathA: { timeout: 10, retryCnt: 6, maxRdAtomic: 4 } })
        let losing = true
        const kinds: Array<string> = []
        yield* disturb(`host-b ${device}`, {
          drops: ({ bytes, kind }) => {
            kinds.push(`${kind} ${bytes.length}`)
            return losing && kind === "answer"
          }
        })
        b.postRecv(...receives(2, b, 8))
        b.region.bytes.fill(66, 100, 108)
        a.postSend(
          request(1n, "send"),
          request(2n, "atomicFetchAndAdd", { sgList: [a.piece(8)], remote: b.remote(16), compareAdd: 5n }),
          request(3n, "rdmaRead", { sgList: [a.piece(24)], remote: b.remote(100) }),
          request(4n, "send")
        )
        assert.deepStrictEqual([a.statuses(), b.statuses()], [[], ["0 success", "1 success"]])
        losing = false
        yield* TestClock.adjust("5 millis")
        assert.deepStrictEqual([a.statuses(), b.poll()], [["1 success", "2 success", "3 success", "4 success"], []])
        assert.deepStrictEqual([textAt(a, 24, 8), b.region.bytes[16], a.region.bytes[8]], ["BBBBBBBB", 5, 0])
        assert.deepStrictEqual(kinds.slice(0, 8).toSorted(), [
          "answer 0",
          "answer 0",
          "answer 8",
          "answer 8",
          "message 0",
          "message 0",
          "message 0",
          "message 0"
        ])
      })))

    it.effect("a peer that misses a message says so: it comes again at once", () =>
      run(Effect.gen(function*() {
        const { a, b } = yield* connected(device, { pathA: patient })
        yield* disturb(`host-b ${device}`, { latency: "1 millis", drops: ({ count }) => count === 1 })
        b.postRecv(...receives(3, b))
        a.postSend(request(1n, "send"), request(2n, "send"), request(3n, "send"))
        // There, back, and there and back again.
        yield* TestClock.setTime(4)
        assert.deepStrictEqual(b.statuses(), ["0 success", "1 success", "2 success"])
        assert.deepStrictEqual(a.statuses(), ["1 success", "2 success", "3 success"])
      })))

    it.effect("that is cut loses what is under way; healed in time, nothing was lost", () =>
      run(Effect.gen(function*() {
        const fabric = yield* Fabric.Fabric
        const { a, b } = yield* connected(device, { pathA: { timeout: 12, retryCnt: 3 } })
        yield* disturb(`host-b ${device}`, { latency: "2 millis" })
        b.postRecv(...receives(1, b))
        a.postSend(request(1n, "send"))
        yield* TestClock.setTime(1)
        yield* fabric.setLink("host-b", device, 1, "down", { for: "10 millis" })
        yield* TestClock.setTime(10.999)
        assert.deepStrictEqual(yield* b.events, ["portErr"])
        yield* TestClock.setTime(16)
        assert.deepStrictEqual([yield* b.events, b.statuses(), a.statuses()], [["portActive"], [], []])
        // 4.096 µs times 2 to the power of 12 after the first time, and there and back.
        yield* TestClock.setTime(21)
        assert.deepStrictEqual([b.statuses(), a.statuses()], [["0 success"], ["1 success"]])
      })))

    it.effect("is undisturbed again, and nothing overtakes what is on its way", () =>
      run(Effect.gen(function*() {
        const { a, b } = yield* connected(device, { pathA: patient })
        yield* disturb(`host-b ${device}`, { latency: "5 millis" })
        b.postRecv(...receives(2, b))
        a.postSend(request(1n, "send"))
        yield* disturb(`host-b ${device}`, {})
        a.postSend(request(2n, "send"))
        assert.deepStrictEqual(b.statuses(), [])
        yield* TestClock.setTime(5)
        assert.deepStrictEqual([b.statuses(), a.statuses()], [["0 success", "1 success"], ["1 success", "2 success"]])
        a.postSend(request(3n, "rdmaWrite", { remote: b.remote() }))
        assert.deepStrictEqual(a.statuses(), ["3 success"])
      })))
  })
}

describe("links", () => {
  it.effect("carry the messages of the connection manager: later, or again after its timeout", () =>
    Effect.gen(function*() {
      const server = yield* manager("host-b")
      const client = yield* manager("host-a")
      yield* server.listening("10.0.0.2:7471")
      const id = yield* client.routed("10.0.0.2:7471")
      yield* disturb("host-b rxe0", {
        latency: "10 millis",
        drops: ({ count, kind }) => kind === "connection" && count === 1
      })
      yield* client.cm.connect(id, parametersOf(0x21))
      yield* TestClock.adjust("6153 millis")
      yield* server.nothing
      yield* TestClock.adjust("1 millis")
      const { id: asked } = yield* server.expect("connectRequest")
      yield* server.cm.accept(asked, parametersOf(0x31))
      yield* TestClock.adjust("9 millis")
      yield* client.nothing
      yield* TestClock.adjust("1 millis")
      yield* client.expect("connectResponse")
    }).pipe(Effect.provide(Fabric.layer)))

  it.effect("a request that is taken back while it is under way comes to nothing on both sides", () =>
    Effect.gen(function*() {
      const server = yield* manager("host-b")
      const client = yield* manager("host-a")
      yield* server.listening("10.0.0.2:7471")
      const id = yield* client.routed("10.0.0.2:7471")
      yield* disturb("host-b rxe0", { latency: "10 millis" })
      yield* client.cm.connect(id, parametersOf(0x21))
      yield* client.cm.destroyId(id)
      yield* TestClock.adjust("10 millis")
      const { id: asked } = yield* server.expect("connectRequest")
      yield* server.nothing
      const { reason } = yield* Effect.flip(server.cm.accept(asked, parametersOf(0x31)))
      assert.strictEqual(reason._tag, "EINVAL")
    }).pipe(Effect.provide(Fabric.layer)))

  it.effect("a disconnection gets through a link that loses some", () =>
    Effect.gen(function*() {
      const { client, id, request, server } = yield* connection()
      yield* disturb("host-b rxe0", { loss: 0.2, seed: 1 })
      yield* client.cm.disconnect(id)
      yield* TestClock.adjust("50 seconds")
      yield* server.expect("disconnected")
      yield* server.cm.disconnect(request)
      yield* TestClock.adjust("50 seconds")
      yield* client.expect("disconnected")
    }).pipe(Effect.provide(Fabric.layer)))

  const slow: Topology.Input = {
    ...Topology.twoHosts,
    links: [{ node: "host-b rxe0", latency: "3 millis", bandwidth: 8, loss: 0, seed: 1 }]
  }
  it.effect("can be told in the topology, as plain data", () =>
    Effect.gen(function*() {
      const { a, b } = yield* connected("rxe0", { pathA: patient })
      b.postRecv(...receives(1, b))
      a.postSend(request(1n, "send", { sgList: [a.piece(0, 1000)] }))
      yield* TestClock.setTime(3.000_999)
      assert.deepStrictEqual(b.statuses(), [])
      yield* TestClock.setTime(3.001)
      assert.deepStrictEqual(b.statuses(), ["0 success"])
    }).pipe(Effect.scoped, Effect.provide(Fabric.layerFrom(slow))))

  it.effect("refuse a bandwidth of nothing, a loss above one, and a port that is not there", () =>
    Effect.gen(function*() {
      const fabric = yield* Fabric.Fabric
      assert.include(yield* problem(fabric.disturb("host-a rxe0", 1, { bandwidth: 0 })), "above 0 Gb/s, not 0")
      assert.include(yield* problem(fabric.disturb("host-a rxe0", 1, { loss: 2 })), "from 0 to 1, not 2")
      assert.include(yield* problem(fabric.disturb("host-a rxe0", 2, {})), "the subnet has no node host-a rxe0")
    }).pipe(Effect.provide(Fabric.layer)))
})
