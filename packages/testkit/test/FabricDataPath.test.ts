/** Messages between two hosts of the fabric: what moves, and what is told of it. */
import { QueuePair } from "@effect-rdma/verbs"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { connected, devices, request, run, text, textAt } from "./dataPath.ts"

for (const device of devices) {
  describe(`the data path of ${device}`, () => {
    it.effect("a message arrives in the first receive, and both sides are told", () =>
      run(Effect.gen(function*() {
        const { a, b } = yield* connected(device)
        a.region.bytes.set(text("hello, b"), 100)
        assert.deepStrictEqual(b.postRecv({ wrId: 1n, sgList: [b.piece(0, 4), b.piece(16, 100)] }), {
          count: 1,
          error: undefined
        })
        a.postSend(request(2n, "sendWithImm", { sgList: [a.piece(100, 5), a.piece(105, 3)], immData: 0xdead_beef }))
        assert.strictEqual(textAt(b, 0, 4) + textAt(b, 16, 4), "hello, b")
        const [received] = b.poll()
        assert.deepStrictEqual(received, {
          wrId: 1n,
          status: "success",
          vendorErr: 0,
          qpNum: b.pair.qpNum,
          opcode: "recv",
          byteLen: 8,
          immData: 0xdead_beef,
          invalidatedRkey: undefined,
          srcQp: 0,
          hasGrh: device === "rxe0",
          pkeyIndex: 0,
          slid: 0,
          sl: 0,
          dlidPathBits: 0
        })
        const [sent] = a.poll()
        assert(sent?.status === "success")
        assert.strictEqual(sent.opcode, "send")
        assert.strictEqual(sent.wrId, 2n)
        assert.deepStrictEqual([a.poll(), b.poll()], [[], []])
      })))

    it.effect("writes and reads move bytes without a receive", () =>
      run(Effect.gen(function*() {
        const { a, b } = yield* connected(device)
        a.region.bytes.set(text("written"), 0)
        b.region.bytes.set(text("to be read"), 500)
        a.postSend(
          request(1n, "rdmaWrite", { sgList: [a.piece(0, 7)], remote: b.remote(200), flags: [] }),
          request(2n, "rdmaRead", { sgList: [a.piece(50, 4), a.piece(60, 6)], remote: b.remote(500) })
        )
        assert.strictEqual(textAt(b, 200, 7), "written")
        assert.strictEqual(textAt(a, 50, 4) + textAt(a, 60, 6), "to be read")
        const [read, ...more] = a.poll()
        assert(read?.status === "success")
        assert.deepStrictEqual([read.wrId, read.opcode, read.byteLen, more], [2n, "rdmaRead", 10, []])
        assert.deepStrictEqual(b.poll(), [])
      })))

    it.effect("ERR flushes what was posted, and all that is posted later: wrFlushErr", () =>
      run(Effect.gen(function*() {
        const { a } = yield* connected(device)
        a.postRecv({ wrId: 1n, sgList: [a.piece()] }, { wrId: 2n, sgList: [a.piece()] })
        yield* QueuePair.toErr(a.pair)
        assert.deepStrictEqual(a.statuses(), ["1 wrFlushErr", "2 wrFlushErr"])
        a.postSend(request(3n, "send", { flags: [] }), request(4n, "send"))
        assert.deepStrictEqual(a.statuses(), ["3 wrFlushErr", "4 wrFlushErr"])
      })))
  })
}
