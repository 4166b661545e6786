/** What a program does with a queue pair: awaited requests, streams of completions, batches. */
import { Fabric } from "@effect-rdma/testkit"
import {
  AddressHandle,
  AsyncEvents,
  CompletionChannel,
  CompletionQueue,
  DeviceContext,
  MemoryRegion,
  MemoryWindow,
  ProtectionDomain,
  QueuePair,
  ReceivedDatagram,
  RemoteKey,
  ResourceDomain,
  SendBatch,
  SharedReceiveQueue,
  WorkCompletion
} from "@effect-rdma/verbs"
import { Effect, Stream } from "effect"
import { type Side, side, sides } from "../seeded/world.ts"
import { type Explored, together } from "./program.ts"

const onHostB = Effect.provide(Fabric.host("host-b"))

const remoteAccess = ["remoteRead", "remoteWrite", "remoteAtomic"] as const

/** Memory that the other side may use as it likes, and its name there. */
const shared = Effect.fnUntraced(function*({ domain }: Side) {
  const region = yield* MemoryRegion.alloc(domain, { length: 64, access: ["localWrite", "mwBind", ...remoteAccess] })
  return { region, remote: { remoteAddr: region.address, rkey: region.rkey } }
})

/** What sends a batch, to what receives it. */
const batching = Effect.gen(function*() {
  const context = yield* DeviceContext.openByName("rxe0")
  const domain = yield* ProtectionDomain.alloc(context)
  const channel = yield* CompletionChannel.make(context)
  const queue = yield* CompletionQueue.make(context, { cqe: 8, channel })
  const region = yield* MemoryRegion.alloc(domain, { length: 64, access: ["localWrite"] })
  const pair = yield* QueuePair.makeExtended(domain, {
    qpType: "rc",
    sendCq: queue,
    recvCq: queue,
    cap: { maxSendWr: 4, maxRecvWr: 4 },
    sendOpsFlags: ["send"]
  })
  return { domain, queue, region, pair, local: yield* QueuePair.endpoint(pair, { portNum: 1, gidIndex: 1 }) }
})

const datagrams = Effect.gen(function*() {
  const context = yield* DeviceContext.openByName("rxe0")
  const domain = yield* ProtectionDomain.alloc(context)
  const channel = yield* CompletionChannel.make(context)
  const queue = yield* CompletionQueue.make(context, { cqe: 8, channel })
  const region = yield* MemoryRegion.alloc(domain, { length: 128, access: ["localWrite"] })
  const pair = yield* QueuePair.make(domain, { qpType: "ud", sendCq: queue, recvCq: queue })
  yield* QueuePair.toInit(pair, { portNum: 1, qkey: 7 })
  yield* QueuePair.toRtr(pair, {})
  yield* QueuePair.toRts(pair, { sqPsn: 0 })
  return { domain, pair, queue, region }
})

export const verbs: Readonly<Record<string, Explored>> = {
  "messages, writes, reads and atomic operations are awaited": {
    program: Effect.gen(function*() {
      const { a, b } = yield* sides()
      const { remote } = yield* shared(b)
      const { pair, sgList } = a
      yield* Effect.all(
        [QueuePair.recv(b.pair, { sgList: b.sgList }), QueuePair.send(pair, { sgList, immData: 1 })],
        together
      )
      yield* QueuePair.rdmaWrite(pair, { sgList, remote })
      yield* QueuePair.rdmaRead(pair, { sgList, remote })
      const word = [{ region: a.region, length: 8 }]
      yield* QueuePair.atomicFetchAndAdd(pair, { sgList: word, remote, add: 1n })
      yield* QueuePair.atomicCmpAndSwp(pair, { sgList: word, remote, compare: 1n, swap: 2n })
    })
  },
  "a window is bound, used and invalidated": {
    program: Effect.gen(function*() {
      const { a, b } = yield* sides()
      const { region, remote } = yield* shared(b)
      const window = yield* MemoryWindow.alloc(b.domain, 2)
      const rkey = RemoteKey.increment(window.rkey)
      yield* QueuePair.bindMw(b.pair, { bind: { window, region, rkey, access: remoteAccess } })
      yield* QueuePair.rdmaWrite(a.pair, { sgList: a.sgList, remote: { ...remote, rkey: window.rkey } })
      yield* QueuePair.localInv(b.pair, { invalidateRkey: window.rkey })
    })
  },
  "more is sent than there is room for, by those who wait for a place": {
    program: Effect.gen(function*() {
      const { a, b } = yield* sides()
      const each = [1, 2, 3, 4, 5, 6]
      yield* Effect.all([
        Effect.forEach(each, () => QueuePair.recv(b.pair, { sgList: b.sgList }), together),
        Effect.forEach(each, () => QueuePair.send(a.pair, { sgList: a.sgList }), together)
      ], together)
    })
  },
  "completions are a stream": {
    program: Effect.gen(function*() {
      const { a, b } = yield* sides()
      yield* QueuePair.postRecv(b.pair, [1n, 2n, 3n].map((wrId) => ({ wrId, sgList: b.sgList })))
      const received = Stream.runCollect(Stream.take(CompletionQueue.stream(b.queue), 3))
      const sent = Effect.forEach([1, 2, 3], () => QueuePair.send(a.pair, { sgList: a.sgList }))
      yield* Effect.all([received, sent], together)
    })
  },
  "a batch of sends": {
    program: Effect.gen(function*() {
      const a = yield* batching
      const b = yield* onHostB(batching)
      yield* QueuePair.connect(b.pair, b.local, a.local, {
        receives: QueuePair.postRecv(b.pair, [{ sgList: [b] }, { sgList: [b] }])
      })
      yield* QueuePair.connect(a.pair, a.local, b.local)
      yield* SendBatch.post(a.pair, (batch) => {
        for (const wrId of [1n, 2n]) {
          batch.send({ wrId, flags: ["signaled"] })
          batch.setSge({ addr: a.region.address, length: 64, lkey: a.region.lkey })
        }
      })
      yield* Stream.runDrain(Stream.take(CompletionQueue.stream(a.queue), 2))
      yield* Stream.runDrain(Stream.take(CompletionQueue.stream(b.queue), 2))
    })
  },
  "a datagram and where it came from": {
    program: Effect.gen(function*() {
      const a = yield* datagrams
      const b = yield* onHostB(datagrams)
      yield* QueuePair.postRecv(b.pair, [{ sgList: [b] }])
      const ah = yield* AddressHandle.make(a.domain, { portNum: 1, grh: { dgid: "::ffff:10.0.0.2", sgidIndex: 1 } })
      const to = { ah, remoteQpn: b.pair.qpNum, remoteQkey: 7 }
      yield* QueuePair.send(a.pair, { to, sgList: [{ region: a.region, length: 8 }] })
      const [completion] = yield* CompletionQueue.next(b.queue, 1)
      const { dlidPathBits, sl, slid } = yield* WorkCompletion.orFail(completion, "recv", b.pair)
      const grh = b.region.bytes.subarray(0, ReceivedDatagram.routingHeaderBytes)
      yield* AddressHandle.fromReceived(b.domain, 1, { slid, sl, dlidPathBits, grh })
    })
  },
  "a shared receive queue serves two queue pairs": {
    program: Effect.gen(function*() {
      const { domain, queue, sgList } = yield* side()
      const srq = yield* SharedReceiveQueue.make(domain, { maxWr: 4 })
      const end = Effect.gen(function*() {
        const pair = yield* QueuePair.make(domain, { qpType: "rc", sendCq: queue, recvCq: queue, srq })
        return { pair, local: yield* QueuePair.endpoint(pair, { portNum: 1, gidIndex: 1 }) }
      })
      const [one, other] = [yield* end, yield* end]
      yield* SharedReceiveQueue.postRecv(srq, [{ sgList }, { sgList }])
      yield* QueuePair.connect(one.pair, one.local, other.local)
      yield* QueuePair.connect(other.pair, other.local, one.local)
      yield* Effect.all([QueuePair.send(one.pair, { sgList }), QueuePair.send(other.pair, { sgList })], together)
      yield* Stream.runDrain(Stream.take(CompletionQueue.stream(queue), 2))
    })
  },
  "an event of the device is waited for in vain": {
    program: Effect.gen(function*() {
      const context = yield* DeviceContext.openByName("rxe0")
      yield* Effect.timeoutOption(Stream.runHead(AsyncEvents.stream(context)), "1 second")
    })
  },
  "a resource domain is made of what the device has": {
    program: Effect.gen(function*() {
      const context = yield* DeviceContext.openByName("mlx5_0")
      const resources = yield* ResourceDomain.make(context, { threadModel: "single" })
      const domain = yield* ResourceDomain.domainFor(resources, yield* ProtectionDomain.alloc(context))
      yield* MemoryRegion.alloc(domain, { length: 64 })
    }),
    // Without the domains a shared one is made, which tells why.
    mayFail: ["ibv_alloc_td", "ibv_alloc_parent_domain"]
  }
}
