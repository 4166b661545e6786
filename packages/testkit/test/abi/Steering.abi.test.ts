/**
 * Work queues, flows, flow actions and counters on the echo provider: no kernel of a test machine has them.
 */
import * as CreationSite from "@effect-rdma/core/CreationSite"
import * as Errno from "@effect-rdma/core/Errno"
import * as Identifier from "@effect-rdma/core/Identifier"
import * as Pointer from "@effect-rdma/core/Pointer"
import * as Resource from "@effect-rdma/core/Resource"
import * as Lane from "@effect-rdma/testkit/conformance/Lane"
import * as CompletionQueue from "@effect-rdma/verbs/CompletionQueue"
import * as Counters from "@effect-rdma/verbs/Counters"
import * as DeviceContext from "@effect-rdma/verbs/DeviceContext"
import * as Flow from "@effect-rdma/verbs/Flow"
import * as FlowAction from "@effect-rdma/verbs/FlowAction"
import * as ProtectionDomain from "@effect-rdma/verbs/ProtectionDomain"
import type * as QueuePair from "@effect-rdma/verbs/QueuePair"
import * as RwqIndTable from "@effect-rdma/verbs/RwqIndTable"
import * as Verbs from "@effect-rdma/verbs/Verbs"
import type { VerbsError } from "@effect-rdma/verbs/VerbsError"
import * as WorkQueue from "@effect-rdma/verbs/WorkQueue"
import { assert, describe } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import * as Compiler from "./Compiler.ts"
import * as Echo from "./Echo.ts"

const names = (calls: ReadonlyArray<Echo.Report>) => calls.map(({ op }) => op)
const address = (handle: Resource.Resource<string, bigint>) => String(Resource.raw(handle))

const pd = Pointer.make<"ibv_pd">(0x1000n)
const cq = Pointer.make<"ibv_cq">(0xffff_ffff_ffff_f000n)
const key = Uint8Array.from({ length: 32 }, (_, index) => index + 1)
const keyText = Buffer.from(key).toString("hex")

const reasonOf = (error: VerbsError | Schema.SchemaError) =>
  "reason" in error ? { call: error.call, errno: error.reason.errno } : error.message

describe.skipIf(Compiler.missing !== undefined)("steering", () => {
  const lane = Echo.lane()
  const test = Lane.test(lane)
  const { echo } = lane
  const open = DeviceContext.openByName("echo0")

  /** A queue pair for flows, whose making is no concern here. */
  const queuePair = (context: DeviceContext.DeviceContext) => Effect.map(made(context), withoutWork)

  // Nothing is ever posted to it.
  const withoutWork = (self: Effect.Success<ReturnType<typeof made>>) => self as QueuePair.QueuePair<"rawPacket">

  const made = (context: DeviceContext.DeviceContext) =>
    Resource.make({
      kind: "QueuePair",
      pair: ["echo_qp", "echo_free"],
      site: CreationSite.capture(made),
      parents: [context],
      acquire: Effect.sync(() => echo().qp(Resource.raw(context))),
      release: (qp) => Effect.sync(() => echo().free(qp)),
      fields: (): Omit<QueuePair.QueuePair<"rawPacket">, keyof Resource.Resource<"QueuePair"> | "work"> => ({
        context,
        domain: undefined,
        xrcDomain: undefined,
        sendCq: undefined,
        recvCq: undefined,
        srq: undefined,
        qpType: "rawPacket",
        qpNum: Identifier.Qpn.make(1),
        cap: { maxSendWr: 0, maxRecvWr: 0, maxSendSge: 0, maxRecvSge: 0, maxInlineData: 0 },
        sendOpsFlags: []
      })
    })

  const lastly = () => {
    const { op: _, ...fields } = echo().last()
    return fields
  }

  // ---------------------------------------------------------------------------
  // Work queues
  // ---------------------------------------------------------------------------

  test("a work queue is made from every field, gets its room from the device and is initialised as the header does", () =>
    Effect.gen(function*() {
      const context = yield* open
      const { createWq, destroyWq } = yield* Verbs.Verbs
      const made = yield* createWq(Resource.raw(context), {
        pd,
        cq,
        maxWr: 0x7fff_ffff,
        maxSge: 30,
        createFlags: ["pciWriteEndPadding", "cvlanStripping", "delayDrop", "scatterFcs"]
      })
      assert.deepStrictEqual(lastly(), {
        context: address(context),
        wq_context: "0",
        wq_type: "0",
        max_wr: "2147483647",
        max_sge: "30",
        pd: String(pd),
        cq: String(cq),
        comp_mask: "1",
        create_flags: "15"
      })
      assert.deepStrictEqual({ ...made, wq: 0n }, { wq: 0n, wqNum: 0xabcdef, maxWr: 0xffff_fffe, maxSge: 33 })
      yield* destroyWq(made.wq)
      assert.deepStrictEqual(lastly(), {
        wq: String(made.wq),
        context: address(context),
        wq_context: "0",
        events_completed: "0",
        mutex: "0",
        cond: "0"
      })
    }))

  test("a work queue without flags says so in its mask", () =>
    Effect.gen(function*() {
      const context = yield* open
      const { createWq, destroyWq } = yield* Verbs.Verbs
      const { wq } = yield* createWq(Resource.raw(context), { pd, cq, maxWr: 1, maxSge: 1, createFlags: [] })
      assert.deepInclude(echo().last(), { comp_mask: "0", create_flags: "0" })
      yield* destroyWq(wq)
    }))

  test("a change of a work queue has the bits of what it names", () =>
    Effect.gen(function*() {
      const context = yield* open
      const domain = yield* ProtectionDomain.alloc(context)
      const queue = yield* CompletionQueue.make(context, { cqe: 8 })
      const work = yield* WorkQueue.make(domain, queue, { maxWr: 4 })
      const fields = {
        wq: address(work),
        attr_mask: "0",
        wq_state: "0",
        curr_wq_state: "0",
        flags: "0",
        flags_mask: "0"
      }
      yield* WorkQueue.modify(work, {})
      assert.deepStrictEqual(lastly(), fields)
      yield* WorkQueue.modify(work, { wqState: "rdy" })
      assert.deepStrictEqual(lastly(), { ...fields, attr_mask: "1", wq_state: "1" })
      yield* WorkQueue.modify(work, { wqState: "reset", currWqState: "err" })
      assert.deepStrictEqual(lastly(), { ...fields, attr_mask: "3", curr_wq_state: "2" })
      yield* WorkQueue.modify(work, { flags: { cvlanStripping: true, scatterFcs: false, pciWriteEndPadding: true } })
      assert.deepStrictEqual(lastly(), { ...fields, attr_mask: "4", flags: "9", flags_mask: "11" })
    }))

  test("a table holds its work queues in order and goes before them", () =>
    Effect.gen(function*() {
      yield* Effect.scoped(Effect.gen(function*() {
        const context = yield* open
        const domain = yield* ProtectionDomain.alloc(context)
        const queue = yield* CompletionQueue.make(context, { cqe: 8 })
        const one = yield* WorkQueue.make(domain, queue, { maxWr: 4 })
        const other = yield* WorkQueue.make(domain, queue, { maxWr: 4 })
        const table = yield* RwqIndTable.make([one, other, other, one])
        assert.deepStrictEqual(lastly(), {
          context: address(context),
          log_ind_tbl_size: "2",
          comp_mask: "0",
          ind_tbl0: address(one),
          ind_tbl1: address(other),
          ind_tbl2: address(other),
          ind_tbl3: address(one)
        })
        assert.deepStrictEqual(table.workQueues, [one, other, other, one])
        echo().calls()
      }))
      assert.deepStrictEqual(names(echo().calls()).slice(0, 3), ["destroy_rwq_ind_table", "destroy_wq", "destroy_wq"])
    }))

  test("a table of one work queue has the size 2 to the power of 0", () =>
    Effect.gen(function*() {
      const context = yield* open
      const { createRwqIndTable, destroyRwqIndTable } = yield* Verbs.Verbs
      const table = yield* createRwqIndTable(Resource.raw(context), [Pointer.make(0x8000_0000_0000_0001n)])
      assert.deepInclude(echo().last(), { log_ind_tbl_size: "0", ind_tbl0: "9223372036854775809" })
      yield* destroyRwqIndTable(table)
      assert.deepInclude(echo().last(), { table: String(table), context: address(context) })
    }))

  // ---------------------------------------------------------------------------
  // Flows
  // ---------------------------------------------------------------------------

  test("a flow has every field of its head, and its specifications one behind the other as C reads them", () =>
    Effect.gen(function*() {
      const context = yield* open
      const pair = yield* queuePair(context)
      const action = yield* FlowAction.makeEsp(context, { keymat: { aesKey: key } })
      const counters = yield* Counters.make(context)
      yield* Flow.make(pair, {
        type: "sniffer",
        priority: 0xfedc,
        port: 255,
        flags: ["egress", "dontTrap"],
        specs: [
          { _tag: "Eth", val: { dstMac: "01:02:03:04:05:06", etherType: 0x86dd, vlanTag: 0x0fff } },
          { _tag: "ActionTag", tagId: 0xffff_ffff },
          { _tag: "Udp", inner: true, val: { dstPort: 4791 }, mask: { srcPort: 0xff } },
          { _tag: "ActionHandle", action },
          { _tag: "Ipv6", val: { dstIp: "fe80::1", flowLabel: 0xabcde } },
          { _tag: "ActionCount", counters },
          { _tag: "ActionDrop" }
        ]
      })
      assert.deepStrictEqual(lastly(), {
        qp: address(pair),
        comp_mask: "0",
        type: "3",
        size: String(20 + 40 + 12 + 16 + 16 + 88 + 16 + 8),
        priority: "65244",
        num_of_specs: "7",
        port: "255",
        flags: "6",
        "spec0.type": "20",
        "spec0.size": "40",
        "spec0.val.dst_mac": "010203040506",
        "spec0.mask.dst_mac": "ffffffffffff",
        "spec0.val.src_mac": "000000000000",
        "spec0.mask.src_mac": "000000000000",
        "spec0.val.ether_type": "86dd",
        "spec0.mask.ether_type": "ffff",
        "spec0.val.vlan_tag": "0fff",
        "spec0.mask.vlan_tag": "ffff",
        "spec1.type": "1000",
        "spec1.size": "12",
        "spec1.flow_tag.tag_id": "4294967295",
        "spec2.type": "141",
        "spec2.size": "16",
        "spec2.val.dst_port": "12b7",
        "spec2.mask.dst_port": "ffff",
        "spec2.val.src_port": "0000",
        "spec2.mask.src_port": "00ff",
        "spec3.type": "1002",
        "spec3.size": "16",
        "spec3.action": address(action),
        "spec4.type": "31",
        "spec4.size": "88",
        "spec4.val.src_ip": "00".repeat(16),
        "spec4.mask.src_ip": "00".repeat(16),
        "spec4.val.dst_ip": `fe80${"00".repeat(13)}01`,
        "spec4.mask.dst_ip": "ff".repeat(16),
        "spec4.val.flow_label": "000abcde",
        "spec4.mask.flow_label": "000fffff",
        "spec4.val.next_hdr": "0",
        "spec4.mask.next_hdr": "0",
        "spec4.val.traffic_class": "0",
        "spec4.mask.traffic_class": "0",
        "spec4.val.hop_limit": "0",
        "spec4.mask.hop_limit": "0",
        "spec5.type": "1003",
        "spec5.size": "16",
        "spec5.counters": address(counters),
        "spec6.type": "1001",
        "spec6.size": "8",
        end: "216"
      })
    }))

  test("a flow goes before its queue pair, its action and its counters, whichever scope closes first", () =>
    Effect.gen(function*() {
      const context = yield* open
      for (const first of ["pair", "action", "counters"] as const) {
        const scopes = {
          pair: yield* Scope.fork(yield* Effect.scope),
          action: yield* Scope.fork(yield* Effect.scope),
          counters: yield* Scope.fork(yield* Effect.scope)
        }
        const pair = yield* queuePair(context).pipe(Scope.provide(scopes.pair))
        const action = yield* FlowAction.makeEsp(context, { keymat: { aesKey: key } }).pipe(
          Scope.provide(scopes.action)
        )
        const counters = yield* Counters.make(context).pipe(Scope.provide(scopes.counters))
        const flow = yield* Flow.make(pair, {
          port: 1,
          specs: [{ _tag: "ActionHandle", action }, { _tag: "ActionCount", counters }]
        })
        const raw = address(flow)
        echo().calls()
        yield* Scope.close(scopes[first], Exit.void)
        const calls = echo().calls()
        assert.deepStrictEqual(calls[0], { op: "destroy_flow", flow: raw, context: address(context) })
        assert.isFalse(Resource.isLive(flow))
        for (const scope of Object.values(scopes)) yield* Scope.close(scope, Exit.void)
      }
    }))

  test("a flow with objects of another device is EINVAL, and C is not asked", () =>
    Effect.gen(function*() {
      const context = yield* open
      const other = yield* open
      const pair = yield* queuePair(context)
      const counters = yield* Counters.make(other)
      echo().calls()
      const error = yield* Effect.flip(Flow.make(pair, { port: 1, specs: [{ _tag: "ActionCount", counters }] }))
      assert.deepInclude(error, { call: "ibv_create_flow" })
      assert.deepStrictEqual(echo().calls(), [])
    }))

  // ---------------------------------------------------------------------------
  // Flow actions
  // ---------------------------------------------------------------------------

  test("an ESP action carries every field of the structs that it points to", () =>
    Effect.gen(function*() {
      const context = yield* open
      const action = yield* FlowAction.makeEsp(context, {
        espAttr: {
          spi: 1,
          seq: 2,
          tfcPad: 3,
          hardLimitPkts: 0xffff_ffff_ffff_fffen,
          offload: "fullOffload",
          mode: "transport",
          direction: "encrypt",
          esnNewWindow: true
        },
        keymat: { iv: 0x8000_0000_0000_0001n, salt: 0xdead_beef, icvLen: 12, aesKey: key },
        replay: { size: 64 },
        esn: 0xffff_ffff
      })
      const header = {
        "esp_attr->spi": "1",
        "esp_attr->seq": "2",
        "esp_attr->tfc_pad": "3",
        "esp_attr->flags": "15",
        "esp_attr->hard_limit_pkts": "18446744073709551614"
      }
      assert.deepStrictEqual(lastly(), {
        context: address(context),
        keymat_proto: "0",
        keymat_len: "56",
        replay_proto: "1",
        replay_len: "4",
        esp_encap: "0",
        comp_mask: "1",
        esn: "4294967295",
        ...header,
        iv: "9223372036854775809",
        iv_algo: "0",
        salt: "3735928559",
        icv_len: "12",
        key_len: "32",
        aes_key: keyText,
        "replay.size": "64"
      })
      const nothing = {
        action: address(action),
        keymat_proto: "0",
        keymat_len: "0",
        replay_proto: "0",
        replay_len: "0",
        esp_encap: "0",
        comp_mask: "0",
        esn: "0"
      }
      yield* FlowAction.modifyEsp(action, {})
      assert.deepStrictEqual(lastly(), nothing)
      yield* FlowAction.modifyEsp(action, { esn: 7, espAttr: { esnNewWindow: true } })
      assert.deepStrictEqual(lastly(), {
        ...nothing,
        comp_mask: "1",
        esn: "7",
        "esp_attr->spi": "0",
        "esp_attr->seq": "0",
        "esp_attr->tfc_pad": "0",
        "esp_attr->flags": "8",
        "esp_attr->hard_limit_pkts": "0"
      })
    }))

  test("a short key is padded and its length is told", () =>
    Effect.gen(function*() {
      const context = yield* open
      yield* FlowAction.makeEsp(context, { keymat: { aesKey: key.subarray(0, 16) } })
      assert.deepInclude(echo().last(), {
        key_len: "16",
        icv_len: "16",
        aes_key: keyText.slice(0, 32) + "00".repeat(16),
        comp_mask: "0",
        "esp_attr->flags": "0",
        replay_proto: "0"
      })
    }))

  // ---------------------------------------------------------------------------
  // Counters
  // ---------------------------------------------------------------------------

  test("counters are attached by description and index and read in 64 bits", () =>
    Effect.gen(function*() {
      const context = yield* open
      const counters = yield* Counters.make(context)
      assert.deepStrictEqual(lastly(), { context: address(context), comp_mask: "0" })
      yield* Counters.attachPointFlow(counters, { counterDesc: "bytes", index: 0xffff_ffff })
      const attached = {
        counters: address(counters),
        counter_desc: "1",
        index: "4294967295",
        comp_mask: "0",
        flow: "0"
      }
      assert.deepStrictEqual(lastly(), attached)
      const flow = yield* Flow.make(yield* queuePair(context), { port: 1 })
      yield* Counters.attachPointFlow(counters, { counterDesc: "packets", index: 1 }, flow)
      assert.deepStrictEqual(lastly(), { ...attached, counter_desc: "0", index: "1", flow: address(flow) })
      assert.deepStrictEqual(yield* Counters.read(counters, 3), [
        0xfedc_ba98_7654_3210n,
        0xfedc_ba98_7654_3211n,
        0xfedc_ba98_7654_3212n
      ])
      assert.deepStrictEqual(lastly(), { counters: address(counters), ncounters: "3", flags: "0" })
      yield* Counters.read(counters, 1, { preferCached: true })
      assert.deepInclude(echo().last(), { ncounters: "1", flags: "1" })
    }))

  // ---------------------------------------------------------------------------
  // Failures
  // ---------------------------------------------------------------------------

  type Attempt = (all: {
    readonly context: DeviceContext.DeviceContext
    readonly pair: QueuePair.QueuePair
    readonly counters: Counters.Counters
    readonly action: FlowAction.FlowAction
    readonly work: WorkQueue.WorkQueue
  }) => Effect.Effect<unknown, VerbsError | Schema.SchemaError, Scope.Scope>

  const creates: { readonly [op: string]: Attempt } = {
    create_wq: ({ work }) => WorkQueue.make(work.domain, work.completionQueue, { maxWr: 1 }),
    create_rwq_ind_table: ({ work }) => RwqIndTable.make([work]),
    create_flow: ({ pair }) => Flow.make(pair, { port: 1 }),
    create_flow_action_esp: ({ context }) => FlowAction.makeEsp(context, { keymat: { aesKey: key } }),
    create_counters: ({ context }) => Counters.make(context)
  }

  const changes: { readonly [op: string]: Attempt } = {
    modify_wq: ({ work }) => WorkQueue.modify(work, { wqState: "rdy" }),
    modify_flow_action_esp: ({ action }) => FlowAction.modifyEsp(action, { esn: 1 }),
    attach_counters_point_flow: ({ counters }) =>
      Counters.attachPointFlow(counters, { counterDesc: "bytes", index: 0 }),
    read_counters: ({ counters }) => Counters.read(counters, 1)
  }

  const everything = Effect.gen(function*() {
    const context = yield* open
    const domain = yield* ProtectionDomain.alloc(context)
    const queue = yield* CompletionQueue.make(context, { cqe: 8 })
    return {
      context,
      pair: yield* queuePair(context),
      counters: yield* Counters.make(context),
      action: yield* FlowAction.makeEsp(context, { keymat: { aesKey: key } }),
      work: yield* WorkQueue.make(domain, queue, { maxWr: 4 })
    }
  })

  test("what is refused has the errno that C left, or none, and leaves nothing", () =>
    Effect.gen(function*() {
      const all = yield* everything
      const live = echo().live()
      for (const [op, attempt] of Object.entries(creates)) {
        for (const errno of ["ENOMEM", "EBUSY", "EPERM", "EOPNOTSUPP"] as const) {
          echo().script(op, { errno: Errno.numberOf(errno) })
          const error = yield* Effect.flip(Effect.scoped(attempt(all)))
          assert.deepStrictEqual(reasonOf(error), { call: `ibv_${op}`, errno: Errno.numberOf(errno) })
        }
        echo().script(op, {})
        assert.deepStrictEqual(reasonOf(yield* Effect.flip(Effect.scoped(attempt(all)))), {
          call: `ibv_${op}`,
          errno: 0
        })
      }
      assert.strictEqual(echo().live(), live)
    }))

  test("what returns an errno fails with that, whatever errno is", () =>
    Effect.gen(function*() {
      const all = yield* everything
      for (const [op, attempt] of Object.entries(changes)) {
        for (const errno of ["EINVAL", "EBUSY", "EOPNOTSUPP"] as const) {
          echo().script(op, { result: Errno.numberOf(errno), errno: 1 })
          const error = yield* Effect.flip(Effect.scoped(attempt(all)))
          assert.deepStrictEqual(reasonOf(error), { call: `ibv_${op}`, errno: Errno.numberOf(errno) })
        }
      }
    }))

  test("what a release returns is its failure", () =>
    Effect.gen(function*() {
      const verbs = yield* Verbs.Verbs
      const context = Resource.raw(yield* open)
      const qp = echo().qp(context)
      const releases = {
        destroy_wq: Effect.map(
          verbs.createWq(context, { pd, cq, maxWr: 1, maxSge: 1, createFlags: [] }),
          ({ wq }) => verbs.destroyWq(wq)
        ),
        destroy_rwq_ind_table: Effect.map(
          verbs.createRwqIndTable(context, [Pointer.make(1n)]),
          (table) => verbs.destroyRwqIndTable(table)
        ),
        destroy_flow_action: Effect.map(
          verbs.createFlowActionEsp(context, {
            espAttr: {
              spi: 0,
              seq: 0,
              tfcPad: 0,
              hardLimitPkts: 0n,
              offload: "inlineCrypto",
              mode: "tunnel",
              direction: "decrypt",
              esnNewWindow: false
            },
            keymat: { iv: 0n, ivAlgo: "seq", salt: 0, icvLen: 16, aesKey: key }
          }),
          (action) => verbs.destroyFlowAction(action)
        ),
        destroy_counters: Effect.map(verbs.createCounters(context), (counters) => verbs.destroyCounters(counters))
      }
      for (const [op, make] of Object.entries(releases)) {
        const release = yield* make
        for (const errno of ["EBUSY", "EIO"] as const) {
          echo().script(op, { result: Errno.numberOf(errno), errno: 1 })
          assert.deepStrictEqual(reasonOf(yield* Effect.flip(release)), {
            call: `ibv_${op}`,
            errno: Errno.numberOf(errno)
          })
        }
        yield* release
      }
      echo().free(qp)
    }))

  test("a library without these operations refuses each of them and is not called", () =>
    Effect.gen(function*() {
      const verbs = yield* Verbs.Verbs
      const context = yield* DeviceContext.openByName("echo3")
      const raw = Resource.raw(context)
      echo().calls()
      const attempts = [
        verbs.createWq(raw, { pd, cq, maxWr: 1, maxSge: 1, createFlags: [] }),
        verbs.createRwqIndTable(raw, [Pointer.make(1n)]),
        Counters.make(context),
        FlowAction.makeEsp(context, { keymat: { aesKey: key } }),
        Effect.flatMap(queuePair(context), (pair) => Flow.make(pair, { port: 1 })),
        DeviceContext.queryRtValues(context)
      ]
      for (const attempt of attempts) {
        const error = yield* Effect.flip(Effect.scoped<unknown, VerbsError | Schema.SchemaError, Scope.Scope>(attempt))
        assert.deepInclude("reason" in error ? error.reason : error, { _tag: "EOPNOTSUPP" })
      }
      assert.deepStrictEqual(echo().calls(), [])
    }))
})
