/**
 * Conformance of libibumad itself and the names of adapters.
 *
 * @since 0.1.0
 */
import * as CaDeviceList from "@effect-rdma/umad/CaDeviceList"
import type * as Umad from "@effect-rdma/umad/Umad"
import * as UmadCa from "@effect-rdma/umad/UmadCa"
import * as UmadLibrary from "@effect-rdma/umad/UmadLibrary"
import * as UmadPort from "@effect-rdma/umad/UmadPort"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { namesOf, recorded, timesCalled, usesDeadHandle } from "../../internal/conformance.ts"
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

  it("the library is initialised and done with its scope", () =>
    recorded(function*(calls) {
      yield* Effect.scoped(UmadLibrary.init())
      assert.deepStrictEqual(namesOf(yield* calls), ["umad_init", "umad_done"])
    }))

  it("the library can be initialised twice at once and a hundred times in a row", () =>
    recorded(function*(calls) {
      yield* Effect.scoped(Effect.all([UmadLibrary.init(), UmadLibrary.init()]))
      yield* Effect.repeat(Effect.scoped(UmadLibrary.init()), { times: 99 })
      assert.strictEqual(timesCalled(yield* calls, "umad_init"), 102)
      assert.strictEqual(timesCalled(yield* calls, "umad_done"), 102)
    }))

  it("a library that is done cannot be asked anything, and is not called", () =>
    recorded(function*(calls) {
      const library = yield* Effect.scoped(UmadLibrary.init())
      const before = (yield* calls).length
      assert.include((yield* usesDeadHandle(UmadLibrary.caNames(library))).message, "UmadLibrary#")
      yield* usesDeadHandle(UmadPort.get(library))
      yield* usesDeadHandle(UmadCa.get(library))
      yield* usesDeadHandle(CaDeviceList.get(library))
      assert.strictEqual((yield* calls).length, before)
    }))

  it("the names of the adapters are those that the host has, each once", () =>
    Effect.gen(function*() {
      const names = yield* Effect.flatMap(UmadLibrary.init(), UmadLibrary.caNames)
      assert.include(names, lane.adapter)
      assert.strictEqual(names.length, lane.adapters)
      assert.strictEqual(new Set(names).size, names.length)
    }))
}
