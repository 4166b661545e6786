/**
 * Conformance of where a GID is on an Ethernet.
 *
 * @since 0.1.0
 */
import type * as Gid from "@effect-rdma/core/Gid"
import * as AddressHandle from "@effect-rdma/verbs/AddressHandle"
import type * as DeviceContext from "@effect-rdma/verbs/DeviceContext"
import * as Port from "@effect-rdma/verbs/Port"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { assertPath, assertReason, recorded, timesCalled, usesDeadHandle } from "../../internal/conformance.ts"
import { verbsSuite } from "../../internal/conformanceVerbs.ts"
import type * as VerbsLane from "../VerbsLane.ts"

const ways = "ibv_resolve_eth_l2_from_gid"

/**
 * Registers the suite on a lane.
 *
 * @category constructors
 * @since 0.1.0
 */
export const suite = <Others = never>(lane: VerbsLane.VerbsLane<Others>): void => {
  const { it, itOnRoce, open, roce } = verbsSuite(lane)

  const { sgidIndex } = roce

  const resolve = (context: DeviceContext.DeviceContext, dgid: Gid.Gid | string, from = sgidIndex, port = lane.port) =>
    AddressHandle.resolveEthernet(context, { portNum: port, grh: { dgid, sgidIndex: from } })
  const macOf = (...to: Parameters<typeof resolve>) =>
    Effect.map(resolve(...to), ({ mac, vlan }) => {
      assert.isUndefined(vlan)
      return Array.from(mac)
    })

  itOnRoce("a neighbour is at its MAC address, and so is the port itself", () =>
    Effect.gen(function*() {
      const context = yield* open
      assert.deepStrictEqual(yield* macOf(context, mapped(roce.peerAddress)), roce.peerMac)
      const own = yield* macOf(context, mapped(roce.ownAddress))
      assert.deepStrictEqual(yield* macOf(context, yield* Port.gid(context, lane.port, 0), 0), own)
    }))

  itOnRoce("a link-local GID is made of the MAC address, and a group of its own", () =>
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
      assert.deepStrictEqual(yield* macOf(context, mapped(roce.peerAddress), 0), roce.peerMac)
    }))

  itOnRoce("nobody there is EHOSTUNREACH, and so is what there is no route to", () =>
    Effect.gen(function*() {
      const context = yield* open
      for (const dgid of [mapped(roce.silentAddress), mapped("10.9.9.9"), "fd00::9", "::"]) {
        assertReason(yield* Effect.flip(resolve(context, dgid)), ways, "EHOSTUNREACH")
      }
      assertReason(yield* Effect.flip(resolve(context, "fd00::9", 0)), ways, "EHOSTUNREACH")
    }))

  itOnRoce("a source or a port that is not there is EINVAL", () =>
    Effect.gen(function*() {
      const context = yield* open
      const peer = mapped(roce.peerAddress)
      assertReason(yield* Effect.flip(resolve(context, peer, lane.emptyGidIndex)), ways, "EINVAL")
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
