/**
 * Conformance of device lists.
 *
 * @since 0.1.0
 */
import * as Resource from "@effect-rdma/core/Resource"
import * as CaDeviceList from "@effect-rdma/umad/CaDeviceList"
import type * as Umad from "@effect-rdma/umad/Umad"
import * as UmadLibrary from "@effect-rdma/umad/UmadLibrary"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { recorded, timesCalled } from "../../internal/conformance.ts"
import * as Lane from "../Lane.ts"
import type * as UmadLane from "../UmadLane.ts"

/**
 * Registers the suite on a lane.
 *
 * @category constructors
 * @since 0.1.0
 */
export const suite = <Others = never>(lane: UmadLane.UmadLane<Others>): void => {
  const it = Lane.test<Umad.Umad | Others>(lane)

  it("the device list has the same names, and is freed with its scope", () =>
    recorded(function*(calls) {
      const library = yield* UmadLibrary.init()
      const names = yield* UmadLibrary.caNames(library)
      yield* Effect.scoped(Effect.gen(function*() {
        const list = yield* CaDeviceList.get(library)
        assert.deepStrictEqual(list.names.toSorted(), names.toSorted())
        assert.strictEqual(timesCalled(yield* calls, "umad_free_ca_device_list"), 0)
      }))
      assert.strictEqual(timesCalled(yield* calls, "umad_free_ca_device_list"), 1)
    }))

  it("two device lists at once are two lists", () =>
    Effect.gen(function*() {
      const library = yield* UmadLibrary.init()
      const [first, second] = yield* Effect.all([CaDeviceList.get(library), CaDeviceList.get(library)])
      assert.notStrictEqual(Resource.raw(first).list, Resource.raw(second).list)
      assert.deepStrictEqual(first.names, second.names)
    }))
}
