/**
 * Conformance of the options of an id.
 *
 * @since 0.1.0
 */
import * as CmId from "@effect-rdma/rdmacm/CmId"
import type * as CmOption from "@effect-rdma/rdmacm/CmOption"
import * as EventChannel from "@effect-rdma/rdmacm/EventChannel"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { assertPath, assertReason, recorded, timesCalled } from "../../internal/conformance.ts"
import { rdmaCmSuite } from "../../internal/conformanceRdmaCm.ts"
import type * as RdmaCmLane from "../RdmaCmLane.ts"

/**
 * Registers the suite on a lane.
 *
 * @category constructors
 * @since 0.1.0
 */
export const suite = <Others = never>(lane: RdmaCmLane.RdmaCmLane<Others>): void => {
  const { at, idOnOwnChannel, it } = rdmaCmSuite(lane)

  const options: ReadonlyArray<CmOption.CmOption> = [
    { _tag: "TypeOfService", value: 0x28 },
    { _tag: "ReuseAddress", value: true },
    { _tag: "ReuseAddress", value: false },
    { _tag: "AddressFamilyOnly", value: true },
    { _tag: "AckTimeout", value: 14 }
  ]
  for (const option of options) {
    it(`a new id takes ${option._tag} ${option.value}`, () =>
      Effect.flatMap(idOnOwnChannel, (id) => CmId.setOption(id, option)))
  }

  it("how an address is shared is said before the id listens: EINVAL", () =>
    Effect.gen(function*() {
      const id = yield* idOnOwnChannel
      yield* CmId.bind(id, at(0))
      yield* CmId.listen(id)
      for (const option of ["ReuseAddress", "AddressFamilyOnly"] as const) {
        const error = yield* Effect.flip(CmId.setOption(id, { _tag: option, value: true }))
        assertReason(error, "rdma_set_option", "EINVAL")
        assert.include(error.message, option)
      }
    }))

  it("a datagram id has no acks to wait for: EINVAL", () =>
    Effect.gen(function*() {
      const id = yield* CmId.make(yield* EventChannel.make(), "udp")
      const error = yield* Effect.flip(CmId.setOption(id, { _tag: "AckTimeout", value: 14 }))
      assertReason(error, "rdma_set_option", "EINVAL")
    }))

  it("a value out of range is a SchemaError, and the library is not called", () =>
    recorded(function*(calls) {
      const id = yield* idOnOwnChannel
      assertPath(yield* Effect.flip(CmId.setOption(id, { _tag: "TypeOfService", value: 256 })), ["value"])
      assertPath(yield* Effect.flip(CmId.setOption(id, { _tag: "AckTimeout", value: 32 })), ["value"])
      assert.strictEqual(timesCalled(yield* calls, "rdma_set_option"), 0)
    }))

  it("an id of IPv6 that takes IPv6 only leaves the port to IPv4", () =>
    Effect.gen(function*() {
      const channel = yield* EventChannel.make()
      const six = yield* CmId.make(channel, "tcp")
      yield* CmId.setOption(six, { _tag: "AddressFamilyOnly", value: true })
      yield* CmId.bind(six, "[::]:23456")
      const four = yield* CmId.make(channel, "tcp")
      yield* CmId.bind(four, "0.0.0.0:23456")
      yield* CmId.listen(six)
      yield* CmId.listen(four)
    }))
}
