/**
 * Posts on the echo provider: every field of requests as the C compiler reads it.
 */
import * as Resource from "@effect-rdma/core/Resource"
import * as Lane from "@effect-rdma/testkit/conformance/Lane"
import * as AddressHandle from "@effect-rdma/verbs/AddressHandle"
import type * as CompletionQueue from "@effect-rdma/verbs/CompletionQueue"
import type * as MemoryRegion from "@effect-rdma/verbs/MemoryRegion"
import * as MemoryWindow from "@effect-rdma/verbs/MemoryWindow"
import * as QueuePair from "@effect-rdma/verbs/QueuePair"
import * as SharedReceiveQueue from "@effect-rdma/verbs/SharedReceiveQueue"
import type * as WorkRequest from "@effect-rdma/verbs/WorkRequest"
import { assert, describe } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Compiler from "./Compiler.ts"
import { address, open, ready, requestsOf } from "./dataPathWorld.ts"
import * as Echo from "./Echo.ts"

const large = 0xffff_ffff_ffff_fff0n
const piece = { addr: large, length: 0xffff_fffa, lkey: 0xffff_fff9 }
const pieceText = `${large} ${0xffff_fffa} ${0xffff_fff9}`
const remote = { rkey: 0xffff_fffe, remoteAddr: 0xfedc_ba98_7654_3210n }
const remoteReport = { rkey: String(0xffff_fffe), remote_addr: String(remote.remoteAddr) }

const textOf = (region: MemoryRegion.MemoryRegion, offset = 0, length = 100) =>
  `${region.address + BigInt(offset)} ${length} ${region.lkey}`

const sendReport = (wrId: bigint, opcode: number, more: Readonly<Record<string, string>> = {}): Echo.Report => ({
  op: "send_wr",
  wr_id: String(wrId),
  opcode: String(opcode),
  send_flags: "0",
  num_sge: "0",
  ...more
})

const receiveReport = (wrId: bigint, ...pieces: ReadonlyArray<string>): Echo.Report => ({
  op: "recv_wr",
  wr_id: String(wrId),
  num_sge: String(pieces.length),
  ...Object.fromEntries(pieces.map((text, index) => [`sge[${index}]`, text]))
})

const one = { num_sge: "1", "sge[0]": pieceText }

describe.skipIf(Compiler.missing !== undefined)("posts of libibverbs", () => {
  const lane = Echo.lane()
  const test = Lane.test(lane)
  const { echo } = lane

  /** Posts, and what C saw of it, with the `wrId` that each completion brings back. */
  const sent = Effect.fnUntraced(function*(
    self: QueuePair.QueuePair,
    queue: CompletionQueue.CompletionQueue,
    requests: ReadonlyArray<WorkRequest.SendRequest>
  ) {
    echo().calls()
    yield* QueuePair.postSend(self, requests)
    const [call, ...chain] = echo().calls()
    assert.deepStrictEqual<unknown>(call, { op: "post_send", qp: address(self) })
    const reports = yield* Echo.completed(echo(), queue, chain)
    assert.strictEqual(self.work.sends.inFlight, 0)
    return reports
  })

  test("every request of a connected queue pair, field by field, whatever was posted before it", () =>
    Effect.gen(function*() {
      const world = yield* open()
      const { domain, queue, region } = world
      const self = yield* ready(world, "rc")
      const window = yield* MemoryWindow.alloc(domain, 2)
      const sgList = [piece]
      const casesWith = (key: number): ReadonlyArray<readonly [WorkRequest.SendRequest, Echo.Report]> => [
        [{ opcode: "send", wrId: large, sgList }, sendReport(large, 2, one)],
        [
          { opcode: "sendWithImm", wrId: 1n, immData: 0x0102_0384, sgList },
          { ...sendReport(1n, 3, one), imm_data: "01020384" }
        ],
        [
          { opcode: "sendWithInv", wrId: 2n, invalidateRkey: 0xffff_fffd, sgList },
          { ...sendReport(2n, 9, one), invalidate_rkey: "4294967293" }
        ],
        [{ opcode: "rdmaWrite", wrId: 3n, remote, sgList }, { ...sendReport(3n, 0, one), ...remoteReport }],
        [
          { opcode: "rdmaWriteWithImm", wrId: 4n, remote, immData: 0x8403_0201, sgList },
          { ...sendReport(4n, 1, one), imm_data: "84030201", ...remoteReport }
        ],
        [{ opcode: "rdmaRead", wrId: 5n, remote, sgList }, { ...sendReport(5n, 4, one), ...remoteReport }],
        [
          { opcode: "atomicCmpAndSwp", wrId: 6n, remote, compare: large, swap: large - 1n, sgList },
          {
            ...sendReport(6n, 5, one),
            ...remoteReport,
            compare_add: String(large),
            swap: String(large - 1n)
          }
        ],
        [
          { opcode: "atomicFetchAndAdd", wrId: 7n, remote, add: large - 2n, sgList },
          { ...sendReport(7n, 6, one), ...remoteReport, compare_add: String(large - 2n), swap: "0" }
        ],
        [
          { opcode: "localInv", wrId: 8n, invalidateRkey: 0xffff_fffc },
          { ...sendReport(8n, 7), invalidate_rkey: "4294967292" }
        ],
        [
          {
            opcode: "bindMw",
            wrId: 9n,
            bind: { window, rkey: 0xffff_fffb, region, offset: 60, access: ["remoteRead", "remoteWrite"] }
          },
          {
            ...sendReport(9n, 8),
            imm_data: "00000000",
            mw: address(window),
            "bind_mw.mw->rkey": String(key),
            "bind_mw.rkey": "4294967291",
            mr: String(Resource.raw(region).mr),
            addr: String(region.address + 60n),
            length: "40",
            "bind_mw.bind_info.mw_access_flags": "6"
          }
        ],
        // No pieces at all, and no number.
        [{ opcode: "rdmaWrite", remote }, { ...sendReport(0n, 0), ...remoteReport }]
      ]
      // The second time the window has the key of the first.
      for (const order of [casesWith(window.rkey), casesWith(0xffff_fffb).toReversed()]) {
        assert.deepStrictEqual(
          yield* sent(self, queue, order.map(([request]) => request)),
          order.map(([, report]) => report)
        )
      }
      assert.strictEqual(window.rkey, 0xffff_fffb)
    }))

  test("every flag has its bit, and several pieces of a request are a list", () =>
    Effect.gen(function*() {
      const world = yield* open()
      const { queue, region } = world
      const self = yield* ready(world, "rc")
      const reports = yield* sent(self, queue, [
        { opcode: "send", flags: ["fence"] },
        { opcode: "send", flags: ["signaled"] },
        { opcode: "send", flags: ["solicited"] },
        { opcode: "send", flags: ["ipCsum"] },
        { opcode: "send", flags: ["signaled", "fence", "solicited", "ipCsum"] },
        { opcode: "send", sgList: [{ region }, { region, offset: 99 }, { region, offset: 100 }, piece] },
        { opcode: "send", sgList: [{ region, length: 7 }, { region, offset: 50, length: 50 }] }
      ])
      assert.deepStrictEqual(reports.slice(0, 5).map(({ send_flags }) => send_flags), ["1", "2", "4", "16", "23"])
      assert.deepStrictEqual(reports.slice(5), [
        sendReport(0n, 2, {
          num_sge: "4",
          "sge[0]": textOf(region),
          "sge[1]": textOf(region, 99, 1),
          "sge[2]": textOf(region, 100, 0),
          "sge[3]": pieceText
        }),
        sendReport(0n, 2, { num_sge: "2", "sge[0]": textOf(region, 0, 7), "sge[1]": textOf(region, 50, 50) })
      ])
    }))

  test("inline data is copied from any kind of memory, up to the room for it", () =>
    Effect.gen(function*() {
      const world = yield* open()
      const { queue } = world
      const self = yield* ready(world, "rc")
      const shared = new Uint8Array(new SharedArrayBuffer(4)).fill(0xee)
      const reused = Uint8Array.of(1, 2, 3, 4).subarray(1, 3)
      const reports = yield* sent(self, queue, [
        { opcode: "send", flags: ["signaled"], inlineData: Uint8Array.of(0xca, 0xfe) },
        { opcode: "rdmaWrite", remote, inlineData: new Uint8Array(0) },
        { opcode: "sendWithImm", immData: 1, inlineData: shared },
        { opcode: "send", sgList: [piece] },
        { opcode: "rdmaWriteWithImm", immData: 2, remote, inlineData: reused },
        { opcode: "sendWithInv", invalidateRkey: 3, inlineData: new Uint8Array(64).fill(7) }
      ])
      assert.deepStrictEqual(reports, [
        sendReport(0n, 2, { send_flags: "10", num_sge: "1", "inline[0]": "cafe" }),
        { ...sendReport(0n, 0, { send_flags: "8", num_sge: "1", "inline[0]": "" }), ...remoteReport },
        { ...sendReport(0n, 3, { send_flags: "8", num_sge: "1", "inline[0]": "eeeeeeee" }), imm_data: "00000001" },
        sendReport(0n, 2, one),
        {
          ...sendReport(0n, 1, { send_flags: "8", num_sge: "1", "inline[0]": "0203" }),
          imm_data: "00000002",
          ...remoteReport
        },
        { ...sendReport(0n, 9, { send_flags: "8", num_sge: "1", "inline[0]": "07".repeat(64) }), invalidate_rkey: "3" }
      ])
    }))

  test("datagrams have a receiver, packets none, and the sending side of XRC a queue", () =>
    Effect.gen(function*() {
      const world = yield* open()
      const { domain, queue } = world
      const ah = yield* AddressHandle.make(domain, { portNum: 1 })
      const to = { ah, remoteQpn: 0xff_fffe, remoteQkey: 0xffff_fffb }
      const addressed = { ah: address(ah), "wr.ud.remote_qpn": "16777214", "wr.ud.remote_qkey": "4294967291" }
      const header = Uint8Array.of(9, 8, 7)
      const tso = { hdr: "090807", "tso.hdr_sz": "3", "tso.mss": "65535" }
      assert.deepStrictEqual(
        yield* sent(yield* ready(world, "ud"), queue, [
          { opcode: "send", to, sgList: [piece] },
          { opcode: "sendWithImm", to, immData: 0xffff_fff1, inlineData: header },
          { opcode: "tso", to, header, mss: 0xffff, sgList: [piece] }
        ]),
        [
          { ...sendReport(0n, 2, one), ...addressed },
          {
            ...sendReport(0n, 3, { send_flags: "8", num_sge: "1", "inline[0]": "090807" }),
            imm_data: "fffffff1",
            ...addressed
          },
          { ...sendReport(0n, 10, one), ...tso, ...addressed }
        ]
      )
      assert.deepStrictEqual(
        yield* sent(yield* ready(world, "rawPacket"), queue, [
          { opcode: "send", sgList: [piece] },
          { opcode: "tso", header, mss: 0xffff, sgList: [piece] }
        ]),
        [sendReport(0n, 2, one), { ...sendReport(0n, 10, one), ...tso }]
      )
      const srqn = { "qp_type.xrc.remote_srqn": "4294967290" }
      assert.deepStrictEqual(
        yield* sent(yield* ready(world, "xrcSend"), queue, [
          { opcode: "send", remoteSrqn: 0xffff_fffa, sgList: [piece] },
          { opcode: "rdmaRead", remoteSrqn: 0, remote, sgList: [piece] },
          { opcode: "atomicFetchAndAdd", remoteSrqn: 0xffff_fffa, remote, add: 1n, sgList: [piece] }
        ]),
        [
          { ...sendReport(0n, 2, one), ...srqn },
          { ...sendReport(0n, 4, one), ...remoteReport, "qp_type.xrc.remote_srqn": "0" },
          { ...sendReport(0n, 6, one), ...remoteReport, compare_add: "1", swap: "0", ...srqn }
        ]
      )
    }))

  test("receives of a queue pair and of a shared queue: every field", () =>
    Effect.gen(function*() {
      const world = yield* open()
      const { domain, queue, region } = world
      const self = yield* ready(world, "rc")
      const shared = yield* SharedReceiveQueue.make(domain, { maxWr: 8, maxSge: 4 })
      const receives: ReadonlyArray<WorkRequest.ReceiveRequest> = [
        { wrId: large, sgList: [piece] },
        { sgList: [] },
        { wrId: 2n, sgList: [{ region }, { region, offset: 40, length: 1 }, piece] }
      ]
      const reports = [
        receiveReport(large, pieceText),
        receiveReport(0n),
        receiveReport(2n, textOf(region), textOf(region, 40, 1), pieceText)
      ]
      for (
        const [call, post] of [
          [{ op: "post_recv", qp: address(self) }, QueuePair.postRecv(self, receives)],
          [{ op: "post_srq_recv", srq: address(shared) }, SharedReceiveQueue.postRecv(shared, receives)]
        ] as const
      ) {
        echo().calls()
        yield* post
        const [first, ...chain] = echo().calls()
        assert.deepStrictEqual<unknown>(first, call)
        assert.deepStrictEqual(yield* Echo.completed(echo(), queue, chain), reports)
      }
      // A shared queue completes in any order.
      yield* SharedReceiveQueue.postRecv(shared, [{ wrId: 1n, sgList: [] }, { wrId: 2n, sgList: [] }])
      const late = (yield* Echo.completed(echo(), queue, requestsOf(echo().calls()).toReversed())).map(Echo.numberOf)
      assert.deepStrictEqual(late, [2n, 1n])
    }))

  test("as many requests as there is room for are one chain, and posts go on behind it", () =>
    Effect.gen(function*() {
      const world = yield* open()
      const { domain, queue } = world
      const many = 2000
      const self = yield* ready(world, "rc", { maxSendWr: many, maxRecvWr: many })
      const shared = yield* SharedReceiveQueue.make(domain, { maxWr: many, maxSge: 4 })
      const indices = Array.from({ length: many }, (_, index) => index)
      const sgListOf = (index: number) => [{ ...piece, lkey: index }, { addr: BigInt(index), length: index, lkey: 7 }]
      const textsOf = (index: number) => [`${large} ${piece.length} ${index}`, `${index} ${index} 7`]
      const reports = yield* sent(
        self,
        queue,
        indices.map((index) =>
          index % 2 === 0
            ? { opcode: "send", wrId: BigInt(index), sgList: sgListOf(index) }
            : { opcode: "send", wrId: BigInt(index), inlineData: new Uint8Array(64).fill(index) }
        )
      )
      assert.deepStrictEqual(
        reports,
        indices.map((index) => {
          const [first = "", second = ""] = textsOf(index)
          return index % 2 === 0
            ? sendReport(BigInt(index), 2, { num_sge: "2", "sge[0]": first, "sge[1]": second })
            : sendReport(BigInt(index), 2, {
              send_flags: "8",
              num_sge: "1",
              "inline[0]": (index % 256).toString(16).padStart(2, "0").repeat(64)
            })
        })
      )
      assert.deepStrictEqual(yield* sent(self, queue, [{ opcode: "send", sgList: [piece] }]), [sendReport(0n, 2, one)])
      const receives = indices.map((index) => ({ wrId: BigInt(index), sgList: sgListOf(index) }))
      for (const post of [QueuePair.postRecv(self, receives), SharedReceiveQueue.postRecv(shared, receives)]) {
        echo().calls()
        yield* post
        assert.deepStrictEqual(
          yield* Echo.completed(echo(), queue, requestsOf(echo().calls())),
          indices.map((index) => receiveReport(BigInt(index), ...textsOf(index)))
        )
      }
    }))

  test("nothing to post is no call", () =>
    Effect.gen(function*() {
      const world = yield* open()
      const self = yield* ready(world, "rc")
      const shared = yield* SharedReceiveQueue.make(world.domain, { maxWr: 8 })
      echo().calls()
      yield* QueuePair.postSend(self, [])
      yield* QueuePair.postRecv(self, [])
      yield* SharedReceiveQueue.postRecv(shared, [])
      assert.deepStrictEqual(echo().calls(), [])
    }))
})
