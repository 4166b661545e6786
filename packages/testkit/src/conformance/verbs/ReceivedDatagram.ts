/**
 * Conformance of answers to the sender of a datagram.
 *
 * @since 0.1.0
 */
import * as Gid from "@effect-rdma/core/Gid"
import * as AddressHandle from "@effect-rdma/verbs/AddressHandle"
import * as DeviceContext from "@effect-rdma/verbs/DeviceContext"
import * as Port from "@effect-rdma/verbs/Port"
import type * as ReceivedDatagram from "@effect-rdma/verbs/ReceivedDatagram"
import * as RoutingHeader from "@effect-rdma/verbs/RoutingHeader"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { assertPath, assertReason, recorded, timesCalled } from "../../internal/conformance.ts"
import { verbsSuite } from "../../internal/conformanceVerbs.ts"
import type * as VerbsLane from "../VerbsLane.ts"

/**
 * Registers the suite on a lane.
 *
 * @category constructors
 * @since 0.1.0
 */
export const suite = <Others = never>(lane: VerbsLane.VerbsLane<Others>): void => {
  const { domain, it, itChecked, itOnRoce, open, roce } = verbsSuite(lane)

  const fromPeer = received(lane.roce === undefined ? undefined : ipv4(roce.peerAddress, roce.ownAddress))

  itOnRoce("the sender of an IPv4 datagram is known from its routing header", () =>
    recorded(function*(calls) {
      const context = yield* open
      const { grh, ...local } = yield* AddressHandle.attributesOfSender(context, lane.port, fromPeer)
      assert.deepStrictEqual(
        { portNum: Number(local.portNum), dlid: Number(local.dlid), sl: Number(local.sl) },
        { portNum: lane.port, dlid: 0, sl: 3 }
      )
      assert.strictEqual(grh && Gid.ipv4(grh.dgid), roce.peerAddress)
      assert.strictEqual(grh?.sgidIndex, roce.sgidIndex)
      assert.strictEqual(grh?.hopLimit, 63)
      assert.strictEqual(grh?.trafficClass, 0x28)
      assert.strictEqual(timesCalled(yield* calls, "ibv_create_ah_from_wc"), 0)
    }))

  itOnRoce("an address handle made from a datagram leads to its sender", () =>
    Effect.gen(function*() {
      const pd = yield* domain
      const handle = yield* AddressHandle.fromReceived(pd, lane.port, fromPeer)
      assert.deepStrictEqual(
        handle.attributes,
        yield* AddressHandle.attributesOfSender(pd.context, lane.port, fromPeer)
      )
      assert.strictEqual(handle.domain, pd)
    }))

  itOnRoce("the sender of an IPv6 datagram is known from its routing header", () =>
    Effect.gen(function*() {
      const context = yield* open
      const row = (yield* DeviceContext.gidTable(context)).find(({ gid, gidType, portNum }) =>
        portNum === lane.port && gidType === "roceV2" && !Gid.isIpv4Mapped(gid)
      )
      if (row === undefined) return assert.fail("the port has no GID of an IPv6 address")
      const sgid = yield* Schema.decodeEffect(Gid.GidFromString)("fe80::9")
      const { grh } = yield* AddressHandle.attributesOfSender(
        context,
        lane.port,
        received(RoutingHeader.toBytes({
          _tag: "Global",
          trafficClass: 0x28,
          flowLabel: 0x12345,
          payloadLength: 60,
          nextHeader: RoutingHeader.nextHeaderUdp,
          hopLimit: 61,
          sgid,
          dgid: row.gid
        }))
      )
      assert.strictEqual(grh && Gid.formatCompressed(grh.dgid), "fe80::9")
      const { flowLabel, hopLimit, sgidIndex, trafficClass } = grh ?? {}
      assert.deepStrictEqual(
        [flowLabel, hopLimit, sgidIndex, trafficClass].map(Number),
        [0x12345, 61, row.gidIndex, 0x28]
      )
    }))

  itOnRoce("a datagram to another address than the port's is EINVAL", () =>
    Effect.gen(function*() {
      const pd = yield* domain
      const notForUs = received(ipv4(roce.peerAddress, roce.silentAddress))
      assertReason(
        yield* Effect.flip(AddressHandle.attributesOfSender(pd.context, lane.port, notForUs)),
        "ibv_init_ah_from_wc",
        "EINVAL"
      )
      assertReason(
        yield* Effect.flip(AddressHandle.fromReceived(pd, lane.port, notForUs)),
        "ibv_init_ah_from_wc",
        "EINVAL"
      )
    }))

  itOnRoce(
    "a datagram to a multicast group is EINVAL, since it does not tell the port's own GID",
    () =>
      Effect.gen(function*() {
        const context = yield* open
        const toGroup = received(ipv4(roce.peerAddress, "239.1.1.1"))
        assertReason(
          yield* Effect.flip(AddressHandle.attributesOfSender(context, lane.port, toGroup)),
          "ibv_init_ah_from_wc",
          "EINVAL"
        )
      })
  )

  itOnRoce("a routing header that is neither IPv4 nor IPv6 is EPROTONOSUPPORT", () =>
    Effect.gen(function*() {
      const context = yield* open
      const gid = yield* Port.gid(context, lane.port, 0)
      const tcp = RoutingHeader.toBytes({
        _tag: "Global",
        trafficClass: 0,
        flowLabel: 0,
        payloadLength: 60,
        nextHeader: 6,
        hopLimit: 64,
        sgid: gid,
        dgid: gid
      })
      for (const grh of [new Uint8Array(40), tcp]) {
        assertReason(
          yield* Effect.flip(AddressHandle.attributesOfSender(context, lane.port, received(grh))),
          "ibv_init_ah_from_wc",
          "EPROTONOSUPPORT"
        )
      }
    }))

  it("a datagram without a routing header is answered by the LID of its sender", () =>
    recorded(function*(calls) {
      const context = yield* open
      const datagram = { slid: 7, sl: 5, dlidPathBits: 2 }
      const attributes = yield* AddressHandle.attributesOfSender(context, lane.port, datagram)
      assert.deepStrictEqual<object>(attributes, {
        portNum: lane.port,
        dlid: 7,
        sl: 5,
        srcPathBits: 2,
        staticRate: "max"
      })
      assert.strictEqual(timesCalled(yield* calls, "ibv_create_ah"), 0)
    }))

  itChecked("a datagram without a routing header cannot be answered on Ethernet: EINVAL", () =>
    Effect.gen(function*() {
      const pd = yield* domain
      const error = yield* Effect.flip(AddressHandle.fromReceived(pd, lane.port, received(undefined)))
      assertReason(error, "ibv_create_ah_from_wc", "EINVAL")
    }))

  it("a datagram with fields out of range is a SchemaError with its path, and the library is not called", () =>
    recorded(function*(calls) {
      const pd = yield* domain
      const before = (yield* calls).length
      const wrong = [
        [["grh"], received(new Uint8Array(39))],
        [["grh"], received(new Uint8Array(41))],
        [["slid"], { ...received(undefined), slid: 0x1_0000 }],
        [["sl"], { ...received(undefined), sl: 16 }],
        [["dlidPathBits"], { ...received(undefined), dlidPathBits: 128 }]
      ] as const
      for (const [path, datagram] of wrong) {
        assertPath(yield* Effect.flip(AddressHandle.attributesOfSender(pd.context, lane.port, datagram)), path)
        assertPath(yield* Effect.flip(AddressHandle.fromReceived(pd, lane.port, datagram)), path)
      }
      assertPath(yield* Effect.flip(AddressHandle.fromReceived(pd, 0, received(undefined))), [])
      assert.strictEqual((yield* calls).length, before)
    }))
}

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

const received = (grh: Uint8Array | undefined): typeof ReceivedDatagram.ReceivedDatagram.Encoded => ({
  slid: 0,
  sl: 3,
  dlidPathBits: 0,
  ...(grh === undefined ? {} : { grh })
})

const ipv4 = (source: string, destination: string): Uint8Array =>
  RoutingHeader.toBytes({
    _tag: "Ipv4",
    typeOfService: 0x28,
    flowLabel: 0,
    timeToLive: 63,
    sgid: gidOf(source),
    dgid: gidOf(destination)
  })

const gidOf = (ipv4Address: string): Gid.Gid => Schema.decodeSync(Gid.GidFromString)(`::ffff:${ipv4Address}`)
