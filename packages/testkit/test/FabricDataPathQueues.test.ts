/** Shared receives, completion queues that are full, their events, and both ways to poll. */
import { Resource } from "@effect-rdma/core"
import { Fabric } from "@effect-rdma/testkit"
import {
  CompletionChannel,
  CompletionCounter,
  CompletionQueue,
  DeviceContext,
  ProtectionDomain,
  QueuePair,
  SharedReceiveQueue,
  XrcDomain
} from "@effect-rdma/verbs"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { connected, devices, outcome, request, run, side, toRtr, toRts } from "./dataPath.ts"
import { assertRefused } from "./observe.ts"

for (const device of devices) {
  const isRxe = device === "rxe0"
  describe(`queues of ${device}`, () => {
    it.effect("a shared receive serves whoever is first, and the limit is told once", () =>
      run(Effect.gen(function*() {
        const { a, b } = yield* connected(device, { b: { sharedReceives: 4 } })
        const srq = b.srq
        assert(srq !== undefined)
        const post = (...wrIds: ReadonlyArray<bigint>) =>
          b.dataPath.postSrqRecv(Resource.raw(srq), wrIds.map((wrId) => ({ wrId, sgList: [] })))
        assert.strictEqual(outcome(post(1n, 2n, 3n)), "3")
        assert.strictEqual(outcome(b.postRecv({ wrId: 9n, sgList: [] })), isRxe ? "0 EINVAL" : "0 ENOMEM")
        yield* SharedReceiveQueue.modify(srq, { srqLimit: 2 })
        a.postSend(request(1n, "send"))
        assert.deepStrictEqual(yield* b.events, [])
        a.postSend(request(2n, "send"))
        assert.deepStrictEqual(yield* b.events, ["srqLimitReached"])
        assert.strictEqual((yield* SharedReceiveQueue.query(srq)).srqLimit, 0)
        a.postSend(request(3n, "send"))
        assert.deepStrictEqual(yield* b.events, [])
        assert.deepStrictEqual(b.statuses(), ["1 success", "2 success", "3 success"])
        const five = post(1n, 2n, 3n, 4n, 5n, 6n, 7n, 8n)
        assert.strictEqual(outcome(five), "7 ENOMEM")
      })))

    it.effect("a queue that is full loses completions: cqErr", () =>
      run(Effect.gen(function*() {
        const { a, b } = yield* connected(device, { a: { cqe: 3 } })
        for (let index = 0n; index < 5n; index++) {
          a.postSend(request(index, "rdmaWrite", { sgList: [a.piece()], remote: b.remote() }))
        }
        // rxe tells of each that was lost, and goes on.
        assert.deepStrictEqual(yield* a.events, isRxe ? ["cqErr", "cqErr"] : ["cqErr", "qpFatal"])
        assert.deepStrictEqual(a.statuses(), ["0 success", "1 success", "2 success"])
        assert.strictEqual(yield* a.state, isRxe ? "rts" : "err")
        a.postSend(request(9n, "rdmaWrite", { sgList: [a.piece()], remote: b.remote() }))
        assert.deepStrictEqual(a.statuses(), isRxe ? ["9 success"] : [])
      })))

    it.effect("an event comes with the next completion, or with the next one that the sender asks for", () =>
      run(Effect.gen(function*() {
        const { a } = yield* connected(device)
        const context = a.context
        const channel = yield* CompletionChannel.make(context)
        const queue = yield* CompletionQueue.make(context, { cqe: 8, channel })
        const pair = yield* QueuePair.make(a.domain, { qpType: "rc", sendCq: a.queue, recvCq: queue })
        const self = { ...a, pair, queue }
        yield* toRtr(self, { host: "host-a", qpNum: pair.qpNum })
        yield* toRts(self)
        const receive = { wrId: 1n, sgList: [] }
        a.dataPath.postRecv(Resource.raw(pair), [receive, receive, receive])
        const send = (flags: ReadonlyArray<"solicited">) =>
          a.dataPath.postSend(Resource.raw(pair), [request(2n, "send", { flags })])
        const noEvent = assertRefused(context.verbs.getCqEvent(Resource.raw(channel)), "ibv_get_cq_event", "EAGAIN")
        yield* CompletionQueue.requestNotification(queue, { solicitedOnly: true })
        send([])
        yield* noEvent
        send(["solicited"])
        assert.strictEqual(yield* CompletionChannel.next(channel), queue)
        send(["solicited"])
        yield* noEvent
      })))

    it.effect("both ways of polling read one store", () =>
      run(Effect.gen(function*() {
        const { a } = yield* connected(device)
        const queue = yield* CompletionQueue.makeExtended(a.context, { cqe: 8, wcFlags: ["byteLen", "imm", "qpNum"] })
        const pair = yield* QueuePair.make(a.domain, { qpType: "rc", sendCq: queue, recvCq: queue })
        const self = { ...a, pair }
        yield* toRtr(self, { host: "host-a", qpNum: pair.qpNum })
        yield* toRts(self)
        const sgList = [a.piece()]
        a.dataPath.postRecv(Resource.raw(pair), [{ wrId: 1n, sgList }])
        a.dataPath.postSend(Resource.raw(pair), [request(2n, "sendWithImm", { sgList, immData: 7 })])
        const seen: Array<unknown> = []
        yield* CompletionQueue.pollExtended(queue, (completion) => {
          seen.push(completion)
          return false
        })
        const wcFlags = isRxe ? 3 : 2
        const success = { status: "success", vendorErr: 0, qpNum: pair.qpNum }
        assert.deepStrictEqual(seen, [{ wrId: 1n, ...success, opcode: "recv", wcFlags, byteLen: 8, immData: 7 }])
        const { completions } = a.dataPath.pollCq(Resource.raw(queue), 8)
        assert.deepStrictEqual(completions.map(({ wrId }) => wrId), [2n])
      })))

    it.effect("a completion that a test puts in is polled as any other", () =>
      run(Effect.gen(function*() {
        const { a } = yield* connected(device)
        const fabric = yield* Fabric.Fabric
        const put = (wrId: bigint, status: "success" | "locLenErr") =>
          fabric.complete("host-a", Resource.raw(a.queue), { wrId, status, vendorErr: 3, qpNum: 5, byteLen: 6 })
        yield* put(1n, "success")
        yield* put(2n, "locLenErr")
        const [first, second] = a.poll()
        assert(first?.status === "success")
        assert.deepStrictEqual([first.wrId, first.vendorErr, first.byteLen, first.opcode], [1n, 3, 6, "recv"])
        assert.deepStrictEqual(second, { wrId: 2n, status: "locLenErr", vendorErr: 3, qpNum: 5 })
      })))

    it.effect("messages from a pair to itself, a thousand at once, and a chain of them", () =>
      run(Effect.gen(function*() {
        const a = yield* side(device, { cap: { maxSendWr: 1023, maxRecvWr: 1023 }, cqe: 4095 })
        yield* toRtr(a, { host: "host-a", qpNum: a.pair.qpNum })
        yield* toRts(a, { rnrRetry: 7 })
        const count = 1000
        a.postSend(...Array.from({ length: count }, (_, index) => request(BigInt(index), "send")))
        a.postRecv(...Array.from({ length: count }, (_, index) => ({ wrId: BigInt(index), sgList: [] })))
        yield* TestClock.adjust(1)
        const { length } = a.poll(4095)
        assert.strictEqual(length, 2 * count)
      })))
  })
}

describe("completion counters of mlx5", () => {
  it.effect("they count what they were attached to, and failures apart", () =>
    run(Effect.gen(function*() {
      const { a, b } = yield* connected("mlx5_0", { pathA: { rnrRetry: 0 } })
      const context = a.context
      const counter = yield* CompletionCounter.make(context)
      yield* CompletionCounter.attach(counter, a.pair, ["send", "rdmaWrite"])
      b.postRecv({ wrId: 1n, sgList: [] })
      const remote = b.remote()
      a.postSend(
        request(1n, "send", { flags: [] }),
        request(2n, "rdmaWrite", { flags: [], remote }),
        request(3n, "rdmaRead", { flags: [], remote }),
        request(4n, "send", { flags: [] })
      )
      assert.strictEqual(yield* CompletionCounter.read(counter), 2n)
      assert.strictEqual(yield* CompletionCounter.readErr(counter), 1n)
    })))
})

describe("XRC of mlx5", () => {
  it.effect("a message goes to the shared queue that its sender names, and completes there", () =>
    run(Effect.gen(function*() {
      const a = yield* side("mlx5_0")
      const sender = yield* QueuePair.makeExtended(a.domain, { qpType: "xrcSend", sendCq: a.queue, cap: {} })
      const there = yield* Effect.gen(function*() {
        const context = yield* DeviceContext.openByName("mlx5_0")
        const domain = yield* ProtectionDomain.alloc(context)
        const xrcDomain = yield* XrcDomain.open(context)
        const queue = yield* CompletionQueue.make(context, { cqe: 8 })
        const srqOptions = { srqType: "xrc", maxWr: 4, xrcDomain, completionQueue: queue } as const
        const srq = yield* SharedReceiveQueue.makeExtended(domain, srqOptions)
        const pair = yield* QueuePair.makeExtended(xrcDomain, { qpType: "xrcRecv", cap: {} })
        return { context, queue, srq, pair, dataPath: yield* context.verbs.dataPath }
      }).pipe(Effect.provide(Fabric.host("host-b")))
      const connect = Effect.fnUntraced(function*(self: QueuePair.QueuePair, host: number, destQpNum: number) {
        yield* QueuePair.modify(self, { qpState: "init", portNum: 1, pkeyIndex: 0, qpAccessFlags: [] })
        const path = { ahAttr: { portNum: 1, dlid: host }, pathMtu: 1024, destQpNum, rqPsn: 0 } as const
        const responder = self.qpType === "xrcRecv" ? { maxDestRdAtomic: 1, minRnrTimer: 1 } : {}
        yield* QueuePair.modify(self, { qpState: "rtr", ...path, ...responder })
      })
      yield* connect(sender, 2, there.pair.qpNum)
      yield* connect(there.pair, 1, sender.qpNum)
      const requester = { timeout: 1, retryCnt: 1, rnrRetry: 1, sqPsn: 0, maxRdAtomic: 1 }
      yield* QueuePair.modify(sender, { qpState: "rts", ...requester })
      there.dataPath.postSrqRecv(Resource.raw(there.srq), [{ wrId: 5n, sgList: [] }])
      const remoteSrqn = yield* there.context.verbs.getSrqNum(Resource.raw(there.srq))
      a.dataPath.postSend(Resource.raw(sender), [request(1n, "send", { remoteSrqn, inlineData: new Uint8Array(0) })])
      const { completions } = there.dataPath.pollCq(Resource.raw(there.queue), 8)
      assert.deepStrictEqual(completions.map(({ status, wrId }) => [wrId, status]), [[5n, "success"]])
      assert.deepStrictEqual(a.statuses(), ["1 success"])
    })))
})
