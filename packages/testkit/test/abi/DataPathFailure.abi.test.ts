/**
 * Posts that fail on the echo provider: what the provider refuses, in whole or in part, and what does not reach it.
 */
import * as Resource from "@effect-rdma/core/Resource"
import * as Lane from "@effect-rdma/testkit/conformance/Lane"
import * as AddressHandle from "@effect-rdma/verbs/AddressHandle"
import * as MemoryRegion from "@effect-rdma/verbs/MemoryRegion"
import * as MemoryWindow from "@effect-rdma/verbs/MemoryWindow"
import * as QueuePair from "@effect-rdma/verbs/QueuePair"
import type * as QueuePairType from "@effect-rdma/verbs/QueuePairType"
import * as SharedReceiveQueue from "@effect-rdma/verbs/SharedReceiveQueue"
import type { VerbsError } from "@effect-rdma/verbs/VerbsError"
import type * as WorkRequest from "@effect-rdma/verbs/WorkRequest"
import * as XrcDomain from "@effect-rdma/verbs/XrcDomain"
import { assert, describe } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Compiler from "./Compiler.ts"
import { names, open, ready, requestsOf } from "./dataPathWorld.ts"
import * as Echo from "./Echo.ts"

const sends = (...wrIds: ReadonlyArray<bigint>) => wrIds.map((wrId) => ({ opcode: "send", wrId }) as const)
const receives = (...wrIds: ReadonlyArray<bigint>) => wrIds.map((wrId) => ({ wrId, sgList: [] }))
const piece = { addr: 1n, length: 2, lkey: 3 }
const remote = { rkey: 1, remoteAddr: 0n }

describe.skipIf(Compiler.missing !== undefined)("failed posts of libibverbs", () => {
  const lane = Echo.lane()
  const test = Lane.test(lane)
  const { echo } = lane

  /** The three queues of a device with room for five requests each, and how they are posted to. */
  const queues = Effect.fnUntraced(function*() {
    const world = yield* open()
    const self = yield* ready(world, "rc", { maxSendWr: 4, maxRecvWr: 3 })
    const shared = yield* SharedReceiveQueue.make(world.domain, { maxWr: 5 })
    const posts: ReadonlyArray<{
      readonly call: string
      readonly operation: string
      readonly each: "send_wr" | "recv_wr"
      readonly post: (...wrIds: ReadonlyArray<bigint>) => Effect.Effect<void, VerbsError>
      readonly capacity: number
    }> = [
      {
        call: "ibv_post_send",
        operation: "post_send",
        each: "send_wr",
        post: (...wrIds) => QueuePair.postSend(self, sends(...wrIds)),
        capacity: 5
      },
      {
        call: "ibv_post_recv",
        operation: "post_recv",
        each: "recv_wr",
        post: (...wrIds) => QueuePair.postRecv(self, receives(...wrIds)),
        capacity: 5
      },
      {
        call: "ibv_post_srq_recv",
        operation: "post_srq_recv",
        each: "recv_wr",
        post: (...wrIds) => SharedReceiveQueue.postRecv(shared, receives(...wrIds)),
        capacity: shared.maxWr
      }
    ]
    return { ...world, posts }
  })

  // ---------------------------------------------------------------------------
  // What the provider refuses
  // ---------------------------------------------------------------------------

  test("the first that is refused ends a post: those before it complete, the others give their room back", () =>
    Effect.gen(function*() {
      const { posts, queue } = yield* queues()
      for (const { call, capacity, each, post } of posts) {
        const rest = Array.from({ length: capacity - 2 }, (_, index) => BigInt(index) + 10n)
        echo().script(each, { result: 12, errno: 1, after: 2 })
        echo().calls()
        const error = yield* Effect.flip(post(1n, 2n, 3n, 4n))
        assert.deepInclude<object>(error, { call, input: { posted: 2, of: 4 } })
        assert.deepInclude(error.reason, { _tag: "ENOMEM" })
        const refused = requestsOf(echo().calls())
        assert.strictEqual(refused.length, 3)
        // Exactly the room of the two is taken.
        yield* post(...rest)
        const taken = requestsOf(echo().calls())
        const full = yield* Effect.flip(post(9n))
        assert.deepInclude(full.reason, { _tag: "ENOMEM" })
        assert.deepStrictEqual(echo().calls(), [])
        const completed = yield* Echo.completed(echo(), queue, [...refused.slice(0, 2), ...taken])
        assert.deepStrictEqual(completed.map(Echo.numberOf), [1n, 2n, ...rest])
        // And nothing is left of it.
        yield* post(...rest)
        yield* Echo.completed(echo(), queue, requestsOf(echo().calls()))
      }
    }))

  for (const [result, tag] of [[12, "ENOMEM"], [22, "EINVAL"], [14, "EFAULT"], [-22, "EINVAL"]] as const) {
    test(`a call that returns ${result} is ${tag}, and has posted nothing when it names no request`, () =>
      Effect.gen(function*() {
        const { posts } = yield* queues()
        for (const { call, operation, post } of posts) {
          echo().calls()
          // It is the returned number that counts.
          echo().script(operation, { result, errno: 1 })
          const error = yield* Effect.flip(post(1n, 2n))
          assert.deepInclude<object>(error, { call, input: { posted: 0, of: 2 } })
          assert.strictEqual(error.reason._tag, tag)
          yield* post(3n, 4n, 5n, 6n, 7n)
          assert.deepStrictEqual(names(echo().calls()).filter((name) => name === operation), [operation, operation])
        }
      }))
  }

  test("of binds only those that were posted change their window", () =>
    Effect.gen(function*() {
      const world = yield* open()
      const { domain, region } = world
      const self = yield* ready(world, "rc")
      const [first, second] = [yield* MemoryWindow.alloc(domain, 2), yield* MemoryWindow.alloc(domain, 2)]
      const { rkey } = second
      echo().script("send_wr", { result: 22, after: 1 })
      const bindOf = (window: MemoryWindow.MemoryWindow) =>
        ({ opcode: "bindMw", bind: { window, rkey: 7, region, access: [] } }) as const
      assert.deepInclude<object>(yield* Effect.flip(QueuePair.postSend(self, [bindOf(first), bindOf(second)])), {
        input: { posted: 1, of: 2 }
      })
      assert.deepStrictEqual([first.rkey, second.rkey], [7, rkey])
    }))

  // ---------------------------------------------------------------------------
  // What does not reach it
  // ---------------------------------------------------------------------------

  /** Fails with `EINVAL` and this hint, without a call, and takes no room. */
  const ensureRefused = Effect.fnUntraced(function*(
    hint: string,
    attempt: Effect.Effect<unknown, VerbsError>,
    { work }: QueuePair.QueuePair
  ) {
    const before = [work.sends.inFlight, work.receives.inFlight]
    echo().calls()
    const error = yield* Effect.flip(attempt).pipe(Effect.orElseSucceed(() => assert.fail(`was posted: ${hint}`)))
    assert.include(error.message, hint)
    assert.strictEqual(error.reason._tag, "EINVAL", hint)
    assert.deepStrictEqual(echo().calls(), [], hint)
    assert.deepStrictEqual([work.sends.inFlight, work.receives.inFlight], before)
  })

  test("numbers out of range, bytes out of their region, too much of anything", () =>
    Effect.gen(function*() {
      const world = yield* open()
      const { domain, region } = world
      const self = yield* ready(world, "rc")
      const window = yield* MemoryWindow.alloc(domain, 2)
      const plain = yield* MemoryRegion.alloc(domain, { length: 8 })
      const bind = { window, rkey: 1, region, access: [] }
      const tooMany = Array.from({ length: self.cap.maxSendSge + 1 }, () => piece)
      const cases: ReadonlyArray<readonly [hint: string, request: WorkRequest.SendRequest]> = [
        ...[-1, 1.5, 2 ** 32, Number.NaN, Number.POSITIVE_INFINITY].flatMap((wrong) =>
          [
            ["immData", { opcode: "sendWithImm", immData: wrong }],
            ["immData", { opcode: "rdmaWriteWithImm", remote, immData: wrong }],
            ["invalidateRkey", { opcode: "sendWithInv", invalidateRkey: wrong }],
            ["invalidateRkey", { opcode: "localInv", invalidateRkey: wrong }],
            ["rkey", { opcode: "rdmaWrite", remote: { ...remote, rkey: wrong } }],
            ["rkey", { opcode: "bindMw", bind: { ...bind, rkey: wrong } }],
            ["length", { opcode: "send", sgList: [{ ...piece, length: wrong }] }],
            ["lkey", { opcode: "send", sgList: [piece, { ...piece, lkey: wrong }] }],
            ["length", { opcode: "send", sgList: [{ region, length: wrong }] }]
          ] as const
        ),
        ...[-1n, 2n ** 64n].flatMap((wrong) =>
          [
            ["wrId", { opcode: "send", wrId: wrong }],
            ["remoteAddr", { opcode: "rdmaRead", remote: { ...remote, remoteAddr: wrong }, sgList: [] }],
            ["compare", { opcode: "atomicCmpAndSwp", remote, compare: wrong, swap: 0n, sgList: [] }],
            ["swap", { opcode: "atomicCmpAndSwp", remote, compare: 0n, swap: wrong, sgList: [] }],
            ["add", { opcode: "atomicFetchAndAdd", remote, add: wrong, sgList: [] }],
            ["addr", { opcode: "send", sgList: [{ ...piece, addr: wrong }] }]
          ] as const
        ),
        ...([[-1, 1], [0.5, 1], [101, 0], [60, 41], [0, 101], [Number.NaN, 1]] as const).flatMap(([offset, length]) =>
          [
            ["The region has 100 bytes", { opcode: "send", sgList: [{ region, offset, length }] }],
            ["The region has 100 bytes", { opcode: "bindMw", bind: { ...bind, offset, length } }]
          ] as const
        ),
        ["mwBind", { opcode: "bindMw", bind: { ...bind, region: plain } }],
        ["pieces", { opcode: "rdmaRead", remote, sgList: tooMany }],
        ["64 bytes of inline data", { opcode: "send", inlineData: new Uint8Array(65) }]
      ]
      for (const [hint, request] of cases) {
        // One alone stops all.
        yield* ensureRefused(hint, QueuePair.postSend(self, [...sends(1n), request, ...sends(2n)]), self)
      }
      yield* QueuePair.postSend(self, Array.from({ length: self.cap.maxSendWr }, () => ({ opcode: "send" as const })))
    }))

  test("requests that a type of queue pairs does not have, or that lack what it needs", () =>
    Effect.gen(function*() {
      const [world, other] = [yield* open(), yield* open()]
      const { domain, region } = world
      const ah = yield* AddressHandle.make(domain, { portNum: 1 })
      const elsewhere = yield* AddressHandle.make(other.domain, { portNum: 1 })
      const window = yield* MemoryWindow.alloc(domain, 2)
      const bind = { window, rkey: 1, region, access: [] }
      const to = { ah, remoteQpn: 1, remoteQkey: 1 }
      const tso = { opcode: "tso", header: new Uint8Array(1), mss: 1, sgList: [] } as const
      const remoteSrqn = 1
      const requests: { readonly [Opcode in WorkRequest.SendRequest["opcode"]]: WorkRequest.SendRequest } = {
        send: { opcode: "send", to, remoteSrqn },
        sendWithImm: { opcode: "sendWithImm", to, remoteSrqn, immData: 1 },
        sendWithInv: { opcode: "sendWithInv", to, remoteSrqn, invalidateRkey: 1 },
        rdmaWrite: { opcode: "rdmaWrite", to, remoteSrqn, remote },
        rdmaWriteWithImm: { opcode: "rdmaWriteWithImm", to, remoteSrqn, remote, immData: 1 },
        rdmaRead: { opcode: "rdmaRead", to, remoteSrqn, remote, sgList: [] },
        atomicCmpAndSwp: { opcode: "atomicCmpAndSwp", to, remoteSrqn, remote, compare: 0n, swap: 0n, sgList: [] },
        atomicFetchAndAdd: { opcode: "atomicFetchAndAdd", to, remoteSrqn, remote, add: 0n, sgList: [] },
        localInv: { opcode: "localInv", to, remoteSrqn, invalidateRkey: 1 },
        bindMw: { opcode: "bindMw", to, remoteSrqn, bind },
        tso: { ...tso, to, remoteSrqn }
      }
      const able: { readonly [Type in QueuePairType.QueuePairType]?: ReadonlyArray<string> } = {
        rc: Object.keys(requests).filter((opcode) => opcode !== "tso"),
        uc: ["send", "sendWithImm", "sendWithInv", "rdmaWrite", "rdmaWriteWithImm", "localInv", "bindMw"],
        ud: ["send", "sendWithImm", "tso"],
        rawPacket: ["send", "tso"],
        xrcSend: Object.keys(requests).filter((opcode) => opcode !== "tso")
      }
      const made = new Map<string, QueuePair.QueuePair>()
      for (const qpType of ["rc", "uc", "ud", "rawPacket", "xrcSend"] as const) {
        const self = yield* ready(world, qpType)
        made.set(qpType, self)
        for (const [opcode, request] of Object.entries(requests)) {
          const attempt = QueuePair.postSend(self, [request])
          if (able[qpType]?.includes(opcode) === true) yield* attempt
          else yield* ensureRefused("of this type has no such request", attempt, self)
        }
      }
      const cases: ReadonlyArray<readonly [QueuePairType.QueuePairType, hint: string, WorkRequest.SendRequest]> = [
        ["ud", "needs a receiver", { opcode: "send" }],
        ["ud", "remoteQpn", { opcode: "send", to: { ...to, remoteQpn: 2 ** 24 } }],
        ["ud", "remoteQkey", { opcode: "send", to: { ...to, remoteQkey: 2 ** 32 } }],
        ["ud", "device context", { opcode: "send", to: { ...to, ah: elsewhere } }],
        ["xrcSend", "remoteSrqn", { opcode: "send" }],
        ["xrcSend", "remoteSrqn", { opcode: "send", remoteSrqn: 2 ** 32 }],
        ["rawPacket", "mss", { ...tso, mss: 0x1_0000 }],
        ["rawPacket", "header.length", { ...tso, header: new Uint8Array(0x1_0000) }],
        ["rc", "device context", { opcode: "send", sgList: [{ region: other.region }] }],
        ["rc", "device context", { opcode: "bindMw", bind: { ...bind, region: other.region } }],
        [
          "rc",
          "device context",
          { opcode: "bindMw", bind: { ...bind, window: yield* MemoryWindow.alloc(other.domain, 2) } }
        ],
        ["rc", "type 1", { opcode: "bindMw", bind: { ...bind, window: yield* MemoryWindow.alloc(domain, 1) } }]
      ]
      for (const [qpType, hint, request] of cases) {
        const self = made.get(qpType) ?? assert.fail(qpType)
        yield* ensureRefused(hint, QueuePair.postSend(self, [request]), self)
      }
    }))

  test("receives with what is wrong in sends, and where there are none", () =>
    Effect.gen(function*() {
      const [world, other] = [yield* open(), yield* open()]
      const { context, domain, queue, region } = world
      const self = yield* ready(world, "ud")
      const shared = yield* SharedReceiveQueue.make(domain, { maxWr: 8 })
      for (
        const [post, maxSge] of [
          [
            (requests: ReadonlyArray<WorkRequest.ReceiveRequest>) => QueuePair.postRecv(self, requests),
            self.cap.maxRecvSge
          ],
          [
            (requests: ReadonlyArray<WorkRequest.ReceiveRequest>) => SharedReceiveQueue.postRecv(shared, requests),
            shared.maxSge
          ]
        ] as const
      ) {
        const cases: ReadonlyArray<readonly [hint: string, request: WorkRequest.ReceiveRequest]> = [
          ["wrId", { wrId: 2n ** 64n, sgList: [] }],
          ["addr", { sgList: [{ ...piece, addr: -1n }] }],
          ["length", { sgList: [{ ...piece, length: 2 ** 32 }] }],
          ["lkey", { sgList: [{ ...piece, lkey: 0.5 }] }],
          ["The region has 100 bytes", { sgList: [{ region, offset: 1, length: 100 }] }],
          ["device context", { sgList: [{ region: other.region }] }],
          ["pieces", { sgList: Array.from({ length: maxSge + 1 }, () => piece) }]
        ]
        for (const [hint, request] of cases) {
          yield* ensureRefused(hint, post([...receives(1n), request]), self)
          assert.strictEqual(shared.receives.inFlight, 0)
        }
        yield* post([{ sgList: Array.from({ length: maxSge }, () => piece) }])
        yield* Echo.completed(echo(), queue, [echo().last()])
      }
      const onShared = yield* QueuePair.make(domain, { qpType: "rc", sendCq: queue, recvCq: queue, srq: shared })
      yield* QueuePair.modify(onShared, { qpState: "rts" })
      yield* ensureRefused("shared queue", QueuePair.postRecv(onShared, receives(1n)), onShared)
      const opened = yield* QueuePair.open(yield* XrcDomain.open(context), 1)
      yield* ensureRefused("no receive queue", QueuePair.postRecv(opened, receives(1n)), opened)
      yield* ensureRefused("no send queue", QueuePair.postSend(opened, sends(1n)), opened)
    }))

  test("a queue pair takes receives from INIT on and sends from RTS on, also while it fails", () =>
    Effect.gen(function*() {
      const world = yield* open()
      const self = yield* ready(world, "rc")
      yield* QueuePair.toReset(self)
      const [send, receive] = [QueuePair.postSend(self, sends(1n)), QueuePair.postRecv(self, receives(1n))]
      yield* ensureRefused("from INIT on", receive, self)
      yield* ensureRefused("from RTS on", send, self)
      for (const qpState of ["init", "rtr"] as const) {
        yield* QueuePair.modify(self, { qpState })
        yield* receive
        yield* ensureRefused("from RTS on", send, self)
      }
      for (const qpState of ["rts", "sqd", "sqe", "err"] as const) {
        yield* QueuePair.modify(self, { qpState })
        yield* receive
        yield* send
      }
    }))

  test("what is released is not posted to, nor posted", () =>
    Effect.gen(function*() {
      const world = yield* open()
      const { domain, region } = world
      const self = yield* ready(world, "rc")
      const datagrams = yield* ready(world, "ud")
      const window = yield* MemoryWindow.alloc(domain, 2)
      const [deadRegion, deadWindow, deadAh, deadShared, deadSelf] = [
        yield* Effect.scoped(MemoryRegion.alloc(domain, { length: 8, access: ["mwBind"] })),
        yield* Effect.scoped(MemoryWindow.alloc(domain, 2)),
        yield* Effect.scoped(AddressHandle.make(domain, { portNum: 1 })),
        yield* Effect.scoped(SharedReceiveQueue.make(domain, { maxWr: 1 })),
        yield* Effect.scoped(ready(world, "rc"))
      ]
      const bind = { window, rkey: 1, region, access: [] }
      echo().calls()
      for (
        const attempt of [
          QueuePair.postSend(self, [...sends(1n), { opcode: "send", sgList: [{ region: deadRegion }] }]),
          QueuePair.postSend(self, [{ opcode: "bindMw", bind: { ...bind, region: deadRegion } }]),
          QueuePair.postSend(self, [{ opcode: "bindMw", bind: { ...bind, window: deadWindow } }]),
          QueuePair.postSend(datagrams, [{ opcode: "send", to: { ah: deadAh, remoteQpn: 1, remoteQkey: 1 } }]),
          QueuePair.postSend(deadSelf, sends(1n)),
          QueuePair.postSend(deadSelf, []),
          QueuePair.postRecv(self, [...receives(1n), { sgList: [{ region: deadRegion }] }]),
          QueuePair.postRecv(deadSelf, receives(1n)),
          SharedReceiveQueue.postRecv(deadShared, receives(1n))
        ]
      ) {
        const exit = yield* Effect.exit(attempt)
        assert.instanceOf(Exit.isFailure(exit) ? Cause.squash(exit.cause) : undefined, Resource.UseAfterRelease)
      }
      assert.deepStrictEqual(echo().calls(), [])
      assert.strictEqual(self.work.sends.inFlight + self.work.receives.inFlight, 0)
    }))
})
