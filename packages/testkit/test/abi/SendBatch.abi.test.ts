/**
 * Batches of sends on the echo provider: what each builder gives C, and that a batch ends by exactly one call.
 */
import * as Resource from "@effect-rdma/core/Resource"
import * as Lane from "@effect-rdma/testkit/conformance/Lane"
import * as AddressHandle from "@effect-rdma/verbs/AddressHandle"
import * as CompletionQueue from "@effect-rdma/verbs/CompletionQueue"
import * as DeviceContext from "@effect-rdma/verbs/DeviceContext"
import * as MemoryRegion from "@effect-rdma/verbs/MemoryRegion"
import * as MemoryWindow from "@effect-rdma/verbs/MemoryWindow"
import * as ProtectionDomain from "@effect-rdma/verbs/ProtectionDomain"
import * as QueuePair from "@effect-rdma/verbs/QueuePair"
import * as QueuePairInitAttributes from "@effect-rdma/verbs/QueuePairInitAttributes"
import * as SendBatch from "@effect-rdma/verbs/SendBatch"
import * as Verbs from "@effect-rdma/verbs/Verbs"
import { assert, describe } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Compiler from "./Compiler.ts"
import * as Echo from "./Echo.ts"

const names = (calls: ReadonlyArray<Echo.Report>) => calls.map(({ op }) => op)
const address = (handle: Resource.Resource<string, bigint>) => String(Resource.raw(handle))

const request = (op: string, id: bigint | number, flags = 0) => ({ op, wr_id: String(id), wr_flags: String(flags) })

const isSetter = ({ op }: Echo.Report) => String(op).startsWith("wr_set_")
const isRequest = (call: Echo.Report) => call["wr_id"] !== undefined

describe.skipIf(Compiler.missing !== undefined)("batches of sends of libibverbs", () => {
  const lane = Echo.lane()
  const test = Lane.test(lane)
  const { echo } = lane
  const open = Effect.fnUntraced(function*() {
    const context = yield* DeviceContext.openByName("echo0")
    const domain = yield* ProtectionDomain.alloc(context)
    const queue = yield* CompletionQueue.make(context, { cqe: 8 })
    return { domain, queue }
  })

  const extended = Effect.fnUntraced(function*(qpType: "rc" | "ud" | "xrcSend" = "ud") {
    const opened = yield* open()
    const { domain, queue } = opened
    const self = yield* QueuePair.makeExtended(domain, {
      qpType,
      sendCq: queue,
      recvCq: queue,
      cap: { maxInlineData: 64 },
      sendOpsFlags: QueuePairInitAttributes.SendOperation.literals
    })
    yield* QueuePair.modify(self, { qpState: "rts" })
    const ah = yield* AddressHandle.make(domain, { portNum: 1 })
    echo().calls()
    return { ...opened, self, ah }
  })

  test("every builder gives C what it was given", () =>
    Effect.gen(function*() {
      const { ah, domain, queue, self } = yield* extended()
      const remote = { rkey: 0xffff_fffe, remoteAddr: 0xfedc_ba98_7654_3210n }
      const to = { rkey: "4294967294", remote_addr: String(0xfedc_ba98_7654_3210n) }
      const large = 0xffff_ffff_ffff_fff0n
      const mr = yield* MemoryRegion.alloc(domain, { length: 64 })
      const window = yield* MemoryWindow.alloc(domain, 2)
      echo().calls()
      const piece = { addr: large, length: 0xffff_fffa, lkey: 0xffff_fff9 }
      yield* SendBatch.post(self, (batch) => {
        const completed = (setData: () => void = () => batch.setSge(piece)) => {
          batch.setUdAddr(ah, 0xfffffe, 0xffff_fffb)
          setData()
        }
        batch.send({ wrId: large, flags: ["fence", "signaled", "solicited", "ipCsum"] })
        completed(() => batch.setInlineData(Uint8Array.of(0xca, 0xfe)))
        batch.sendImm({ wrId: 2n }, 0x0102_0384)
        completed(() =>
          batch.setSgeList([{ addr: 1n, length: 2, lkey: 3 }, { addr: large, length: 5, lkey: 0xffff_fff8 }])
        )
        batch.sendInv({ wrId: 3n, flags: ["signaled"] }, 0xffff_fffd)
        completed()
        batch.sendTso({ wrId: 4n }, Uint8Array.of(9, 8, 7), 1500)
        completed()
        batch.rdmaWrite({ wrId: 5n }, remote)
        completed()
        batch.rdmaWriteImm({ wrId: 6n }, remote, 0x8403_0201)
        completed()
        batch.rdmaRead({ wrId: 7n }, remote)
        completed()
        batch.atomicCmpSwp({ wrId: 8n }, remote, large, large - 1n)
        completed()
        batch.atomicFetchAdd({ wrId: 9n }, remote, large)
        completed()
        batch.atomicWrite({ wrId: 10n }, remote, Uint8Array.of(1, 2, 3, 4, 5, 6, 7, 255))
        completed(() => {})
        batch.localInv({ wrId: 11n }, 0xffff_fffc)
        batch.bindMw({ wrId: 12n }, window, 77, {
          mr,
          addr: large,
          length: large - 1n,
          access: ["remoteWrite", "zeroBased"]
        })
      })
      const calls = echo().calls()
      assert.deepStrictEqual(calls[0], { op: "wr_start", qp: address(self) })
      assert.deepStrictEqual(calls.at(-1), { op: "wr_complete", qp: address(self) })
      assert.strictEqual(calls.filter((call) => !isRequest(call) && !isSetter(call)).length, 2)
      assert.deepStrictEqual<object>(yield* Echo.completed(echo(), queue, calls.filter(isRequest)), [
        request("wr_send", large, 1 | 2 | 4 | 16),
        { ...request("wr_send_imm", 2), imm_data: "01020384" },
        { ...request("wr_send_inv", 3, 2), invalidate_rkey: "4294967293" },
        { ...request("wr_send_tso", 4), hdr: "090807", mss: "1500" },
        { ...request("wr_rdma_write", 5), ...to },
        { ...request("wr_rdma_write_imm", 6), ...to, imm_data: "84030201" },
        { ...request("wr_rdma_read", 7), ...to },
        { ...request("wr_atomic_cmp_swp", 8), ...to, compare: String(large), swap: String(large - 1n) },
        { ...request("wr_atomic_fetch_add", 9), ...to, add: String(large) },
        { ...request("wr_atomic_write", 10), ...to, data: "01020304050607ff" },
        { ...request("wr_local_inv", 11), invalidate_rkey: "4294967292" },
        {
          ...request("wr_bind_mw", 12),
          mw: address(window),
          rkey: "77",
          mr: String(Resource.raw(mr).mr),
          addr: String(large),
          length: String(large - 1n),
          mw_access_flags: "34"
        }
      ])
      const addressed = { op: "wr_set_ud_addr", ah: address(ah), remote_qpn: "16777214", remote_qkey: "4294967291" }
      assert.deepStrictEqual<object>(calls.filter(isSetter).slice(0, 6), [
        addressed,
        { op: "wr_set_inline_data", data: "cafe", length: "2" },
        addressed,
        { op: "wr_set_sge_list", num_sge: "2", "sge[0]": "1 2 3", "sge[1]": `${large} 5 4294967288` },
        addressed,
        // Reported as C's signed 64 bits.
        { op: "wr_set_sge", addr: String(BigInt.asIntN(64, large)), length: "4294967290", lkey: "4294967289" }
      ])
    }))

  test("inline data in pieces is the pieces, of any kind of memory", () =>
    Effect.gen(function*() {
      const { self } = yield* extended("rc")
      const shared = new Uint8Array(new SharedArrayBuffer(4)).fill(0xee)
      const lists = [
        [Uint8Array.of(0xca, 0xfe), new Uint8Array(0), Uint8Array.of(1, 2, 3).subarray(1), shared],
        [new Uint8Array(64).fill(7)],
        []
      ]
      yield* SendBatch.post(self, (batch) => {
        for (const list of lists) {
          batch.send({ wrId: 1n })
          batch.setInlineDataList(list)
        }
      })
      assert.deepStrictEqual<object>(echo().calls().filter(isSetter), [
        {
          op: "wr_set_inline_data_list",
          num_buf: "4",
          "buf[0]": "cafe",
          "buf[1]": "",
          "buf[2]": "0203",
          "buf[3]": "eeeeeeee"
        },
        { op: "wr_set_inline_data_list", num_buf: "1", "buf[0]": "07".repeat(64) },
        { op: "wr_set_inline_data_list", num_buf: "0" }
      ])
    }))

  test("the queue of an XRC peer is named by its number", () =>
    Effect.gen(function*() {
      const { self } = yield* extended("xrcSend")
      yield* SendBatch.post(self, (batch) => {
        batch.send({ wrId: 1n })
        batch.setXrcSrqn(0xffff_fffe)
        batch.setSgeList([])
      })
      assert.deepInclude(echo().calls()[2], { op: "wr_set_xrc_srqn", remote_srqn: "4294967294" })
    }))

  test("a flush is found behind the struct of older headers, and is EOPNOTSUPP where it is not", () =>
    Effect.gen(function*() {
      const { queue, self } = yield* extended("rc")
      const remote = { rkey: 0xffff_fffe, remoteAddr: 0xfedc_ba98_7654_3210n }
      yield* SendBatch.post(self, (batch) => {
        batch.flush({ wrId: 1n }, remote, 0xffff_ffff_ffffn, ["global", "persistent"], "mr")
        batch.flush({ wrId: 2n }, remote, 1n, ["persistent"], "range")
      })
      const to = { rkey: "4294967294", remote_addr: String(0xfedc_ba98_7654_3210n) }
      const calls = echo().calls()
      assert.deepStrictEqual(names(calls), ["wr_start", "wr_flush", "wr_flush", "wr_complete"])
      assert.deepStrictEqual<object>(yield* Echo.completed(echo(), queue, calls.slice(1, 3)), [
        { ...request("wr_flush", 1), ...to, length: String(0xffff_ffff_ffff), type: "3", level: "1" },
        { ...request("wr_flush", 2), ...to, length: "1", type: "2", level: "0" }
      ])
      const other = yield* extended()
      const error = yield* Effect.flip(
        SendBatch.post(other.self, (batch) => batch.flush({ wrId: 1n }, remote, 1n, ["global"], "range"))
      )
      assert.deepInclude<object>(error, { call: "ibv_wr_flush" })
    }))

  test("a builder that the provider does not have is EOPNOTSUPP, and the batch is aborted", () =>
    Effect.gen(function*() {
      const { self } = yield* extended()
      const error = yield* Effect.flip(SendBatch.post(self, (batch) => {
        batch.localInv({ wrId: 1n }, 1)
        batch.flush({ wrId: 2n }, { rkey: 1, remoteAddr: 0n }, 1n, ["global"], "range")
      }))
      assert.deepInclude<object>(error, { call: "ibv_wr_flush" })
      assert.deepInclude(error.reason, { _tag: "EOPNOTSUPP" })
      assert.deepStrictEqual(names(echo().calls()), ["wr_start", "wr_local_inv", "wr_abort"])
    }))

  test("what is refused does not reach C, and the batch is aborted, even when the program goes on", () =>
    Effect.gen(function*() {
      const { self } = yield* extended("rc")
      const error = yield* Effect.flip(SendBatch.post(self, (batch) => {
        batch.localInv({ wrId: 1n }, 1)
        try {
          batch.localInv({ wrId: 2n }, 2 ** 32)
        } catch {
          // As a program may.
        }
      }))
      assert.deepInclude(error.reason, { _tag: "EINVAL" })
      assert.deepStrictEqual(names(echo().calls()), ["wr_start", "wr_local_inv", "wr_abort"])
    }))

  test("a batch ends by exactly one of complete and abort", () =>
    Effect.gen(function*() {
      const { self } = yield* extended()
      yield* SendBatch.post(self, () => {})
      assert.deepStrictEqual(names(echo().calls()), ["wr_start", "wr_complete"])
      const thrown = yield* Effect.exit(SendBatch.post(self, () => {
        throw new TypeError("stop")
      }))
      assert.strictEqual(Exit.isFailure(thrown) && String(Cause.squash(thrown.cause)), "TypeError: stop")
      assert.deepStrictEqual(names(echo().calls()), ["wr_start", "wr_abort"])
      echo().script("wr_complete", { result: 12, errno: 1 })
      const full = yield* Effect.flip(SendBatch.post(self, (batch) => batch.localInv({ wrId: 1n }, 1)))
      assert.deepInclude<object>(full, { call: "ibv_wr_complete" })
      assert.deepInclude(full.reason, { _tag: "ENOMEM" })
      assert.deepStrictEqual(names(echo().calls()), ["wr_start", "wr_local_inv", "wr_complete"])
    }))

  test("while a batch is built nothing else is posted to its send queue, but receives are", () =>
    Effect.gen(function*() {
      const { domain, queue } = yield* open()
      const self = yield* QueuePair.makeExtended(domain, {
        qpType: "rc",
        sendCq: queue,
        recvCq: queue,
        sendOpsFlags: ["localInv"]
      })
      yield* QueuePair.modify(self, { qpState: "rts" })
      const region = yield* MemoryRegion.alloc(domain, { length: 8, access: ["mwBind"] })
      const window = yield* MemoryWindow.alloc(domain, 1)
      echo().calls()
      const tags: Array<string> = []
      yield* SendBatch.post(self, (batch) => {
        batch.localInv({ wrId: 1n }, 1)
        for (
          const attempt of [
            QueuePair.postSend(self, [{ opcode: "send" }]),
            MemoryWindow.bind(window, self, { region, access: [] }),
            SendBatch.post(self, () => {}),
            QueuePair.postRecv(self, [{ sgList: [] }])
          ]
        ) {
          tags.push(Effect.runSync(Effect.match(attempt, {
            onFailure: (error) => error._tag === "VerbsError" ? error.reason._tag : error._tag,
            onSuccess: () => "posted"
          })))
        }
      })
      assert.deepStrictEqual(tags, ["EBUSY", "EBUSY", "EBUSY", "posted"])
      assert.deepStrictEqual(names(echo().calls()), [
        "wr_start",
        "wr_local_inv",
        "post_recv",
        "recv_wr",
        "wr_complete"
      ])
    }))

  test("a plain queue pair has no batches in C either", () =>
    Effect.gen(function*() {
      const { domain, queue } = yield* open()
      const self = yield* QueuePair.make(domain, { qpType: "rc", sendCq: queue, recvCq: queue })
      echo().calls()
      const verbs = yield* Verbs.Verbs
      const error = yield* Effect.flip(verbs.wrComplete(Resource.raw(self), () => assert.fail("the builder ran")))
      assert.deepInclude(error.reason, { _tag: "EOPNOTSUPP" })
      assert.deepStrictEqual(echo().calls(), [])
    }))
})
