/**
 * Conformance of the lifetimes of what is got.
 *
 * @since 0.1.0
 */
import * as Resource from "@effect-rdma/core/Resource"
import * as CaDeviceList from "@effect-rdma/umad/CaDeviceList"
import type * as Umad from "@effect-rdma/umad/Umad"
import * as UmadCa from "@effect-rdma/umad/UmadCa"
import * as UmadLibrary from "@effect-rdma/umad/UmadLibrary"
import * as UmadPort from "@effect-rdma/umad/UmadPort"
import { assert } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Scope from "effect/Scope"
import { assertReason, namesOf, recorded, timesCalled } from "../../internal/conformance.ts"
import { adapter, port, unknownName } from "../../internal/conformanceUmad.ts"
import * as LeakCheck from "../../LeakCheck.ts"
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

  it("ports, adapters and lists are released before the library is done, last got first", () =>
    recorded(function*(calls) {
      yield* Effect.scoped(Effect.gen(function*() {
        const library = yield* UmadLibrary.init()
        yield* UmadPort.get(library)
        yield* UmadCa.get(library)
        yield* CaDeviceList.get(library)
      }))
      assert.deepStrictEqual(namesOf(yield* calls).slice(-4), [
        "umad_free_ca_device_list",
        "umad_release_ca",
        "umad_release_port",
        "umad_done"
      ])
    }))

  it("a port in an outer scope goes with its library in an inner one, and its state stays readable", () =>
    recorded(function*(calls) {
      const outer = yield* Effect.scope
      const got = yield* Effect.scoped(
        Effect.flatMap(UmadLibrary.init(), (library) => Scope.provide(UmadPort.get(library), outer))
      )
      assert.isFalse(Resource.isLive(got))
      assert.strictEqual(got.attributes.caName, lane.adapter)
      assert.deepStrictEqual(namesOf(yield* calls).slice(-2), ["umad_release_port", "umad_done"])
    }))

  it("what failed to be got is not released", () =>
    recorded(function*(calls) {
      yield* Effect.scoped(Effect.gen(function*() {
        const library = yield* UmadLibrary.init()
        yield* Effect.flip(UmadPort.get(library, { caName: unknownName }))
        yield* Effect.flip(UmadPort.get(library, { caName: lane.adapter, portNum: 200 }))
        yield* Effect.flip(UmadCa.get(library, unknownName))
      }))
      assert.strictEqual(timesCalled(yield* calls, "umad_release_port"), 0)
      assert.strictEqual(timesCalled(yield* calls, "umad_release_ca"), 0)
      assert.strictEqual(timesCalled(yield* calls, "umad_done"), 1)
    }))

  it("a hundred rounds of everything leave nothing behind", () =>
    recorded(function*(calls) {
      const round = Effect.scoped(Effect.gen(function*() {
        const library = yield* UmadLibrary.init()
        yield* UmadPort.get(library)
        yield* UmadPort.get(library, { caName: lane.adapter, portNum: lane.port })
        yield* UmadCa.get(library, lane.adapter)
        yield* CaDeviceList.get(library)
      }))
      yield* Effect.repeat(round, { times: 99 })
      assert.strictEqual(timesCalled(yield* calls, "umad_release_port"), 200)
      assert.strictEqual(timesCalled(yield* calls, "umad_release_ca"), 100)
      assert.strictEqual(timesCalled(yield* calls, "umad_free_ca_device_list"), 100)
      yield* LeakCheck.assertNothingAlive
    }))

  it("twenty programs at once, some failing, leave nothing behind", () =>
    recorded(function*(calls) {
      const exits = yield* Effect.all(
        Array.from({ length: 20 }, (_, index) =>
          Effect.exit(Effect.scoped(Effect.gen(function*() {
            const library = yield* UmadLibrary.init()
            yield* Effect.yieldNow
            yield* UmadPort.get(library)
            yield* Effect.yieldNow
            return yield* UmadCa.get(library, index % 4 === 0 ? unknownName : lane.adapter)
          })))),
        { concurrency: "unbounded" }
      )
      assert.strictEqual(exits.filter(Exit.isSuccess).length, 15)
      assert.strictEqual(timesCalled(yield* calls, "umad_release_port"), 20)
      assert.strictEqual(timesCalled(yield* calls, "umad_done"), 20)
      yield* LeakCheck.assertNothingAlive
    }))

  it("a program that is interrupted leaves nothing behind", () =>
    recorded(function*(calls) {
      const ready = yield* Deferred.make<void>()
      const fiber = yield* Effect.forkChild(
        Effect.scoped(Effect.andThen(port(), Effect.andThen(Deferred.succeed(ready, undefined), Effect.never)))
      )
      yield* Deferred.await(ready)
      yield* Fiber.interrupt(fiber)
      assert.deepStrictEqual(namesOf(yield* calls).slice(-2), ["umad_release_port", "umad_done"])
      yield* LeakCheck.assertNothingAlive
    }))

  it("an errno of libibumad that is caught by its name is handled, and another one passes", () =>
    Effect.gen(function*() {
      const caught = yield* adapter(unknownName).pipe(
        Effect.as("got"),
        Effect.catchReason("UmadError", "ENOENT", ({ _tag }, error) => Effect.succeed(`${error.call} ${_tag}`))
      )
      assert.strictEqual(caught, "umad_get_ca ENOENT")
      const passed = yield* Effect.flip(
        port({ caName: unknownName }).pipe(Effect.catchReason("UmadError", "ENOENT", () => Effect.succeed("caught")))
      )
      assertReason(passed, "umad_get_port", "ENODEV")
    }))
}
