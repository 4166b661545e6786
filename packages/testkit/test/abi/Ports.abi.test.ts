/**
 * The speed of a port, the limit of a queue pair and the way over Ethernet, on the echo provider.
 */
import * as Errno from "@effect-rdma/core/Errno"
import * as Resource from "@effect-rdma/core/Resource"
import * as Lane from "@effect-rdma/testkit/conformance/Lane"
import * as AddressHandle from "@effect-rdma/verbs/AddressHandle"
import * as CompletionQueue from "@effect-rdma/verbs/CompletionQueue"
import * as DeviceContext from "@effect-rdma/verbs/DeviceContext"
import * as Port from "@effect-rdma/verbs/Port"
import * as ProtectionDomain from "@effect-rdma/verbs/ProtectionDomain"
import * as QueuePair from "@effect-rdma/verbs/QueuePair"
import { Verbs } from "@effect-rdma/verbs/Verbs"
import { VerbsError } from "@effect-rdma/verbs/VerbsError"
import { assert, describe } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Compiler from "./Compiler.ts"
import * as Echo from "./Echo.ts"

const address = (handle: Resource.Resource<string, bigint>) => String(Resource.raw(handle))

const assertReason = <A, R>(run: Effect.Effect<A, unknown, R>, call: string, errno: Errno.ErrnoName) =>
  Effect.map(Effect.flip(run), (error) => {
    assert(error instanceof VerbsError)
    assert.strictEqual(error.call, call)
    assert.deepInclude<object>(error.reason, { _tag: errno, errno: Errno.numberOf(errno) })
  })

const way = {
  portNum: 2,
  dlid: 0xfffe,
  sl: 15,
  srcPathBits: 127,
  grh: { dgid: "::ffff:10.0.0.2", flowLabel: 0xf_fffe, sgidIndex: 254, hopLimit: 253, trafficClass: 252 }
}

describe.skipIf(Compiler.missing !== undefined)("ports of libibverbs", () => {
  const lane = Echo.lane()
  const test = Lane.test(lane)
  const { echo } = lane
  const open = DeviceContext.openByName("echo0")

  test("the speed of a port is 64 bits wide", () =>
    Effect.gen(function*() {
      const context = yield* open
      assert.strictEqual(yield* Port.speed(context, 255), 0x8000_0000_0000_0001n)
      assert.deepStrictEqual(echo().last(), { op: "query_port_speed", context: address(context), port_num: "255" })
      echo().script("query_port_speed", { result: Errno.numberOf("EOPNOTSUPP"), errno: 1 })
      yield* assertReason(Port.speed(context, 1), "ibv_query_port_speed", "EOPNOTSUPP")
    }))

  test("the limit of a queue pair: every field", () =>
    Effect.gen(function*() {
      const context = yield* open
      const domain = yield* ProtectionDomain.alloc(context)
      const queue = yield* CompletionQueue.make(context, { cqe: 8 })
      const self = yield* QueuePair.make(domain, { qpType: "rawPacket", sendCq: queue, recvCq: queue })
      yield* QueuePair.modifyRateLimit(self, { rateLimit: 0xffff_fffe, maxBurstSz: 0x8000_0001, typicalPktSz: 0xfffd })
      const of = { op: "modify_qp_rate_limit", qp: address(self), comp_mask: "0" }
      assert.deepStrictEqual<object>(echo().last(), {
        ...of,
        rate_limit: String(0xffff_fffe),
        max_burst_sz: String(0x8000_0001),
        typical_pkt_sz: String(0xfffd)
      })
      yield* QueuePair.modifyRateLimit(self, { rateLimit: 7 })
      assert.deepStrictEqual<object>(echo().last(), { ...of, rate_limit: "7", max_burst_sz: "0", typical_pkt_sz: "0" })
      echo().script("modify_qp_rate_limit", { result: Errno.numberOf("EINVAL"), errno: 1 })
      yield* assertReason(QueuePair.modifyRateLimit(self, { rateLimit: 0 }), "ibv_modify_qp_rate_limit", "EINVAL")
      echo().calls()
      const bad = yield* Effect.flip(QueuePair.modifyRateLimit(self, { rateLimit: 1, typicalPktSz: 0x1_0000 }))
      assert.strictEqual(bad._tag, "SchemaError")
      assert.deepStrictEqual(echo().calls(), [])
    }))

  test("a context without the operation has no limits", () =>
    Effect.gen(function*() {
      const { modifyQpRateLimit } = yield* Verbs
      const qp = echo().qp(Resource.raw(yield* DeviceContext.openByName("echo3")))
      const limit = { rateLimit: 1, maxBurstSz: 0, typicalPktSz: 0 }
      yield* assertReason(modifyQpRateLimit(qp, limit), "ibv_modify_qp_rate_limit", "EOPNOTSUPP")
      echo().free(qp)
    }))

  test("a way over Ethernet: every field both ways", () =>
    Effect.gen(function*() {
      const context = yield* open
      const mac = Uint8Array.of(0xa0, 0xa1, 0xa2, 0xa3, 0xa4, 0xa5)
      assert.deepStrictEqual(yield* AddressHandle.resolveEthernet(context, way), { mac, vlan: 0xffe })
      assert.deepStrictEqual<object>(echo().last(), {
        op: "resolve_eth_l2_from_gid",
        context: address(context),
        dgid: "00000000000000000000ffff0a000002",
        "grh.flow_label": String(0xf_fffe),
        "grh.sgid_index": "254",
        "grh.hop_limit": "253",
        "grh.traffic_class": "252",
        dlid: String(0xfffe),
        sl: "15",
        src_path_bits: "127",
        static_rate: "0",
        is_global: "1",
        port_num: "2"
      })
      assert.deepStrictEqual(yield* AddressHandle.resolveEthernet(context, { ...way, portNum: 1 }), {
        mac,
        vlan: undefined
      })
    }))

  test("what it returns is the negative errno, or -1 with errno", () =>
    Effect.gen(function*() {
      const context = yield* open
      const call = "ibv_resolve_eth_l2_from_gid"
      const resolve = AddressHandle.resolveEthernet(context, way)
      echo().script("resolve_eth_l2_from_gid", { result: -Errno.numberOf("EHOSTUNREACH"), errno: 1 })
      yield* assertReason(resolve, call, "EHOSTUNREACH")
      echo().script("resolve_eth_l2_from_gid", { result: -1, errno: Errno.numberOf("ENOENT") })
      yield* assertReason(resolve, call, "ENOENT")
      echo().script("resolve_eth_l2_from_gid", { result: -Errno.numberOf("EINVAL") })
      assert.deepInclude<unknown>(yield* Effect.flip(resolve), {
        input: { portNum: 2, dgid: "::ffff:10.0.0.2", sgidIndex: 254 }
      })
    }))
})

describe.skipIf(Compiler.missing !== undefined)("ports of an older libibverbs", () => {
  const lane = Echo.lane(["-DOLD_LIBRARY"])

  Lane.test(lane)("the speed of a port is EOPNOTSUPP", () =>
    Effect.gen(function*() {
      const context = yield* DeviceContext.openByName("echo0")
      yield* assertReason(Port.speed(context, 1), "ibv_query_port_speed", "EOPNOTSUPP")
    }))
})
