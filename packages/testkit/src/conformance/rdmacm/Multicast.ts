/**
 * Conformance of multicast groups.
 *
 * @since 0.1.0
 */
import * as Gid from "@effect-rdma/core/Gid"
import * as CmId from "@effect-rdma/rdmacm/CmId"
import * as EventChannel from "@effect-rdma/rdmacm/EventChannel"
import * as MulticastMembership from "@effect-rdma/rdmacm/MulticastMembership"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { assertPath, assertReason, namesOf, recorded, timesCalled } from "../../internal/conformance.ts"
import { rdmaCmSuite } from "../../internal/conformanceRdmaCm.ts"
import type * as RdmaCmLane from "../RdmaCmLane.ts"

/**
 * Registers the suite on a lane.
 *
 * @category constructors
 * @since 0.1.0
 */
export const suite = <Others = never>(lane: RdmaCmLane.RdmaCmLane<Others>): void => {
  const { at, it } = rdmaCmSuite(lane)
  const group = "239.1.2.3:0"

  /** A datagram id that is bound to the device. */
  const member = Effect.gen(function*() {
    const id = yield* CmId.make(yield* EventChannel.make(), "udp")
    yield* CmId.resolveAddress(id, { destination: group, source: at(0) })
    return id
  })

  it("a membership tells where datagrams to the group go, and is left before the id is destroyed", () =>
    recorded(function*(calls) {
      yield* Effect.scoped(Effect.gen(function*() {
        const { address, group: { ahAttr, privateData, qkey, qpNum } } = yield* MulticastMembership.join(
          yield* member,
          group
        )
        assert.strictEqual(String(address), group)
        assert.strictEqual(qpNum, 0xffffff)
        assert.notStrictEqual(qkey, 0)
        assert.strictEqual(privateData.length, 0)
        assert(ahAttr?.grh !== undefined)
        assert.isTrue(Gid.isMulticast(ahAttr.grh.dgid) || Gid.isIpv4Mapped(ahAttr.grh.dgid))
      }))
      assert.deepStrictEqual(namesOf(yield* calls).slice(-3), [
        "rdma_leave_multicast",
        "rdma_destroy_id",
        "rdma_destroy_event_channel"
      ])
    }))

  it("an id joins several groups, and leaves them one by one", () =>
    recorded(function*(calls) {
      const id = yield* member
      yield* MulticastMembership.join(id, group)
      yield* Effect.scoped(MulticastMembership.join(id, "239.1.2.4:0"))
      assert.strictEqual(timesCalled(yield* calls, "rdma_leave_multicast"), 1)
      yield* MulticastMembership.join(id, "239.1.2.4:0")
    }))

  it("a group is joined twice, and left twice", () =>
    recorded(function*(calls) {
      const id = yield* member
      yield* MulticastMembership.join(id, group)
      yield* Effect.scoped(MulticastMembership.join(id, group))
      yield* MulticastMembership.join(id, group)
      assert.strictEqual(timesCalled(yield* calls, "rdma_leave_multicast"), 1)
    }))

  it("an id of connections, or with a route, does not join: EINVAL", () =>
    Effect.gen(function*() {
      const connection = yield* CmId.make(yield* EventChannel.make(), "tcp")
      yield* CmId.bind(connection, at(0))
      assertReason(yield* Effect.flip(MulticastMembership.join(connection, group)), "rdma_join_multicast", "EINVAL")
      const datagrams = yield* member
      yield* CmId.resolveRoute(datagrams)
      assertReason(yield* Effect.flip(MulticastMembership.join(datagrams, group)), "rdma_join_multicast", "EINVAL")
    }))

  it("a group without a source is no route: ENETUNREACH", () =>
    Effect.gen(function*() {
      const id = yield* CmId.make(yield* EventChannel.make(), "udp")
      const error = yield* Effect.flip(CmId.resolveAddress(id, { destination: group }))
      assertReason(error, "rdma_resolve_addr", "ENETUNREACH")
    }))

  it("the other way to join is as good", () =>
    recorded(function*(calls) {
      yield* MulticastMembership.join(yield* member, group, { joinFlags: "fullMember" })
      assert.strictEqual(timesCalled(yield* calls, "rdma_join_multicast_ex"), 1)
    }))

  it("an id that is bound to no device does not join: EINVAL, and the library is not called", () =>
    recorded(function*(calls) {
      const id = yield* CmId.make(yield* EventChannel.make(), "udp")
      assertReason(yield* Effect.flip(MulticastMembership.join(id, group)), "rdma_join_multicast", "EINVAL")
      assertPath(yield* Effect.flip(MulticastMembership.join(id, "everybody")), ["address"])
      assert.strictEqual(timesCalled(yield* calls, "rdma_join_multicast"), 0)
    }))
}
