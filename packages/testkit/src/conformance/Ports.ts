/**
 * How fast a port and its queue pairs send, and where to over Ethernet, as tests of the scoped modules: the same on the
 * in-memory fabric, on Soft-RoCE and on hardware.
 *
 * @since 0.1.0
 */
import type * as Gid from "@effect-rdma/core/Gid"
import * as AddressHandle from "@effect-rdma/verbs/AddressHandle"
import * as CompletionQueue from "@effect-rdma/verbs/CompletionQueue"
import * as DeviceContext from "@effect-rdma/verbs/DeviceContext"
import * as Port from "@effect-rdma/verbs/Port"
import * as ProtectionDomain from "@effect-rdma/verbs/ProtectionDomain"
import * as QueuePair from "@effect-rdma/verbs/QueuePair"
import type * as Verbs from "@effect-rdma/verbs/Verbs"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { assertPath, assertReason, recorded, testWhere, timesCalled, usesDeadHandle } from "../internal/conformance.ts"
import * as Lane from "./Lane.ts"

/**
 * What the suite has to know of the device that it runs on.
 *
 * @category models
 * @since 0.1.0
 */
export interface PortsLane<Others = never> extends Lane.Lane<Verbs.Verbs | Others> {
  readonly device: string
  /** An active port of the device. */
  readonly port: number
  /** A limit in kb/s that a raw packet queue pair takes; `undefined` where the provider limits nothing. */
  readonly rateLimit: number | undefined
  /** The speed of the port in units of 100 Mb/s; `undefined` where the library or the provider does not tell. */
  readonly speed: bigint | undefined
  /** What is known of an Ethernet port with an IPv4 address; `undefined` for InfiniBand. */
  readonly ethernet: EthernetFacts | undefined
}

/**
 * Who is where on the network of an Ethernet port.
 *
 * @category models
 * @since 0.1.0
 */
export interface EthernetFacts {
  /** The index of the GID of `ownAddress`; the link-local one is at 0. */
  readonly sgidIndex: number
  readonly ownAddress: string
  readonly peerAddress: string
  readonly peerMac: ReadonlyArray<number>
  /** An address of the port's network that nobody answers for. */
  readonly silentAddress: string
  /** An index of the GID table with nothing at it. */
  readonly emptyGidIndex: number
}

/**
 * Registers the suite on a lane.
 *
 * @category constructors
 * @since 0.1.0
 */
export const suite = <Others = never>(lane: PortsLane<Others>): void => {
  const it = Lane.test<Verbs.Verbs | Others>(lane)
  const itWhere = testWhere<Verbs.Verbs | Others>(lane)
  const open = DeviceContext.openByName(lane.device)

  // ---------------------------------------------------------------------------
  // Limits
  // ---------------------------------------------------------------------------

  const limits = "ibv_modify_qp_rate_limit"

  const pairOf = Effect.fnUntraced(function*<const Type extends "rc" | "ud" | "rawPacket">(qpType: Type) {
    const domain = yield* ProtectionDomain.alloc(yield* open)
    const queue = yield* CompletionQueue.make(domain.context, { cqe: 4 })
    return yield* QueuePair.make(domain, { qpType, sendCq: queue, recvCq: queue })
  })

  itWhere(lane.rateLimit === undefined, "the provider has limits")(
    "a limit is EOPNOTSUPP, whatever the queue pair and the limit",
    () =>
      Effect.gen(function*() {
        for (const self of [yield* pairOf("rc"), yield* pairOf("ud")]) {
          for (const limit of [{ rateLimit: 1 }, { rateLimit: 0 }, { rateLimit: 2, maxBurstSz: 1, typicalPktSz: 1 }]) {
            assertReason(yield* Effect.flip(QueuePair.modifyRateLimit(self, limit)), limits, "EOPNOTSUPP")
          }
        }
      })
  )

  const { rateLimit = 0 } = lane
  itWhere(lane.rateLimit !== undefined, "the provider has no limits")(
    "a raw packet queue pair takes a limit in RTS alone, and loses it",
    () =>
      Effect.gen(function*() {
        const self = yield* pairOf("rawPacket")
        const limit = Effect.map(QueuePair.query(self), ({ attributes }) => attributes.rateLimit)
        assertReason(yield* Effect.flip(QueuePair.modifyRateLimit(self, { rateLimit })), limits, "EINVAL")
        yield* QueuePair.toInit(self, { portNum: lane.port })
        yield* QueuePair.toRtr(self, {})
        yield* QueuePair.toRts(self, {})
        yield* QueuePair.modifyRateLimit(self, { rateLimit })
        assert.strictEqual(yield* limit, rateLimit)
        yield* QueuePair.modifyRateLimit(self, { rateLimit: 0 })
        assert.strictEqual(yield* limit, 0)
      })
  )

  it("a limit that C has no room for, and one for a destroyed queue pair, do not reach the library", () =>
    recorded(function*(calls) {
      const self = yield* pairOf("rc")
      assertPath(yield* Effect.flip(QueuePair.modifyRateLimit(self, { rateLimit: 2 ** 32 })), ["rateLimit"])
      const burst = { rateLimit: 1, typicalPktSz: 0x1_0000 }
      assertPath(yield* Effect.flip(QueuePair.modifyRateLimit(self, burst)), ["typicalPktSz"])
      const dead = yield* Effect.scoped(pairOf("rc"))
      yield* usesDeadHandle(QueuePair.modifyRateLimit(dead, { rateLimit: 1 }))
      assert.strictEqual(timesCalled(yield* calls, limits), 0)
    }))

  // ---------------------------------------------------------------------------
  // Speeds
  // ---------------------------------------------------------------------------

  const speeds = "ibv_query_port_speed"

  it("a port has its speed and one that is not there EINVAL, or no port an answer: EOPNOTSUPP", () =>
    Effect.gen(function*() {
      const context = yield* open
      const absent = yield* Effect.flip(Port.speed(context, 200))
      assertReason(absent, speeds, lane.speed === undefined ? "EOPNOTSUPP" : "EINVAL")
      if (lane.speed !== undefined) return assert.strictEqual(yield* Port.speed(context, lane.port), lane.speed)
      assertReason(yield* Effect.flip(Port.speed(context, lane.port)), speeds, "EOPNOTSUPP")
    }))

  it("neither a number that is no port's nor a closed context reaches the library for a speed", () =>
    recorded(function*(calls) {
      const context = yield* open
      for (const port of [0, 256, 0.5]) assertPath(yield* Effect.flip(Port.speed(context, port)), [])
      const dead = yield* Effect.scoped(open)
      yield* usesDeadHandle(Port.speed(dead, lane.port))
      assert.strictEqual(timesCalled(yield* calls, speeds), 0)
    }))

  // ---------------------------------------------------------------------------
  // Ways over Ethernet
  // ---------------------------------------------------------------------------

  const ways = "ibv_resolve_eth_l2_from_gid"
  const itOnEthernet = itWhere(lane.ethernet !== undefined, "the port is no Ethernet port")
  const ethernet = lane.ethernet ?? noEthernet
  const { sgidIndex } = ethernet

  const resolve = (context: DeviceContext.DeviceContext, dgid: Gid.Gid | string, from = sgidIndex, port = lane.port) =>
    AddressHandle.resolveEthernet(context, { portNum: port, grh: { dgid, sgidIndex: from } })
  const macOf = (...to: Parameters<typeof resolve>) =>
    Effect.map(resolve(...to), ({ mac, vlan }) => {
      assert.isUndefined(vlan)
      return Array.from(mac)
    })

  itOnEthernet("a neighbour is at its MAC address, and so is the port itself", () =>
    Effect.gen(function*() {
      const context = yield* open
      assert.deepStrictEqual(yield* macOf(context, mapped(ethernet.peerAddress)), ethernet.peerMac)
      const own = yield* macOf(context, mapped(ethernet.ownAddress))
      assert.deepStrictEqual(yield* macOf(context, yield* Port.gid(context, lane.port, 0), 0), own)
    }))

  itOnEthernet("a link-local GID is made of the MAC address, and a group of its own", () =>
    Effect.gen(function*() {
      const context = yield* open
      const expected: ReadonlyArray<readonly [string, ReadonlyArray<number>]> = [
        ["fe80::5054:ff:fe12:3456", [0x52, 0x54, 0x00, 0x12, 0x34, 0x56]],
        ["fe80::1:2:3", [0x02, 0x00, 0x00, 0x02, 0x00, 0x03]],
        ["ff12::abcd", [0x33, 0x33, 0x00, 0x00, 0xab, 0xcd]],
        [mapped("239.129.2.3"), [0x01, 0x00, 0x5e, 0x01, 0x02, 0x03]],
        // A group of IPv4 as RoCE writes it too.
        ["ff0e::ffff:e001:203", [0x01, 0x00, 0x5e, 0x01, 0x02, 0x03]]
      ]
      // Of which family the source is, is no matter.
      for (const from of [0, sgidIndex]) {
        for (const [dgid, mac] of expected) assert.deepStrictEqual(yield* macOf(context, dgid, from), mac, dgid)
      }
      assert.deepStrictEqual(yield* macOf(context, mapped(ethernet.peerAddress), 0), ethernet.peerMac)
    }))

  itOnEthernet("nobody there is EHOSTUNREACH, and so is what there is no route to", () =>
    Effect.gen(function*() {
      const context = yield* open
      for (const dgid of [mapped(ethernet.silentAddress), mapped("10.9.9.9"), "fd00::9", "::"]) {
        assertReason(yield* Effect.flip(resolve(context, dgid)), ways, "EHOSTUNREACH")
      }
      assertReason(yield* Effect.flip(resolve(context, "fd00::9", 0)), ways, "EHOSTUNREACH")
    }))

  itOnEthernet("a source or a port that is not there is EINVAL", () =>
    Effect.gen(function*() {
      const context = yield* open
      const peer = mapped(ethernet.peerAddress)
      assertReason(yield* Effect.flip(resolve(context, peer, ethernet.emptyGidIndex)), ways, "EINVAL")
      assertReason(yield* Effect.flip(resolve(context, peer, 255)), ways, "EINVAL")
      assertReason(yield* Effect.flip(resolve(context, peer, sgidIndex, 200)), ways, "EINVAL")
    }))

  it("neither a way without a GID nor a closed context reaches the library", () =>
    recorded(function*(calls) {
      const context = yield* open
      // As from a program without types.
      const without: Parameters<typeof AddressHandle.resolveEthernet>[1] = JSON.parse(`{ "portNum": 1 }`)
      assertPath(yield* Effect.flip(AddressHandle.resolveEthernet(context, without)), ["grh"])
      assertPath(yield* Effect.flip(resolve(context, "10.0.0.2")), ["grh", "dgid"])
      const dead = yield* Effect.scoped(open)
      yield* usesDeadHandle(resolve(dead, mapped("10.0.0.2")))
      assert.strictEqual(timesCalled(yield* calls, ways), 0)
    }))
}

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

const mapped = (address: string) => `::ffff:${address}`

const noEthernet: EthernetFacts = {
  sgidIndex: 0,
  ownAddress: "",
  peerAddress: "",
  peerMac: [],
  silentAddress: "",
  emptyGidIndex: 0
}
