/** Connections between two hosts over every sort of address, and the data that flows there. */
import * as Gid from "@effect-rdma/core/Gid"
import * as AddressInfo from "@effect-rdma/rdmacm/AddressInfo"
import type * as CmAddress from "@effect-rdma/rdmacm/CmAddress"
import * as CmId from "@effect-rdma/rdmacm/CmId"
import * as EventChannel from "@effect-rdma/rdmacm/EventChannel"
import * as RdmaCm from "@effect-rdma/rdmacm/RdmaCm"
import * as Fabric from "@effect-rdma/testkit/Fabric"
import * as LeakCheck from "@effect-rdma/testkit/LeakCheck"
import * as MemoryRegion from "@effect-rdma/verbs/MemoryRegion"
import type * as ProtectionDomain from "@effect-rdma/verbs/ProtectionDomain"
import * as QueuePair from "@effect-rdma/verbs/QueuePair"
import { Verbs } from "@effect-rdma/verbs/Verbs"
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as NetAddress from "effect/net/NetAddress"
import * as Result from "effect/Result"
import { dial, serve } from "../src/internal/conformanceRdmaCm.ts"
import { connected, parametersOf, to } from "./connections.ts"
import { assertRefused } from "./observe.ts"

const linkLocal = Result.getOrThrow(NetAddress.inetAddressV6(
  Result.getOrThrow(NetAddress.ipv6FromString("fe80::5054:ff:fe0a:2")),
  7471,
  { scopeId: 3 }
))

/** The GID of port 1 of mlx5_0 on a host, and a port of TCP as a service ID. */
const gid = (host: number): CmAddress.CmAddress => ({
  _tag: "IbAddress",
  pkey: 0xffff,
  flowInfo: 0,
  gid: Gid.fromParts(0xfe80_0000_0000_0000n, 0x0002_c903_00a0_0001n + BigInt(host << 8)),
  sid: 0x0106_0000n + 7471n,
  sidMask: 0xffff_ffff_ffff_ffffn,
  scopeId: 0n
})

const addresses: ReadonlyArray<readonly [string, CmAddress.CmAddress, device: string]> = [
  ["IPv4", to("10.0.0.2:7471"), "rxe0"],
  ["link-local IPv6", linkLocal, "rxe0"],
  ["IPoIB", to("10.0.1.2:7471"), "mlx5_0"],
  ["a GID", gid(2), "mlx5_0"]
]

const seamsOf = (host: string) => Effect.flatMap(Fabric.Fabric, (fabric) => fabric.seams(host))

interface Peer {
  readonly domain: ProtectionDomain.ProtectionDomain
  readonly queuePair: QueuePair.QueuePair<"rc">
}

/** Answers each message with itself, and has a receive for the next one before. */
const echo = Effect.fnUntraced(function*({ domain, queuePair }: Peer, count: number) {
  const receiveInto = (region: MemoryRegion.MemoryRegion) =>
    Effect.forkScoped(
      Effect.map(QueuePair.recv(queuePair, { sgList: [{ region, length: 64 }] }), ({ byteLen }) => byteLen ?? 0),
      { startImmediately: true }
    )
  const alloc = MemoryRegion.alloc(domain, { length: 64, access: ["localWrite"] })
  let [region, other] = yield* Effect.all([alloc, alloc])
  let receives = yield* receiveInto(region)
  for (let message = 0; message < count; message++) {
    const length = yield* Fiber.join(receives)
    if (message + 1 < count) receives = yield* receiveInto(other)
    yield* QueuePair.send(queuePair, { sgList: [{ region, length }] })
    ;[region, other] = [other, region]
  }
})

const ask = Effect.fnUntraced(function*({ domain, queuePair }: Peer, count: number, first: number) {
  const out = yield* MemoryRegion.alloc(domain, { length: 8 })
  const into = yield* MemoryRegion.alloc(domain, { length: 64, access: ["localWrite"] })
  for (let message = 0; message < count; message++) {
    new DataView(out.bytes.buffer, out.bytes.byteOffset).setFloat64(0, first + message)
    const [{ byteLen }] = yield* Effect.all([
      QueuePair.recv(queuePair, { sgList: [{ region: into, length: 64 }] }),
      QueuePair.send(queuePair, { sgList: [{ region: out, length: 8 }] })
    ], { concurrency: "unbounded" })
    assert.strictEqual(byteLen, 8)
    assert.strictEqual(new DataView(into.bytes.buffer, into.bytes.byteOffset).getFloat64(0), first + message)
  }
})

const answer = (id: CmId.CmId) => Effect.andThen(CmId.awaitDisconnected(id), CmId.disconnect(id))

/** So many connections through one listener on host-b, each with so many messages there and back. */
const load = (address: CmAddress.CmAddress, connections: number, messages: number) =>
  Effect.gen(function*() {
    const away = yield* seamsOf("host-b")
    const there = <A, E, R>(effect: Effect.Effect<A, E, R | RdmaCm.RdmaCm | Verbs>) =>
      Effect.provide(effect, Context.pick(RdmaCm.RdmaCm, Verbs)(away))
    const listener = yield* there(Effect.gen(function*() {
      const listener = yield* CmId.make(yield* EventChannel.make(), "tcp")
      yield* CmId.bind(listener, address)
      yield* CmId.listen(listener, { backlog: connections })
      return listener
    }))
    const channel = yield* EventChannel.make()
    const server = Effect.scoped(Effect.gen(function*() {
      const peer = yield* serve(listener)
      yield* echo(peer, messages)
      yield* answer(peer.id)
    }))
    const client = (index: number) =>
      Effect.scoped(Effect.gen(function*() {
        const id = yield* CmId.make(channel, "tcp")
        yield* CmId.resolveAddress(id, { destination: address })
        yield* CmId.resolveRoute(id)
        yield* ask(yield* dial(id), messages, index * messages)
        yield* CmId.disconnect(id)
      }))
    const many = { concurrency: "unbounded", discard: true } as const
    const indexes = Array.from({ length: connections }, (_, index) => index)
    yield* Effect.all([
      Effect.forEach(indexes, () => there(server), many),
      Effect.forEach(indexes, client, many)
    ], many)
  })

const found = (node: string) =>
  Effect.map(AddressInfo.get({ node, service: "7471", portSpace: "tcp" }), ([info]) => String(info?.destination))

describe("Fabric: connections between hosts", () => {
  it.live.each(addresses)(
    "%s: both sides know their device and addresses, and messages get through",
    ([, address, device]) =>
      LeakCheck.check(Effect.gen(function*() {
        yield* load(address, 3, 5)
        const id = yield* CmId.make(yield* EventChannel.make(), "tcp")
        yield* CmId.resolveAddress(id, { destination: address })
        assert.deepStrictEqual((yield* CmId.state(id)).peerAddress, address)
        assert.strictEqual((yield* CmId.context(id)).name, device)
      })).pipe(Effect.provide(Fabric.layer))
  )

  it.live(
    "200 connections at once through one listener, each with 100 messages there and back",
    () =>
      Effect.gen(function*() {
        yield* LeakCheck.check(load(to("10.0.0.2:7471"), 200, 100))
        const fabric = yield* Fabric.Fabric
        assert.deepStrictEqual(yield* fabric.objects, [])
      }).pipe(Effect.provide(Fabric.layer)),
    120_000
  )

  it.effect("a request between GIDs has room for 92 bytes of private data, between addresses of IP for 56", () =>
    Effect.gen(function*() {
      const { client } = yield* connected()
      for (const [address, room] of [[to("10.0.0.2:7471"), 56], [gid(2), 92]] as const) {
        const id = yield* client.routedTo(address)
        const connect = (length: number) => client.cm.connect(id, parametersOf(1, new Uint8Array(length)))
        yield* assertRefused(connect(room + 1), "rdma_connect", "EINVAL")
        yield* connect(room)
      }
    }).pipe(Effect.provide(Fabric.layer)))

  it.live("the names of hosts and of this one are addresses", () =>
    Effect.gen(function*() {
      assert.strictEqual(yield* found("host-b"), "10.0.0.2:7471")
      assert.strictEqual(yield* found("localhost"), "127.0.0.1:7471")
      const error = yield* Effect.flip(Effect.catchTag(found("nobody"), "SchemaError", Effect.die))
      assert.strictEqual(error.reason._tag, "ENOENT")
    }).pipe(Effect.provide(Fabric.layer)))
})
