/** Datagrams: their keys, their headers, their groups, and how they get lost. Unreliable connections too. */
import { Gid, Lid, Resource } from "@effect-rdma/core"
import { Fabric } from "@effect-rdma/testkit"
import { AddressHandle, QueuePair, RoutingHeader } from "@effect-rdma/verbs"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { addressOf, connected, type Device, devices, request, run, type Side, side, text, textAt } from "./dataPath.ts"

const gid = Schema.decodeSync(Gid.GidFromString)

const toRts = Effect.fnUntraced(function*({ pair }: Side, qkey = 0x1111) {
  yield* QueuePair.modify(pair, { qpState: "init", portNum: 1, pkeyIndex: 0, qkey })
  yield* QueuePair.modify(pair, { qpState: "rtr" })
  yield* QueuePair.modify(pair, { qpState: "rts", sqPsn: 0 })
})

const ends = Effect.fnUntraced(function*(device: Device, shared: { readonly sharedReceives?: number } = {}) {
  const a = yield* side(device, { qpType: "ud" })
  const b = yield* side(device, { qpType: "ud", ...shared }).pipe(Effect.provide(Fabric.host("host-b")))
  yield* toRts(a)
  yield* toRts(b)
  const ah = yield* AddressHandle.make(a.domain, addressOf(device, "host-b"))
  const to = (remoteQkey = 0x1111, remoteQpn: number = b.pair.qpNum) => ({
    ud: { ah: Resource.raw(ah), remoteQpn, remoteQkey }
  })
  return { a, b, to }
})

for (const device of devices) {
  const isRxe = device === "rxe0"
  describe(`datagrams of ${device}`, () => {
    it.effect("a datagram comes with the room of its header in front, and tells its sender", () =>
      run(Effect.gen(function*() {
        const { a, b, to } = yield* ends(device)
        a.region.bytes.set(text("datagram"))
        b.postRecv({ wrId: 1n, sgList: [b.piece(0, 42), b.piece(100, 50)] })
        a.postSend(request(2n, "sendWithImm", { sgList: [a.piece(0, 8)], immData: 9, ...to() }))
        assert.deepStrictEqual(a.statuses(), ["2 success"])
        const [received] = b.poll()
        assert(received?.status === "success")
        assert.deepStrictEqual(
          [received.byteLen, received.srcQp, received.immData, received.hasGrh, received.slid],
          [48, a.pair.qpNum, 9, isRxe, isRxe ? 0 : 1]
        )
        assert.strictEqual(textAt(b, 40, 2) + textAt(b, 100, 6), "datagram")
        const header = RoutingHeader.fromBytes(b.region.bytes.subarray(0, 40))
        if (!isRxe) return assert.isUndefined(header)
        assert(header?._tag === "Ipv4")
        assert.deepStrictEqual(
          [Gid.formatCompressed(header.sgid), Gid.formatCompressed(header.dgid), header.timeToLive],
          ["::ffff:10.0.0.1", "::ffff:10.0.0.2", 64]
        )
      })))

    it.effect("another key, another number, and no receive: nothing arrives, and the sender does not hear of it", () =>
      run(Effect.gen(function*() {
        const { a, b, to } = yield* ends(device)
        a.postSend(request(1n, "send", to()))
        b.postRecv({ wrId: 9n, sgList: [b.piece(0, 40)] })
        a.postSend(request(2n, "send", to(0x2222)), request(3n, "send", to(0x1111, 0xabcdef)))
        assert.deepStrictEqual(a.statuses(), ["1 success", "2 success", "3 success"])
        assert.deepStrictEqual(b.poll(), [])
        const fabric = yield* Fabric.Fabric
        yield* fabric.setLink("host-b", device, 1, "down")
        a.postSend(request(4n, "send", to()))
        yield* fabric.setLink("host-b", device, 1, "up")
        assert.deepStrictEqual([a.statuses(), b.statuses()], [["4 success"], []])
        a.postSend(request(5n, "send", to()))
        assert.deepStrictEqual(b.statuses(), ["9 success"])
      })))

    it.effect("a key with its highest bit stands for the sender's own, but not on rxe", () =>
      run(Effect.gen(function*() {
        const { a, b, to } = yield* ends(device)
        b.postRecv({ wrId: 9n, sgList: [b.piece(0, 40)] })
        a.postSend(request(1n, "send", to(0x8000_0000)))
        assert.deepStrictEqual(b.statuses(), isRxe ? [] : ["9 success"])
      })))

    it.effect("more than the MTU: rxe sends nothing and says nothing, mlx5 says locLenErr", () =>
      run(Effect.gen(function*() {
        const { a, b, to } = yield* ends(device)
        b.postRecv({ wrId: 9n, sgList: [b.piece(0, 4096)] })
        const sgList = [a.piece(0, 4096), a.piece(0, 1)]
        a.postSend(request(1n, "send", { sgList, ...to() }), request(2n, "send", to()))
        assert.deepStrictEqual(a.statuses(), isRxe ? ["1 success", "2 success"] : ["1 locLenErr", "2 wrFlushErr"])
        assert.deepStrictEqual(b.statuses(), isRxe ? ["9 success"] : [])
        assert.strictEqual(yield* a.state, isRxe ? "rts" : "sqe")
        if (isRxe) return
        // In SQE sends are flushed, and receives work; RTS mends it.
        a.postSend(request(3n, "send", to()))
        assert.deepStrictEqual(a.statuses(), ["3 wrFlushErr"])
        yield* QueuePair.modify(a.pair, { qpState: "rts" })
        a.postSend(request(4n, "send", to()))
        assert.deepStrictEqual(b.statuses(), ["9 success"])
      })))

    it.effect("a receive that is too small fails, and takes its queue pair to ERR", () =>
      run(Effect.gen(function*() {
        for (const shared of [{}, { sharedReceives: 4 }]) {
          const { a, b, to } = yield* ends(device, shared)
          const receive = { wrId: 1n, sgList: [b.piece(0, 47)] }
          if (b.srq === undefined) b.postRecv(receive)
          else b.dataPath.postSrqRecv(Resource.raw(b.srq), [receive])
          a.postSend(request(2n, "send", { sgList: [a.piece()], ...to() }))
          assert.deepStrictEqual(a.statuses(), ["2 success"])
          assert.deepStrictEqual(b.statuses(), [isRxe ? "1 locQpOpErr" : "1 locLenErr"])
          assert.strictEqual(yield* b.state, "err")
        }
      })))

    it.effect("an address handle of another domain is locQpOpErr on rxe", () =>
      run(Effect.gen(function*() {
        const { a, b } = yield* ends(device)
        const other = yield* side(device)
        const ah = yield* AddressHandle.make(other.domain, addressOf(device, "host-b"))
        b.postRecv({ wrId: 9n, sgList: [b.piece(0, 40)] })
        const ud = { ah: Resource.raw(ah), remoteQpn: b.pair.qpNum, remoteQkey: 0x1111 }
        a.postSend(request(1n, "send", { ud }))
        assert.deepStrictEqual(a.statuses(), [isRxe ? "1 locQpOpErr" : "1 success"])
      })))

    it.effect("each member of a group gets a copy, on every host, the sender too", () =>
      run(Effect.gen(function*() {
        const { a, b } = yield* ends(device)
        const c = yield* side(device, { qpType: "ud" }).pipe(Effect.provide(Fabric.host("host-b")))
        yield* toRts(c)
        const dgid = gid(isRxe ? "::ffff:239.1.2.3" : "ff12::1")
        const attached = ({ context: { verbs }, pair }: Side) => {
          const group = [Resource.raw(pair), dgid, Lid.Lid.make(isRxe ? 0 : 0xc001)] as const
          return Effect.acquireRelease(verbs.attachMcast(...group), () => Effect.orDie(verbs.detachMcast(...group)))
        }
        yield* attached(a)
        yield* attached(b)
        const to = isRxe
          ? { portNum: 1, grh: { dgid, sgidIndex: 1 } }
          : { portNum: 1, dlid: 0xc001, grh: { dgid, sgidIndex: 0 } }
        const ah = yield* AddressHandle.make(a.domain, to)
        for (const each of [a, b, c]) each.postRecv({ wrId: 7n, sgList: [each.piece(0, 60)] })
        const ud = { ah: Resource.raw(ah), remoteQpn: 0xffffff, remoteQkey: 0x1111 }
        yield* Effect.scoped(attached(c))
        a.postSend(request(1n, "send", { sgList: [a.piece(100, 8)], ud }))
        assert.deepStrictEqual(a.statuses(), ["7 success", "1 success"])
        const [received] = b.poll()
        assert(received?.status === "success")
        assert.isTrue(received.hasGrh)
        assert.deepStrictEqual(c.poll(), [])
      })))

    it.effect("a datagram to itself arrives", () =>
      run(Effect.gen(function*() {
        const { a } = yield* ends(device)
        const ah = yield* AddressHandle.make(a.domain, addressOf(device, "host-a"))
        a.postRecv({ wrId: 1n, sgList: [a.piece(0, 60)] })
        const ud = { ah: Resource.raw(ah), remoteQpn: a.pair.qpNum, remoteQkey: 0x1111 }
        a.postSend(request(2n, "send", { ud }))
        assert.deepStrictEqual(a.statuses(), ["1 success", "2 success"])
      })))
  })

  describe(`unreliable connections of ${device}`, () => {
    const types = { a: { qpType: "uc" }, b: { qpType: "uc" } } as const

    it.effect("what cannot be received is dropped, and what comes later arrives", () =>
      run(Effect.gen(function*() {
        const { a, b } = yield* connected(device, types)
        a.postSend(
          request(1n, "send"),
          request(2n, "rdmaWrite", { sgList: [a.piece()], remote: { ...b.remote(), rkey: 0x12_3400 } })
        )
        b.postRecv({ wrId: 9n, sgList: [b.piece()] })
        a.postSend(request(3n, "send", { sgList: [a.piece()] }))
        assert.deepStrictEqual(a.statuses(), ["1 success", "2 success", "3 success"])
        assert.deepStrictEqual(b.statuses(), ["9 success"])
        assert.deepStrictEqual([yield* a.state, yield* b.state], ["rts", "rts"])
      })))

    it.effect("a peer without a link is not missed", () =>
      run(Effect.gen(function*() {
        const { a } = yield* connected(device, types)
        const fabric = yield* Fabric.Fabric
        yield* fabric.setLink("host-b", device, 1, "down")
        a.postSend(request(1n, "send"))
        assert.deepStrictEqual(a.statuses(), ["1 success"])
      })))

    it.effect("a receive that is too small: rxe breaks the queue pair, mlx5 drops the message", () =>
      run(Effect.gen(function*() {
        const { a, b } = yield* connected(device, types)
        b.postRecv({ wrId: 8n, sgList: [b.piece(0, 4)] }, { wrId: 9n, sgList: [] })
        a.postSend(request(1n, "send", { sgList: [a.piece()] }))
        assert.deepStrictEqual(a.statuses(), ["1 success"])
        assert.deepStrictEqual(b.statuses(), isRxe ? ["8 locQpOpErr", "9 wrFlushErr"] : [])
        a.postSend(request(2n, "send", { sgList: [a.piece(0, 4)] }))
        assert.deepStrictEqual(b.statuses(), isRxe ? [] : ["8 success"])
      })))
  })
}
