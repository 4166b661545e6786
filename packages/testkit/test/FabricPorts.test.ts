import type * as Errno from "@effect-rdma/core/Errno"
import * as Gid from "@effect-rdma/core/Gid"
import * as Fabric from "@effect-rdma/testkit/Fabric"
import * as AddressHandle from "@effect-rdma/verbs/AddressHandle"
import * as CompletionQueue from "@effect-rdma/verbs/CompletionQueue"
import * as DeviceContext from "@effect-rdma/verbs/DeviceContext"
import * as Port from "@effect-rdma/verbs/Port"
import * as ProtectionDomain from "@effect-rdma/verbs/ProtectionDomain"
import * as QueuePair from "@effect-rdma/verbs/QueuePair"
import type * as QueuePairType from "@effect-rdma/verbs/QueuePairType"
import type { VerbsError } from "@effect-rdma/verbs/VerbsError"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"
import { assertRefused as assertVerbsRefused } from "./observe.ts"

/** The call must fail with this errno, and not with bad input. */
const assertRefused = <A, R>(
  run: Effect.Effect<A, VerbsError | Schema.SchemaError, R>,
  call: string,
  errno: Errno.ErrnoName
) => assertVerbsRefused(Effect.catchTag(run, "SchemaError", Effect.die), call, errno)

const pairOn = Effect.fnUntraced(function*<const Type extends QueuePairType.QueuePairType>(
  device: string,
  qpType: Type
) {
  const domain = yield* ProtectionDomain.alloc(yield* DeviceContext.openByName(device))
  const queue = yield* CompletionQueue.make(domain.context, { cqe: 4 })
  return yield* QueuePair.make(domain, { qpType, sendCq: queue, recvCq: queue })
})

const limitOf = (self: QueuePair.QueuePair) =>
  Effect.map(QueuePair.query(self), ({ attributes }) => attributes.rateLimit)

describe("Fabric: limits, speeds and ways over Ethernet", () => {
  it.effect("a raw packet queue pair of mlx5 takes a limit in RTS, and loses it", () =>
    Effect.gen(function*() {
      const call = "ibv_modify_qp_rate_limit"
      const self = yield* pairOn("mlx5_0", "rawPacket")
      yield* assertRefused(QueuePair.modifyRateLimit(self, { rateLimit: 1 }), call, "EINVAL")
      yield* QueuePair.toInit(self, { portNum: 1 })
      yield* QueuePair.toRtr(self, {})
      yield* assertRefused(QueuePair.modifyRateLimit(self, { rateLimit: 1 }), call, "EINVAL")
      yield* QueuePair.toRts(self, {})
      yield* QueuePair.modifyRateLimit(self, { rateLimit: 100_000 })
      assert.strictEqual(yield* limitOf(self), 100_000)
      for (const burst of [{ maxBurstSz: 1 }, { typicalPktSz: 1 }]) {
        yield* assertRefused(QueuePair.modifyRateLimit(self, { rateLimit: 2, ...burst }), call, "EINVAL")
      }
      assert.strictEqual(yield* limitOf(self), 100_000)
      yield* QueuePair.modifyRateLimit(self, { rateLimit: 0 })
      assert.strictEqual(yield* limitOf(self), 0)
    }).pipe(Effect.scoped, Effect.provide(Fabric.layer)))

  it.effect("another type of mlx5 takes none, and rxe knows no limits", () =>
    Effect.gen(function*() {
      const call = "ibv_modify_qp_rate_limit"
      const datagrams = yield* pairOn("mlx5_0", "ud")
      yield* QueuePair.toInit(datagrams, { portNum: 1, qkey: 1 })
      yield* QueuePair.toRtr(datagrams, {})
      yield* QueuePair.toRts(datagrams, { sqPsn: 0 })
      yield* assertRefused(QueuePair.modifyRateLimit(datagrams, { rateLimit: 1 }), call, "EINVAL")
      yield* assertRefused(QueuePair.modifyRateLimit(yield* pairOn("rxe0", "rc"), { rateLimit: 1 }), call, "EOPNOTSUPP")
    }).pipe(Effect.scoped, Effect.provide(Fabric.layer)))

  it.effect("the speed of a port is in steps of 100 Mb/s; rxe has no answer", () =>
    Effect.gen(function*() {
      const call = "ibv_query_port_speed"
      const mlx5 = yield* DeviceContext.openByName("mlx5_0")
      assert.strictEqual(yield* Port.speed(mlx5, 1), 2000n)
      yield* assertRefused(Port.speed(mlx5, 9), call, "EINVAL")
      yield* assertRefused(Port.speed(yield* DeviceContext.openByName("rxe0"), 1), call, "EOPNOTSUPP")
      assert.strictEqual((yield* Effect.flip(Port.speed(mlx5, 0)))._tag, "SchemaError")
    }).pipe(Effect.scoped, Effect.provide(Fabric.layer)))

  it.effect("a neighbour is found by its GID: the MAC address that its GUID is made of", () =>
    Effect.gen(function*() {
      const context = yield* DeviceContext.openByName("rxe0")
      const to = (dgid: string, sgidIndex = 1) =>
        AddressHandle.resolveEthernet(context, { portNum: 1, grh: { dgid, sgidIndex } })
      assert.deepStrictEqual(yield* to("::ffff:10.0.0.1"), {
        mac: Uint8Array.of(0x52, 0x54, 0x00, 0x0a, 0x00, 0x01),
        vlan: undefined
      })
      assert.deepStrictEqual((yield* to("::ffff:239.129.2.3")).mac, Uint8Array.of(1, 0, 0x5e, 1, 2, 3))
      assert.deepStrictEqual((yield* to("ff12::abcd", 0)).mac, Uint8Array.of(0x33, 0x33, 0, 0, 0xab, 0xcd))
      // The link-local GID at 0 is made of the MAC address, and says it without anybody asked.
      const own = yield* Port.gid(context, 1, 0)
      assert.deepStrictEqual((yield* to(Gid.formatCompressed(own), 0)).mac, (yield* to("::ffff:10.0.0.1")).mac)
    }).pipe(Effect.scoped, Effect.provide(Fabric.layer)))

  it.effect("nobody there, no such source, and no Ethernet", () =>
    Effect.gen(function*() {
      const call = "ibv_resolve_eth_l2_from_gid"
      const context = yield* DeviceContext.openByName("rxe0")
      const from = (portNum: number, sgidIndex: number, dgid: string) =>
        AddressHandle.resolveEthernet(context, { portNum, grh: { dgid, sgidIndex } })
      yield* assertRefused(from(1, 1, "::ffff:10.9.9.9"), call, "EHOSTUNREACH")
      yield* assertRefused(from(1, 1, "fd00::9"), call, "EHOSTUNREACH")
      yield* assertRefused(from(1, 200, "::ffff:10.0.0.1"), call, "EINVAL")
      yield* assertRefused(from(2, 1, "::ffff:10.0.0.1"), call, "EINVAL")
      const infiniBand = yield* DeviceContext.openByName("mlx5_0")
      yield* assertRefused(
        AddressHandle.resolveEthernet(infiniBand, { portNum: 1, grh: { dgid: "fe80::1", sgidIndex: 0 } }),
        call,
        "EINVAL"
      )
    }).pipe(Effect.scoped, Effect.provide(Fabric.layer)))
})
