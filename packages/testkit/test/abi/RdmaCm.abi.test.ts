/**
 * librdmacm on the echo provider: every field that C receives and gives back, most of which no network of a test machine
 * could show.
 */
import * as Gid from "@effect-rdma/core/Gid"
import * as Identifier from "@effect-rdma/core/Identifier"
import * as Library from "@effect-rdma/core/Library"
import * as Pointer from "@effect-rdma/core/Pointer"
import type * as CmAddress from "@effect-rdma/rdmacm/CmAddress"
import type * as CmEvent from "@effect-rdma/rdmacm/CmEvent"
import type * as PortSpace from "@effect-rdma/rdmacm/PortSpace"
import { RdmaCm } from "@effect-rdma/rdmacm/RdmaCm"
import type { RdmaCmError } from "@effect-rdma/rdmacm/RdmaCmError"
import type * as Queue from "@effect-rdma/verbs/operations/Queue"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as NetAddress from "effect/net/NetAddress"
import * as Compiler from "./Compiler.ts"
import * as Echo from "./Echo.ts"

const parameters = {
  privateData: Uint8Array.of(9, 8, 7),
  responderResources: 1,
  initiatorDepth: 2,
  flowControl: true,
  retryCount: 3,
  rnrRetryCount: 4,
  srq: true,
  qpNum: Identifier.Qpn.make(0xabcdef)
}

const reportedParameters = {
  private_data: "090807",
  responder_resources: "1",
  initiator_depth: "2",
  flow_control: "1",
  retry_count: "3",
  rnr_retry_count: "4",
  srq: "1",
  qp_num: String(0xabcdef)
}

const ib: CmAddress.IbAddress = {
  _tag: "IbAddress",
  pkey: 0x8001,
  flowInfo: 0x12345,
  gid: Gid.fromBytes(Uint8Array.from({ length: 16 }, (_, index) => 0xc0 + index)),
  sid: 0x0000_0000_0106_1234n,
  sidMask: 0xffff_ffff_ffff_0000n,
  scopeId: 7n
}
const ibHex = [
  "1b00800100012345",
  "c0c1c2c3c4c5c6c7c8c9cacbcccdcecf",
  "0000000001061234",
  "ffffffffffff0000",
  "0700000000000000"
].join("")
const four = NetAddress.inetAddressFromStringUnsafe("10.0.0.2:1")
const fourHex = "020000010a0000020000000000000000"
const six = NetAddress.inetAddressFromStringUnsafe("[fe80::9%5]:17185")
const sixHex = ["0a00432100000000", "fe800000000000000000000000000009", "05000000"].join("")

const init: Queue.QueuePairInit = {
  qpType: "rc",
  sqSigAll: true,
  cap: { maxSendWr: 1, maxRecvWr: 2, maxSendSge: 3, maxRecvSge: 4, maxInlineData: 5 },
  sendCq: Pointer.make<"ibv_cq">(0x10n),
  recvCq: Pointer.make<"ibv_cq">(0x20n),
  srq: Pointer.make<"ibv_srq">(0x30n)
}
const initReport = {
  send_cq: "16",
  recv_cq: "32",
  srq: "48",
  "cap.max_send_wr": "1",
  "cap.max_recv_wr": "2",
  "cap.max_send_sge": "3",
  "cap.max_recv_sge": "4",
  "cap.max_inline_data": "5",
  qp_type: "2",
  sq_sig_all: "1"
}

/** What an event has beside its type, its status and its id. */
const parts = (event: CmEvent.CmEvent | undefined) => Object.keys(event ?? {}).slice(3)

describe.skipIf(Compiler.missing !== undefined)("librdmacm", () => {
  const { echo } = Echo.lane()
  const test = <E>(name: string, program: () => Effect.Effect<void, E, RdmaCm>) =>
    it.live(name, () =>
      Effect.provide(
        Effect.suspend(program),
        Layer.unwrap(Effect.sync(() => RdmaCm.layerFromPath(echo().path)))
      ))

  /** An id on a channel, for as long as it is used. */
  const withId = <A, E>(
    portSpace: PortSpace.PortSpace,
    use: (
      cm: RdmaCm["Service"],
      id: Pointer.Pointer<"rdma_cm_id">,
      channel: Pointer.Pointer<"rdma_event_channel">
    ) => Effect.Effect<A, E>
  ) =>
    Effect.gen(function*() {
      const cm = yield* RdmaCm
      const channel = yield* cm.createEventChannel
      const id = yield* cm.createId(channel, portSpace)
      echo().calls()
      yield* use(cm, id, channel)
      yield* cm.destroyId(id)
      yield* cm.destroyEventChannel(channel)
    })

  test("an id: every field of its struct", () =>
    Effect.gen(function*() {
      yield* withId("tcp", (cm, id, channel) =>
        Effect.gen(function*() {
          assert.deepStrictEqual(yield* cm.readId(id), {
            channel,
            verbs: Pointer.make<"ibv_context">(0x1110n),
            portNum: 2,
            portSpace: "tcp",
            qpType: "rc",
            localAddress: NetAddress.inetAddressFromStringUnsafe("10.0.0.1:4660"),
            peerAddress: six,
            numPaths: 3,
            qp: undefined,
            srq: undefined,
            pd: Pointer.make<"ibv_pd">(0x2220n),
            sendCq: Pointer.make<"ibv_cq">(0x3330n),
            recvCq: Pointer.make<"ibv_cq">(0x4440n)
          })
        }))
      yield* withId("ib", (cm, id) =>
        Effect.map(cm.readId(id), ({ localAddress, portSpace }) => {
          assert.deepStrictEqual(localAddress, ib)
          assert.strictEqual(portSpace, "ib")
        }))
    }))

  test("what is done on an id: every argument", () =>
    withId("tcp", (cm, id, channel) =>
      Effect.gen(function*() {
        const of = { id: String(id) }
        yield* cm.bindAddr(id, ib)
        yield* cm.resolveAddr(id, undefined, six, 7)
        yield* cm.resolveAddr(id, four, ib, -1)
        yield* cm.resolveRoute(id, 9)
        yield* cm.listen(id, 10)
        yield* cm.connect(id, parameters)
        yield* cm.accept(id, { ...parameters, privateData: new Uint8Array(), flowControl: false, srq: false })
        yield* cm.establish(id)
        yield* cm.reject(id, Uint8Array.of(1, 2))
        yield* cm.reject(id, new Uint8Array())
        yield* cm.rejectEce(id, Uint8Array.of(3))
        yield* cm.notify(id, "commEst")
        yield* cm.notify(id, "pathMig")
        yield* cm.writeCmEvent(id, -5, 2n ** 64n - 1n)
        yield* cm.disconnect(id)
        yield* cm.migrateId(id, channel)
        assert.deepStrictEqual<ReadonlyArray<object>>(echo().calls(), [
          { op: "bind_addr", ...of, addr: ibHex },
          { op: "resolve_addr", ...of, src_addr: "", dst_addr: sixHex, timeout_ms: "7" },
          { op: "resolve_addr", ...of, src_addr: fourHex, dst_addr: ibHex, timeout_ms: "-1" },
          { op: "resolve_route", ...of, timeout_ms: "9" },
          { op: "listen", ...of, backlog: "10" },
          { op: "connect", ...of, ...reportedParameters },
          { op: "accept", ...of, ...reportedParameters, private_data: "", flow_control: "0", srq: "0" },
          { op: "establish", ...of },
          { op: "reject", ...of, private_data: "0102" },
          { op: "reject", ...of, private_data: "" },
          { op: "reject_ece", ...of, private_data: "03" },
          { op: "notify", ...of, event: "4" },
          { op: "notify", ...of, event: "6" },
          { op: "write_cm_event", ...of, event: "18", status: "-5", arg: String(2n ** 64n - 1n) },
          { op: "disconnect", ...of },
          { op: "migrate_id", ...of, channel: String(channel) }
        ])
      })))

  test("options: level, name, and a byte or an int", () =>
    withId("tcp", (cm, id) =>
      Effect.gen(function*() {
        yield* cm.setOption(id, { _tag: "TypeOfService", value: 0x28 })
        yield* cm.setOption(id, { _tag: "ReuseAddress", value: true })
        yield* cm.setOption(id, { _tag: "AddressFamilyOnly", value: false })
        yield* cm.setOption(id, { _tag: "AckTimeout", value: 14 })
        const of = { op: "set_option", id: String(id), level: "0" }
        assert.deepStrictEqual<ReadonlyArray<object>>(echo().calls(), [
          { ...of, optname: "0", optval: "28" },
          { ...of, optname: "1", optval: "01000000" },
          { ...of, optname: "2", optval: "00000000" },
          { ...of, optname: "3", optval: "0e" }
        ])
      })))

  test("the attributes of a queue pair: those of the mask, for each state", () =>
    withId("tcp", (cm, id) =>
      Effect.gen(function*() {
        const { ahAttr, ...rtr } = yield* cm.initQpAttr(id, "rtr")
        assert.deepStrictEqual<object>(yield* cm.initQpAttr(id, "init"), {
          qpState: "init",
          pkeyIndex: 0x102,
          portNum: 2,
          qpAccessFlags: ["remoteWrite", "remoteRead"]
        })
        assert.deepStrictEqual<object>(rtr, {
          qpState: "rtr",
          pathMtu: 2048,
          destQpNum: 0x654321,
          rqPsn: 0xabcdef,
          maxDestRdAtomic: 4,
          minRnrTimer: 5
        })
        assert.deepInclude<object>(ahAttr ?? {}, { portNum: 2, dlid: 0x1234, sl: 6 })
        assert.deepInclude<object>(ahAttr?.grh ?? {}, { sgidIndex: 253, hopLimit: 64 })
        assert.deepStrictEqual<object>(yield* cm.initQpAttr(id, "rts"), {
          qpState: "rts",
          timeout: 14,
          retryCnt: 6,
          rnrRetry: 7,
          sqPsn: 0x123456,
          maxRdAtomic: 3
        })
        assert.deepStrictEqual(echo().calls().map(({ qp_state }) => qp_state), ["2", "1", "3"])
      })))

  test("vendor options both ways, and multicast", () =>
    withId("udp", (cm, id) =>
      Effect.gen(function*() {
        const of = { id: String(id) }
        yield* cm.setLocalEce(id, { vendorId: 0x15b3, options: 0x8000_0002, compMask: 0 })
        assert.deepStrictEqual(yield* cm.getRemoteEce(id), { vendorId: 0x15b3, options: 0x8000_0001, compMask: 3 })
        yield* cm.joinMulticast(id, four, 0x1_0000_0001n)
        yield* cm.joinMulticastEx(id, six, "sendOnlyFullMember", 2n)
        yield* cm.joinMulticastEx(id, ib, "fullMember", 3n)
        yield* cm.leaveMulticast(id, ib)
        assert.deepStrictEqual<ReadonlyArray<object>>(echo().calls(), [
          { op: "set_local_ece", ...of, vendor_id: "5555", options: String(0x8000_0002), comp_mask: "0" },
          { op: "get_remote_ece", ...of },
          { op: "join_multicast", ...of, addr: fourHex, context: String(0x1_0000_0001n) },
          { op: "join_multicast_ex", ...of, comp_mask: "3", join_flags: "1", addr: sixHex, context: "2" },
          { op: "join_multicast_ex", ...of, comp_mask: "3", join_flags: "0", addr: ibHex, context: "3" },
          { op: "leave_multicast", ...of, addr: ibHex }
        ])
      })))

  // ---------------------------------------------------------------------------
  // Events
  // ---------------------------------------------------------------------------

  const eventsOf = (portSpace: PortSpace.PortSpace, check: (events: ReadonlyArray<CmEvent.CmEvent>) => void) =>
    withId(portSpace, (cm, id, channel) =>
      Effect.gen(function*() {
        const library = yield* Library.open({
          name: "echo",
          soname: [echo().path],
          environment: "UNUSED",
          debianPackage: "gcc"
        })
        library.bind("echo_event_of", ["pointer"], "void")(id)
        const events: Array<CmEvent.CmEvent> = []
        for (let type = 0; type < 20; type++) {
          const { event, pointer } = yield* cm.getCmEvent(channel)
          yield* cm.ackCmEvent(pointer)
          events.push(event)
        }
        check(events.map((event) => ({ ...event, id })))
        assert.isTrue(events.every((event) => event.id === id))
        // The copies are ours: C has freed what they came from.
        assert.deepStrictEqual(events.map(({ status }) => status), events.map((_, type) => -(100 + type)))
      }))

  const conn = {
    privateData: Uint8Array.of(1, 2, 3, 4, 5),
    responderResources: 11,
    initiatorDepth: 12,
    flowControl: true,
    retryCount: 6,
    rnrRetryCount: 7,
    srq: true,
    qpNum: Identifier.Qpn.make(0xfedcba)
  }

  test("each event of a connection has the parts that it has in C, and no other", () =>
    eventsOf("tcp", (events) => {
      const byType = new Map(events.map((event) => [event.event, event]))
      assert.deepStrictEqual(parts(byType.get("connectRequest")), ["listenId", "conn"])
      assert.strictEqual(byType.get("connectRequest")?.listenId, Pointer.make<"rdma_cm_id">(0x7770n))
      for (const type of ["connectRequest", "connectResponse", "established", "rejected", "disconnected"] as const) {
        assert.deepStrictEqual(byType.get(type)?.conn, conn, type)
      }
      const plain = ["addrResolved", "routeError", "unreachable", "deviceRemoval", "timewaitExit", "unknown"] as const
      for (const type of plain) assert.deepStrictEqual(parts(byType.get(type)), [], type)
      assert.deepStrictEqual(parts(byType.get("multicastJoin")), ["ud", "multicastContext"])
      assert.deepStrictEqual(parts(byType.get("multicastError")), ["multicastContext"])
      assert.deepStrictEqual(parts(byType.get("addrinfoResolved")), [])
      assert.deepStrictEqual(parts(byType.get("user")), ["arg"])
    }))

  test("the events of a datagram id say where datagrams go", () =>
    eventsOf("udp", (events) => {
      const byType = new Map(events.map((event) => [event.event, event]))
      for (const type of ["connectRequest", "established"] as const) {
        const { conn, ud } = byType.get(type) ?? assert.fail(type)
        assert.isUndefined(conn)
        assert.deepInclude<object>(ud ?? {}, {
          privateData: Uint8Array.of(1, 2, 3, 4, 5),
          qpNum: 0xabcdef,
          qkey: 0x8123_4567
        })
        assert.deepInclude<object>(ud?.ahAttr?.grh ?? {}, { flowLabel: 0xabcde, trafficClass: 5 })
      }
      const join = byType.get("multicastJoin")
      assert.deepInclude<object>(join?.ud ?? {}, { privateData: new Uint8Array(), qpNum: 0xabcdef })
      assert.isAbove(Number(join?.multicastContext), 0)
    }))

  // ---------------------------------------------------------------------------
  // Names, queues and endpoints
  // ---------------------------------------------------------------------------

  test("names: every hint, and every field of what is found", () =>
    Effect.gen(function*() {
      const cm = yield* RdmaCm
      const found = yield* cm.getaddrinfo("hôte", "7471", {
        flags: ["passive", "family"],
        family: "ipv6",
        portSpace: "udp",
        qpType: "ud",
        source: four,
        destination: six
      })
      const nothing = {
        ai_src_addr: "",
        ai_dst_addr: "",
        ai_route: "",
        ai_connect: "",
        ai_src_len: "0",
        ai_dst_len: "0"
      }
      assert.deepStrictEqual<ReadonlyArray<object>>(echo().calls(), [{
        op: "getaddrinfo",
        node: "hôte",
        service: "7471",
        ai_flags: "9",
        ai_family: "10",
        ai_qp_type: "4",
        ai_port_space: String(0x111),
        ...nothing,
        ai_src_len: "16",
        ai_dst_len: "28",
        ai_src_addr: fourHex,
        ai_dst_addr: sixHex
      }, { op: "freeaddrinfo" }])
      assert.deepStrictEqual(found, [
        {
          flags: ["passive", "noRoute"],
          portSpace: "udp",
          qpType: "ud",
          source: four,
          destination: ib,
          sourceName: "here",
          destinationName: "there",
          route: Uint8Array.from({ length: 72 }, (_, index) => index),
          connect: Uint8Array.of(1, 2, 3, 4, 5)
        },
        {
          flags: [],
          portSpace: "tcp",
          qpType: "rc",
          source: undefined,
          destination: undefined,
          sourceName: undefined,
          destinationName: undefined,
          route: new Uint8Array(),
          connect: new Uint8Array()
        }
      ])
      yield* cm.getaddrinfo(undefined, undefined, {})
      assert.deepInclude(echo().calls()[0], {
        node: "NULL",
        service: "NULL",
        ai_flags: "0",
        ai_family: "0",
        ...nothing
      })
    }))

  test("names for an id: every hint, and what is found is freed", () =>
    withId("tcp", (cm, id) =>
      Effect.gen(function*() {
        yield* cm.resolveAddrinfo(id, "there", undefined, { flags: ["sa", "dns"], family: "ib", source: ib })
        assert.deepInclude<object>(echo().last(), {
          op: "resolve_addrinfo",
          id: String(id),
          node: "there",
          service: "NULL",
          ai_flags: "48",
          ai_family: "27",
          ai_src_addr: ibHex
        })
        const found = yield* cm.queryAddrinfo(id)
        assert.deepStrictEqual(found.map(({ portSpace, qpType }) => [portSpace, qpType]), [["udp", "ud"], [
          "tcp",
          "rc"
        ]])
        assert.strictEqual(echo().last().op, "freeaddrinfo")
        // What fails in the lookup inside is in errno, as a code of name servers too.
        echo().script("resolve_addrinfo", { result: -1, errno: -2 })
        assert.strictEqual((yield* Effect.flip(cm.resolveAddrinfo(id, "x", undefined, {}))).reason._tag, "ENOENT")
      })))

  test("names: the errors of name servers and those of librdmacm", () =>
    Effect.gen(function*() {
      const cm = yield* RdmaCm
      const reason = (result: number, errno: number) =>
        Effect.suspend(() => {
          echo().script("getaddrinfo", { result, errno })
          return Effect.map(Effect.flip(cm.getaddrinfo("nowhere", undefined, {})), (error) => error.reason._tag)
        })
      assert.strictEqual(yield* reason(-2, 0), "ENOENT")
      assert.strictEqual(yield* reason(-3, 0), "EAGAIN")
      assert.strictEqual(yield* reason(-1, 19), "RdmaUnavailable")
      assert.strictEqual(yield* reason(-1, 12), "ENOMEM")
      assert.strictEqual(yield* reason(-11, 13), "EACCES")
    }))

  test("queues that librdmacm makes: every field both ways", () =>
    withId("tcp", (cm, id) =>
      Effect.gen(function*() {
        const pd = Pointer.make<"ibv_pd">(0x40n)
        const made = yield* cm.createQp(id, pd, init)
        assert.deepInclude<object>(made, { qpNum: 0x123456, cap: { ...init.cap, maxSendWr: 1001 } })
        assert.strictEqual((yield* cm.readId(id)).qp, made.qp)
        yield* cm.destroyQp(id)
        const srq = yield* cm.createSrq(id, undefined, { maxWr: 5, maxSge: 6 })
        assert.deepInclude(srq, { maxWr: 1005, maxSge: 6 })
        assert.strictEqual((yield* cm.readId(id)).srq, srq.srq)
        yield* cm.destroySrq(id)
        const of = { id: String(id) }
        assert.deepStrictEqual<ReadonlyArray<object>>(echo().calls(), [
          { op: "rdma_create_qp", ...of, pd: "64", ...initReport },
          { op: "rdma_destroy_qp", ...of },
          { op: "rdma_create_srq", ...of, pd: "0", max_wr: "5", max_sge: "6", srq_limit: "0" },
          { op: "rdma_destroy_srq", ...of }
        ])
      })))

  test("an endpoint: every field, and neither it nor the id of a request blocks", () =>
    Effect.gen(function*() {
      const cm = yield* RdmaCm
      const info = {
        flags: ["passive", "numericHost"],
        portSpace: "ib",
        qpType: "rc",
        source: ib,
        destination: undefined,
        sourceName: undefined,
        destinationName: undefined,
        route: Uint8Array.of(1, 2, 3),
        connect: Uint8Array.of(4, 5)
      } as const
      const listener = yield* cm.createEp(info, Pointer.make<"ibv_pd">(0x40n), init)
      assert.deepStrictEqual<object>(echo().last(), {
        op: "create_ep",
        ai_flags: "3",
        ai_family: "27",
        ai_qp_type: "2",
        ai_port_space: String(0x13f),
        ai_src_len: "48",
        ai_dst_len: "0",
        ai_src_addr: ibHex,
        ai_dst_addr: "",
        ai_route: "010203",
        ai_connect: "0405",
        pd: "64",
        ...initReport
      })
      yield* cm.awaitRequest(listener)
      const { event, id } = yield* cm.getRequest(listener)
      assert.deepStrictEqual(event.conn, conn)
      assert.strictEqual(event.id, id)
      echo().calls()
      yield* cm.destroyEp(id)
      yield* cm.destroyEp(listener)
      assert.deepStrictEqual<ReadonlyArray<object>>(echo().calls(), [
        { op: "destroy_ep", blocking: "0" },
        { op: "destroy_ep", blocking: "0" }
      ])
    }))

  test("each call that fails tells its name and errno", () =>
    withId("tcp", (cm, id, channel) =>
      Effect.gen(function*() {
        const calls: ReadonlyArray<readonly [string, Effect.Effect<unknown, RdmaCmError>]> = [
          ["bind_addr", cm.bindAddr(id, four)],
          ["resolve_addr", cm.resolveAddr(id, undefined, four, 1)],
          ["resolve_route", cm.resolveRoute(id, 1)],
          ["listen", cm.listen(id, 1)],
          ["connect", cm.connect(id, parameters)],
          ["accept", cm.accept(id, parameters)],
          ["establish", cm.establish(id)],
          ["reject", cm.reject(id, new Uint8Array())],
          ["reject_ece", cm.rejectEce(id, new Uint8Array())],
          ["notify", cm.notify(id, "commEst")],
          ["write_cm_event", cm.writeCmEvent(id, 0, 0n)],
          ["resolve_addrinfo", cm.resolveAddrinfo(id, "x", undefined, {})],
          ["query_addrinfo", cm.queryAddrinfo(id)],
          ["disconnect", cm.disconnect(id)],
          ["init_qp_attr", cm.initQpAttr(id, "init")],
          ["migrate_id", cm.migrateId(id, channel)],
          ["set_option", cm.setOption(id, { _tag: "AckTimeout", value: 1 })],
          ["set_local_ece", cm.setLocalEce(id, { vendorId: 1, options: 0, compMask: 0 })],
          ["get_remote_ece", cm.getRemoteEce(id)],
          ["join_multicast", cm.joinMulticast(id, four, 1n)],
          ["join_multicast_ex", cm.joinMulticastEx(id, four, "fullMember", 1n)],
          ["leave_multicast", cm.leaveMulticast(id, four)],
          ["get_cm_event", cm.getCmEvent(channel)],
          ["get_request", cm.getRequest(id)],
          ["destroy_id", cm.destroyId(id)],
          ["create_qp", cm.createQp(id, undefined, init)],
          ["create_srq", cm.createSrq(id, undefined, { maxWr: 1, maxSge: 1 })]
        ]
        for (const [name, effect] of calls) {
          const op = name === "create_qp" || name === "create_srq" ? `rdma_${name}` : name
          echo().script(op, { result: -1, errno: 98 })
          const error = yield* Effect.flip(effect)
          assert.deepStrictEqual([error.call, error.reason._tag], [`rdma_${name}`, "EADDRINUSE"])
        }
      })))
})
