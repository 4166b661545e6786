/**
 * Conformance of what came to librdmacm with rdma-core 60.
 *
 * @since 0.1.0
 */
import * as Resource from "@effect-rdma/core/Resource"
import * as AddressInfo from "@effect-rdma/rdmacm/AddressInfo"
import * as CmId from "@effect-rdma/rdmacm/CmId"
import * as EventChannel from "@effect-rdma/rdmacm/EventChannel"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { assertReason } from "../../internal/conformance.ts"
import { rdmaCmSuite } from "../../internal/conformanceRdmaCm.ts"
import type * as RdmaCmLane from "../RdmaCmLane.ts"

/**
 * Registers the suite on a lane.
 *
 * @category constructors
 * @since 0.1.0
 */
export const suite = <Others = never>(lane: RdmaCmLane.RdmaCmLane<Others>): void => {
  const { idOnOwnChannel, it: test } = rdmaCmSuite(lane)
  const numeric = { node: lane.ownAddress, service: "7471", flags: ["numericHost"], portSpace: "tcp" } as const

  if ((lane.rdmaCore ?? 44) < 60) {
    test("names for an id, and events of the program: EOPNOTSUPP, since the library is older than rdma-core 60", () =>
      Effect.gen(function*() {
        const id = yield* idOnOwnChannel
        const error = yield* Effect.flip(AddressInfo.resolve(id, numeric))
        assertReason(error, "rdma_resolve_addrinfo", "EOPNOTSUPP")
        assertReason(yield* Effect.flip(CmId.writeEvent(id)), "rdma_write_cm_event", "EOPNOTSUPP")
        const query = Resource.use(id, id.channel.cm.queryAddrinfo)
        assertReason(yield* Effect.flip(query), "rdma_query_addrinfo", "EOPNOTSUPP")
      }))
    return
  }

  test("names for an id are found as without one, again and again", () =>
    Effect.gen(function*() {
      const id = yield* idOnOwnChannel
      assert.deepStrictEqual(yield* AddressInfo.resolve(id, numeric), yield* AddressInfo.get(numeric))
      assert.strictEqual((yield* AddressInfo.resolve(id, { ...numeric, service: "7472" })).length, 1)
    }))

  test("a name that nobody knows is ENOENT, and the id can be asked again", () =>
    Effect.gen(function*() {
      const id = yield* idOnOwnChannel
      const error = yield* Effect.flip(AddressInfo.resolve(id, { ...numeric, node: "nobody" }))
      assertReason(error, "rdma_resolve_addrinfo", "ENOENT")
      yield* AddressInfo.resolve(id, numeric)
    }))

  test("an event of the program comes out of the channel with its status and its number", () =>
    Effect.gen(function*() {
      const channel = yield* EventChannel.make()
      const id = yield* CmId.make(channel, "tcp")
      yield* CmId.writeEvent(id, { status: -7, arg: 2n ** 64n - 1n })
      const { arg, event, status } = yield* EventChannel.next(channel)
      assert.deepStrictEqual({ arg, event, status }, { arg: 2n ** 64n - 1n, event: "user", status: -7 })
    }))
}
