/**
 * XRC domains, shared receive queues, queue pairs and multicast on the echo provider: every field that C
 * receives and gives back, which no device of a test machine could show.
 */
import * as Resource from "@effect-rdma/core/Resource"
import * as Lane from "@effect-rdma/testkit/conformance/Lane"
import * as CompletionQueue from "@effect-rdma/verbs/CompletionQueue"
import * as DeviceContext from "@effect-rdma/verbs/DeviceContext"
import * as MulticastAttachment from "@effect-rdma/verbs/MulticastAttachment"
import * as ProtectionDomain from "@effect-rdma/verbs/ProtectionDomain"
import * as QueuePair from "@effect-rdma/verbs/QueuePair"
import * as SharedReceiveQueue from "@effect-rdma/verbs/SharedReceiveQueue"
import * as XrcDomain from "@effect-rdma/verbs/XrcDomain"
import { assert, describe } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Compiler from "./Compiler.ts"
import * as Echo from "./Echo.ts"

const names = (calls: ReadonlyArray<Echo.Report>) => calls.map(({ op }) => op)
const address = (handle: Resource.Resource<string, bigint>) => String(Resource.raw(handle))

const plainCap = {
  max_send_wr: "1",
  max_recv_wr: "2",
  max_send_sge: "3",
  max_recv_sge: "4",
  max_inline_data: "5"
}
const cap = { maxSendWr: 1, maxRecvWr: 2, maxSendSge: 3, maxRecvSge: 4, maxInlineData: 5 }

describe.skipIf(Compiler.missing !== undefined)("queues of libibverbs", () => {
  const lane = Echo.lane()
  const test = Lane.test(lane)
  const { echo } = lane
  const open = Effect.fnUntraced(function*() {
    const context = yield* DeviceContext.openByName("echo0")
    const domain = yield* ProtectionDomain.alloc(context)
    const queue = yield* CompletionQueue.make(context, { cqe: 8 })
    echo().calls()
    return { context, domain, queue }
  })
  const pair = Effect.fnUntraced(function*() {
    const opened = yield* open()
    const { domain, queue } = opened
    const self = yield* QueuePair.make(domain, { qpType: "rc", sendCq: queue, recvCq: queue, cap })
    echo().calls()
    return { ...opened, self }
  })

  // ---------------------------------------------------------------------------
  // XRC domains and shared receive queues
  // ---------------------------------------------------------------------------

  test("an XRC domain: every field, and its release", () =>
    Effect.gen(function*() {
      const { context } = yield* open()
      const [plain, shared] = yield* Effect.scoped(Effect.gen(function*() {
        const plain = yield* XrcDomain.open(context)
        const shared = yield* XrcDomain.open(context, { fd: 77, create: false, exclusive: true })
        return [address(plain), address(shared)] as const
      }))
      const owner = { context: address(context) }
      assert.deepStrictEqual(echo().calls(), [
        { op: "open_xrcd", ...owner, comp_mask: "3", fd: "-1", oflags: String(0o100) },
        { op: "open_xrcd", ...owner, comp_mask: "3", fd: "77", oflags: String(0o200) },
        { op: "close_xrcd", xrcd: shared },
        { op: "close_xrcd", xrcd: plain }
      ])
      echo().script("open_xrcd", { errno: 95 })
      const refused = yield* Effect.flip(XrcDomain.open(context))
      assert.strictEqual(refused._tag === "VerbsError" && refused.reason._tag, "EOPNOTSUPP")
    }))

  test("a shared receive queue: every field both ways", () =>
    Effect.gen(function*() {
      const { domain } = yield* open()
      const srq = yield* SharedReceiveQueue.make(domain, { maxWr: 0x7000_0000, maxSge: 3 })
      assert.deepStrictEqual(echo().calls(), [{
        op: "create_srq",
        pd: address(domain),
        srq_context: "0",
        max_wr: String(0x7000_0000),
        max_sge: "3",
        srq_limit: "0"
      }])
      assert.deepInclude<object>(srq, { maxWr: 0x7000_0000 + 1000, maxSge: 103, srqType: "basic" })
      assert.deepStrictEqual(yield* SharedReceiveQueue.query(srq), {
        maxWr: 0x8000_0001,
        maxSge: 0x8000_0002,
        srqLimit: 0x8000_0003
      })
      assert.strictEqual(yield* SharedReceiveQueue.number(srq), 0x89ab_cdef)
      echo().calls()
      yield* SharedReceiveQueue.modify(srq, { maxWr: 5 })
      yield* SharedReceiveQueue.modify(srq, { srqLimit: 6 })
      yield* SharedReceiveQueue.modify(srq, { maxWr: 7, srqLimit: 8 })
      const of = { op: "modify_srq", srq: address(srq), max_sge: "0" }
      assert.deepStrictEqual(echo().calls(), [
        { ...of, max_wr: "5", srq_limit: "0", mask: "1" },
        { ...of, max_wr: "0", srq_limit: "6", mask: "2" },
        { ...of, max_wr: "7", srq_limit: "8", mask: "3" }
      ])
    }))

  test("an extended shared receive queue of each type: every field", () =>
    Effect.gen(function*() {
      const { context, domain, queue } = yield* open()
      const xrcDomain = yield* XrcDomain.open(context)
      echo().calls()
      yield* SharedReceiveQueue.makeExtended(domain, { srqType: "basic", maxWr: 4, maxSge: 2 })
      assert.deepInclude(echo().last(), { op: "create_srq", max_wr: "4", max_sge: "2" })
      const xrc = yield* SharedReceiveQueue.makeExtended(domain, {
        srqType: "xrc",
        maxWr: 5,
        xrcDomain,
        completionQueue: queue
      })
      const of = { op: "create_srq_ex", context: address(context), srq_context: "0", max_sge: "1", srq_limit: "0" }
      const none = { "tm_cap.max_num_tags": "0", "tm_cap.max_ops": "0" }
      assert.deepStrictEqual<object>(echo().last(), {
        ...of,
        max_wr: "5",
        comp_mask: "15",
        srq_type: "1",
        pd: address(domain),
        xrcd: address(xrcDomain),
        cq: address(queue),
        ...none
      })
      assert.deepInclude<object>(xrc, { maxWr: 1005, maxSge: 101, srqType: "xrc" })
      yield* SharedReceiveQueue.makeExtended(domain, {
        srqType: "tm",
        maxWr: 6,
        completionQueue: queue,
        tmCap: { maxNumTags: 9, maxOps: 10 }
      })
      assert.deepStrictEqual<object>(echo().last(), {
        ...of,
        max_wr: "6",
        comp_mask: "27",
        srq_type: "2",
        pd: address(domain),
        xrcd: "0",
        cq: address(queue),
        "tm_cap.max_num_tags": "9",
        "tm_cap.max_ops": "10"
      })
      echo().script("create_srq_ex", { errno: 12 })
      const refused = yield* Effect.flip(
        SharedReceiveQueue.makeExtended(domain, { srqType: "xrc", maxWr: 5, xrcDomain, completionQueue: queue })
      )
      assert.deepInclude(refused, { call: "ibv_create_srq_ex" })
    }))

  // ---------------------------------------------------------------------------
  // Queue pairs
  // ---------------------------------------------------------------------------

  test("a queue pair: every field, and what the device gave", () =>
    Effect.gen(function*() {
      const { domain, queue } = yield* open()
      const other = yield* CompletionQueue.make(domain.context, { cqe: 9 })
      const srq = yield* SharedReceiveQueue.make(domain, { maxWr: 4 })
      echo().calls()
      const self = yield* QueuePair.make(domain, { qpType: "uc", sendCq: queue, recvCq: other, cap, sqSigAll: true })
      assert.deepStrictEqual(echo().calls(), [{
        op: "create_qp",
        pd: address(domain),
        qp_context: "0",
        send_cq: address(queue),
        recv_cq: address(other),
        srq: "0",
        ...plainCap,
        qp_type: "3",
        sq_sig_all: "1"
      }])
      assert.strictEqual(self.qpNum, 0xabcdef)
      assert.deepStrictEqual<object>(self.cap, {
        maxSendWr: 2,
        maxRecvWr: 4,
        maxSendSge: 6,
        maxRecvSge: 8,
        maxInlineData: 10
      })
      yield* QueuePair.make(domain, { qpType: "rc", sendCq: queue, recvCq: queue, srq, cap })
      assert.deepInclude(echo().last(), {
        srq: address(srq),
        qp_type: "2",
        sq_sig_all: "0",
        max_recv_wr: "0",
        max_recv_sge: "0"
      })
    }))

  for (const [qpType, native] of [["rc", 2], ["uc", 3], ["ud", 4], ["rawPacket", 8], ["xrcSend", 9]] as const) {
    test(`the number of the type ${qpType} is ${native}`, () =>
      Effect.gen(function*() {
        const { domain, queue } = yield* open()
        yield* QueuePair.make(domain, { qpType, sendCq: queue, recvCq: queue })
        assert.strictEqual(echo().last()["qp_type"], String(native))
      }))
  }

  const plainEx = {
    create_flags: "0",
    max_tso_header: "0",
    rwq_ind_tbl: "0",
    "rx_hash_conf.rx_hash_function": "0",
    "rx_hash_conf.rx_hash_key_len": "0",
    "rx_hash_conf.rx_hash_fields_mask": "0",
    source_qpn: "0",
    send_ops_flags: "0"
  }

  test("an extended queue pair with a domain only is the plain call", () =>
    Effect.gen(function*() {
      const { domain, queue } = yield* open()
      yield* QueuePair.makeExtended(domain, { qpType: "rc", sendCq: queue, recvCq: queue, cap })
      assert.deepInclude(echo().last(), { op: "create_qp", pd: address(domain), ...plainCap })
    }))

  test("an extended queue pair: every field", () =>
    Effect.gen(function*() {
      const { context, domain, queue } = yield* open()
      const self = yield* QueuePair.makeExtended(domain, {
        qpType: "rawPacket",
        sendCq: queue,
        recvCq: queue,
        cap,
        createFlags: ["scatterFcs", "cvlanStripping"],
        maxTsoHeader: 0xfffe,
        sourceQpn: 0xabcdef,
        rxHashConf: { rxHashKey: Uint8Array.of(1, 2, 0xff), rxHashFields: ["srcIpv4", "dstPortUdp", "inner"] },
        sendOpsFlags: ["send", "tso", "atomicWrite"]
      })
      assert.deepStrictEqual<object>(echo().last(), {
        op: "create_qp_ex",
        context: address(context),
        qp_context: "0",
        send_cq: address(queue),
        recv_cq: address(queue),
        srq: "0",
        ...plainCap,
        qp_type: "8",
        sq_sig_all: "0",
        comp_mask: String(1 | 4 | 8 | 32 | 64),
        pd: address(domain),
        xrcd: "0",
        create_flags: String((1 << 8) | (1 << 9) | (1 << 10)),
        max_tso_header: "65534",
        rwq_ind_tbl: "0",
        "rx_hash_conf.rx_hash_function": "1",
        "rx_hash_conf.rx_hash_key_len": "3",
        rx_hash_key: "0102ff",
        "rx_hash_conf.rx_hash_fields_mask": String(0x8000_0081),
        source_qpn: String(0xabcdef),
        send_ops_flags: String((1 << 2) | (1 << 10) | (1 << 12))
      })
      assert.strictEqual(self.cap.maxInlineData, 10)
    }))

  test("the receiving side of XRC has a domain and nothing else, and is opened by its number", () =>
    Effect.gen(function*() {
      const { context } = yield* open()
      const xrcDomain = yield* XrcDomain.open(context)
      const self = yield* QueuePair.makeExtended(xrcDomain, { qpType: "xrcRecv", cap })
      assert.deepStrictEqual<object>(echo().last(), {
        op: "create_qp_ex",
        context: address(context),
        qp_context: "0",
        send_cq: "0",
        recv_cq: "0",
        srq: "0",
        ...plainCap,
        qp_type: "10",
        sq_sig_all: "0",
        comp_mask: "2",
        pd: "0",
        xrcd: address(xrcDomain),
        ...plainEx
      })
      assert.isUndefined(self.domain)
      yield* QueuePair.open(xrcDomain, 0x123456)
      assert.deepStrictEqual<object>(echo().last(), {
        op: "open_qp",
        context: address(context),
        comp_mask: String(1 | 2 | 8),
        qp_num: String(0x123456),
        xrcd: address(xrcDomain),
        qp_context: "0",
        qp_type: "10"
      })
    }))

  test("a provider that says nothing refuses with number 0, and leaves nothing", () =>
    Effect.gen(function*() {
      const { domain, queue } = yield* open()
      const live = echo().live()
      echo().script("create_qp_ex", {})
      const error = yield* Effect.flip(QueuePair.makeExtended(domain, {
        qpType: "rawPacket",
        sendCq: queue,
        recvCq: queue,
        rxHashConf: { rxHashKey: new Uint8Array(40), rxHashFields: [] }
      }))
      assert.deepInclude<object>(error, { call: "ibv_create_qp_ex" })
      assert.strictEqual(error._tag === "VerbsError" && error.reason.errno, 0)
      echo().script("create_qp", { errno: 12 })
      const full = yield* Effect.flip(QueuePair.make(domain, { qpType: "rc", sendCq: queue, recvCq: queue }))
      assert.strictEqual(full._tag === "VerbsError" && full.reason._tag, "ENOMEM")
      assert.strictEqual(echo().live(), live)
    }))

  test("operations that the library lacks are EOPNOTSUPP", () =>
    Effect.gen(function*() {
      const context = yield* DeviceContext.openByName("echo3")
      const domain = yield* ProtectionDomain.alloc(context)
      const queue = yield* CompletionQueue.make(context, { cqe: 8 })
      echo().calls()
      const attempts: ReadonlyArray<readonly [string, Effect.Effect<unknown, unknown, never>]> = [
        ["ibv_open_xrcd", Effect.scoped(XrcDomain.open(context))],
        [
          "ibv_create_qp_ex",
          Effect.scoped(
            QueuePair.makeExtended(domain, { qpType: "ud", sendCq: queue, recvCq: queue, sendOpsFlags: ["send"] })
          )
        ],
        [
          "ibv_create_srq_ex",
          Effect.scoped(
            SharedReceiveQueue.makeExtended(domain, {
              srqType: "tm",
              maxWr: 1,
              completionQueue: queue,
              tmCap: { maxNumTags: 1 }
            })
          )
        ]
      ]
      for (const [call, attempt] of attempts) {
        const error = yield* Effect.flip(attempt)
        assert.deepInclude<unknown>(error, { call })
        assert.propertyVal((error as { readonly reason: object }).reason, "_tag", "EOPNOTSUPP")
      }
      assert.deepStrictEqual(echo().calls(), [])
    }))

  const nothing = {
    qp_state: "0",
    cur_qp_state: "0",
    path_mtu: "0",
    path_mig_state: "0",
    qkey: "0",
    rq_psn: "0",
    sq_psn: "0",
    dest_qp_num: "0",
    qp_access_flags: "0",
    max_send_wr: "0",
    max_recv_wr: "0",
    max_send_sge: "0",
    max_recv_sge: "0",
    max_inline_data: "0",
    "ah_attr.dgid": "00".repeat(16),
    ah_attr: "0 0 0 0 0 0 0 0 0 0",
    "alt_ah_attr.dgid": "00".repeat(16),
    alt_ah_attr: "0 0 0 0 0 0 0 0 0 0",
    pkey_index: "0",
    alt_pkey_index: "0",
    en_sqd_async_notify: "0",
    max_rd_atomic: "0",
    max_dest_rd_atomic: "0",
    min_rnr_timer: "0",
    port_num: "0",
    timeout: "0",
    retry_cnt: "0",
    rnr_retry: "0",
    alt_port_num: "0",
    alt_timeout: "0",
    rate_limit: "0"
  }

  test("every attribute of a change is in its field, and its bit in the mask", () =>
    Effect.gen(function*() {
      const { self } = yield* pair()
      const of = { op: "modify_qp", qp: address(self), ...nothing }
      const changes = [
        [{ qpState: "err" }, 1, { qp_state: "6" }],
        [{ qpState: "sqe" }, 1, { qp_state: "5" }],
        [{ curQpState: "rts" }, 2, { cur_qp_state: "3" }],
        [{ enSqdAsyncNotify: true }, 4, { en_sqd_async_notify: "1" }],
        [{ qpAccessFlags: ["remoteWrite", "remoteRead", "remoteAtomic"] }, 8, { qp_access_flags: "14" }],
        [{ qpAccessFlags: [] }, 8, {}],
        [{ pkeyIndex: 0xfffe }, 16, { pkey_index: "65534" }],
        [{ portNum: 255 }, 32, { port_num: "255" }],
        [{ qkey: 0xffff_fffe }, 64, { qkey: "4294967294" }],
        [{ pathMtu: 4096 }, 256, { path_mtu: "5" }],
        [{ timeout: 31 }, 512, { timeout: "31" }],
        [{ retryCnt: 7 }, 1024, { retry_cnt: "7" }],
        [{ rnrRetry: 6 }, 2048, { rnr_retry: "6" }],
        [{ rqPsn: 0xfffffe }, 4096, { rq_psn: "16777214" }],
        [{ maxRdAtomic: 255 }, 8192, { max_rd_atomic: "255" }],
        [{ minRnrTimer: 30 }, 32768, { min_rnr_timer: "30" }],
        [{ sqPsn: 0xfffffd }, 65536, { sq_psn: "16777213" }],
        [{ maxDestRdAtomic: 254 }, 131072, { max_dest_rd_atomic: "254" }],
        [{ pathMigState: "rearm" }, 262144, { path_mig_state: "1" }],
        [{ cap }, 524288, plainCap],
        [{ destQpNum: 0xfffffc }, 1048576, { dest_qp_num: "16777212" }],
        [{ rateLimit: 0xffff_fffd }, 33554432, { rate_limit: "4294967293" }]
      ] as const
      for (const [change, mask, fields] of changes) {
        yield* QueuePair.modify(self, change)
        assert.deepStrictEqual<object>(echo().last(), { ...of, mask: String(mask), ...fields }, JSON.stringify(change))
      }
      echo().calls()
    }))

  test("the path and the alternate path of a change are in their fields", () =>
    Effect.gen(function*() {
      const { self } = yield* pair()
      const grh = { dgid: "fe80::1:2", flowLabel: 0xabcde, sgidIndex: 3, hopLimit: 4, trafficClass: 5 }
      const ahAttr = { portNum: 9, dlid: 0xfffe, sl: 15, srcPathBits: 127, staticRate: "100Gbps", grh } as const
      yield* QueuePair.modify(self, {
        ahAttr,
        altPath: { ahAttr: { portNum: 2, dlid: 7 }, pkeyIndex: 8, portNum: 3, timeout: 21 }
      })
      assert.deepStrictEqual<object>(echo().last(), {
        op: "modify_qp",
        qp: address(self),
        ...nothing,
        mask: String(128 | 16384),
        "ah_attr.dgid": "fe800000000000000000000000010002",
        ah_attr: `${0xabcde} 3 4 5 65534 15 127 16 1 9`,
        alt_ah_attr: "0 0 0 0 7 0 0 0 0 2",
        alt_pkey_index: "8",
        alt_port_num: "3",
        alt_timeout: "21"
      })
      echo().calls()
    }))

  test("every attribute that a query finds comes back", () =>
    Effect.gen(function*() {
      const { self } = yield* pair()
      const { attributes, cap } = yield* QueuePair.query(self)
      assert.deepStrictEqual(echo().last(), { op: "query_qp", qp: address(self), mask: String(0x1f_ffff) })
      const { ahAttr, altPath, ...plain } = attributes
      assert.deepStrictEqual<object>(plain, {
        qpState: "sqe",
        curQpState: "sqd",
        pathMtu: 2048,
        pathMigState: "armed",
        qkey: 0x8000_0001,
        rqPsn: 0xfffffe,
        sqPsn: 0xfffffd,
        destQpNum: 0xfffffc,
        qpAccessFlags: ["remoteWrite", "remoteAtomic"],
        cap: { maxSendWr: 1, maxRecvWr: 2, maxSendSge: 3, maxRecvSge: 4, maxInlineData: 5 },
        pkeyIndex: 0xffff,
        enSqdAsyncNotify: true,
        sqDraining: true,
        maxRdAtomic: 16,
        maxDestRdAtomic: 32,
        minRnrTimer: 31,
        portNum: 2,
        timeout: 30,
        retryCnt: 6,
        rnrRetry: 5,
        rateLimit: 0x8000_0004
      })
      assert.deepInclude<unknown>(ahAttr, { portNum: 2, dlid: 0x1234, sl: 6, staticRate: "100Gbps" })
      assert.strictEqual(ahAttr?.grh?.sgidIndex, 253)
      assert.deepInclude<unknown>(altPath, { portNum: 1, pkeyIndex: 0xfffe, timeout: 29 })
      assert.isUndefined(altPath?.ahAttr.grh)
      assert.deepStrictEqual<object>(cap, {
        maxSendWr: 11,
        maxRecvWr: 12,
        maxSendSge: 13,
        maxRecvSge: 14,
        maxInlineData: 15
      })
    }))

  test("a refused change is compared with the table by the state that the device is in", () =>
    Effect.gen(function*() {
      const { self } = yield* pair()
      // errno tells something else: it is the returned number that counts.
      echo().script("modify_qp", { result: 22, errno: 1 })
      const error = yield* Effect.flip(QueuePair.toReset(self))
      assert.deepInclude(error.reason, { _tag: "EINVAL" })
      echo().script("modify_qp", { result: 22 })
      const late = yield* Effect.flip(QueuePair.toRts(self, { sqPsn: 1, minRnrTimer: 2 }))
      assert.include(late.message, "RC SQE to RTS does not take")
      assert.deepStrictEqual(names(echo().calls()), ["modify_qp", "query_qp", "modify_qp", "query_qp"])
      echo().script("modify_qp", { result: 22 })
      echo().script("query_qp", { result: 5 })
      assert.include((yield* Effect.flip(QueuePair.toReset(self))).message, "cannot be asked")
    }))

  test("the options of a connection: every field both ways", () =>
    Effect.gen(function*() {
      const { self } = yield* pair()
      const ece = { vendorId: 0x15b3, options: 0x8000_0001, compMask: 0x8000_0002 }
      assert.deepStrictEqual(yield* QueuePair.queryEce(self), ece)
      yield* QueuePair.setEce(self, ece)
      assert.deepStrictEqual<object>(echo().last(), {
        op: "set_ece",
        qp: address(self),
        vendor_id: "5555",
        options: "2147483649",
        comp_mask: "2147483650"
      })
      echo().script("set_ece", { result: 95 })
      assert.deepInclude<object>(yield* Effect.flip(QueuePair.setEce(self, ece)), { call: "ibv_set_ece" })
    }))

  test("a group is attached and detached by the same GID and LID", () =>
    Effect.gen(function*() {
      const { domain, queue } = yield* open()
      const self = yield* QueuePair.make(domain, { qpType: "ud", sendCq: queue, recvCq: queue })
      echo().calls()
      yield* Effect.scoped(MulticastAttachment.attach(self, { gid: "ff12::abcd", mlid: 0xc0de }))
      const of = { qp: address(self), gid: "ff12000000000000000000000000abcd", lid: String(0xc0de) }
      assert.deepStrictEqual(echo().calls(), [{ op: "attach_mcast", ...of }, { op: "detach_mcast", ...of }])
      echo().script("attach_mcast", { result: 12 })
      const error = yield* Effect.flip(MulticastAttachment.attach(self, { gid: "ff12::1" }))
      assert.deepInclude<object>(error, { call: "ibv_attach_mcast" })
      assert.deepStrictEqual(names(echo().calls()), ["attach_mcast"])
    }))

  test("queue pairs go before everything that they are made on", () =>
    Effect.gen(function*() {
      yield* Effect.scoped(Effect.gen(function*() {
        const { domain, queue } = yield* open()
        const xrcDomain = yield* XrcDomain.open(domain.context)
        const srq = yield* SharedReceiveQueue.make(domain, { maxWr: 1 })
        yield* QueuePair.make(domain, { qpType: "rc", sendCq: queue, recvCq: queue, srq })
        yield* QueuePair.makeExtended(xrcDomain, { qpType: "xrcRecv" })
        echo().calls()
      }))
      assert.deepStrictEqual(names(echo().calls()), [
        "destroy_qp",
        "destroy_qp",
        "destroy_srq",
        "close_xrcd",
        "destroy_cq",
        "dealloc_pd",
        "close_device"
      ])
    }))
})
