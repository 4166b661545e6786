/**
 * Conformance of ports that are open for MADs, and of what libibumad tells of ports beside.
 *
 * @since 0.1.0
 */
import * as Resource from "@effect-rdma/core/Resource"
import type * as Umad from "@effect-rdma/umad/Umad"
import * as UmadAgent from "@effect-rdma/umad/UmadAgent"
import * as UmadLibrary from "@effect-rdma/umad/UmadLibrary"
import * as UmadPort from "@effect-rdma/umad/UmadPort"
import { assert } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Result from "effect/Result"
import * as Scope from "effect/Scope"
import { assertPath, assertReason, namesOf, recorded, timesCalled, usesDeadHandle } from "../../internal/conformance.ts"
import {
  application,
  getCounters,
  longestName,
  openPort,
  performance,
  tooLong,
  unknownName
} from "../../internal/conformanceUmad.ts"
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

  // ---------------------------------------------------------------------------
  // Opening and closing
  // ---------------------------------------------------------------------------

  it("a port is open with its scope, and closed before the library is done", () =>
    recorded(function*(calls) {
      yield* Effect.scoped(openPort())
      assert.deepStrictEqual(namesOf(yield* calls), ["umad_init", "umad_open_port", "umad_close_port", "umad_done"])
    }))

  it("the descriptor of an open port is a number, and two ports at once have two", () =>
    Effect.gen(function*() {
      const library = yield* UmadLibrary.init()
      const filter = { caName: lane.adapter, portNum: lane.port }
      const [first, second] = yield* Effect.all([UmadPort.open(library, filter), UmadPort.open(library, filter)])
      const descriptors = [yield* UmadPort.fd(first), yield* UmadPort.fd(second)]
      for (const descriptor of descriptors) assert.isAtLeast(descriptor, 3)
      assert.notStrictEqual(descriptors[0], descriptors[1])
      assert.deepStrictEqual(descriptors, [Resource.raw(first), Resource.raw(second)].map(Number))
    }))

  it("a port can be opened by name, by name and number, and by nothing", () =>
    Effect.gen(function*() {
      const library = yield* UmadLibrary.init()
      for (const filter of [{}, { caName: lane.adapter }, { caName: lane.adapter, portNum: lane.port }]) {
        assert.isTrue(Resource.isLive(yield* UmadPort.open(library, filter)))
      }
    }))

  it("a port of an unknown adapter is ENODEV without a number and EINVAL with one", () =>
    Effect.gen(function*() {
      assertReason(yield* Effect.flip(openPort({ caName: unknownName })), "umad_open_port", "ENODEV")
      const error = yield* Effect.flip(openPort({ caName: unknownName, portNum: 1 }))
      assertReason(error, "umad_open_port", "EINVAL")
      assert.include(error.message, unknownName)
    }))

  it("a port number that the adapter does not have is EINVAL", () =>
    Effect.gen(function*() {
      for (const portNum of [lane.ports + 1, 200, 255]) {
        const error = yield* Effect.flip(openPort({ caName: lane.adapter, portNum }))
        assertReason(error, "umad_open_port", "EINVAL")
        assert.include(error.message, `portNum ${portNum}`)
      }
    }))

  it("a filter that C cannot take is a SchemaError with its path, and the library is not called", () =>
    recorded(function*(calls) {
      const library = yield* UmadLibrary.init()
      const before = (yield* calls).length
      for (const caName of [tooLong, "a/b", ""]) {
        assertPath(yield* Effect.flip(UmadPort.open(library, { caName })), ["caName"])
      }
      for (const portNum of [0, -1, 256, 1.5]) {
        assertPath(yield* Effect.flip(UmadPort.open(library, { portNum })), ["portNum"])
      }
      assert.strictEqual((yield* calls).length, before)
    }))

  it("a name of 19 bytes reaches the library, which does not know it", () =>
    Effect.gen(function*() {
      assertReason(yield* Effect.flip(openPort({ caName: longestName })), "umad_open_port", "ENODEV")
    }))

  it("a port for subnet management alone is opened, or EOPNOTSUPP where the library is older", () =>
    Effect.gen(function*() {
      const library = yield* UmadLibrary.init()
      const opened = yield* Effect.result(UmadPort.openSmi(library, { caName: lane.adapter }))
      if (Result.isSuccess(opened)) {
        assert.isAtLeast(yield* UmadPort.fd(opened.success), 3)
      } else {
        assertReason(opened.failure, "umad_open_smi_port", "EOPNOTSUPP")
      }
    }))

  it("a closed port is dead: nothing on it reaches the library", () =>
    recorded(function*(calls) {
      const library = yield* UmadLibrary.init()
      const port = yield* Effect.scoped(UmadPort.open(library))
      const before = (yield* calls).length
      assert.include((yield* usesDeadHandle(UmadPort.fd(port))).message, "OpenPort#")
      yield* usesDeadHandle(UmadPort.request(port, { address: { lid: 1 }, mad: getCounters() }))
      yield* usesDeadHandle(UmadAgent.register(port, performance))
      assert.strictEqual((yield* calls).length, before)
    }))

  it("a port is closed once, however often its scope is", () =>
    recorded(function*(calls) {
      const library = yield* UmadLibrary.init()
      const scope = yield* Scope.make()
      const port = yield* Scope.provide(UmadPort.open(library), scope)
      yield* Effect.all([Scope.close(scope, Exit.void), Scope.close(scope, Exit.void)], { concurrency: "unbounded" })
      yield* Scope.close(scope, Exit.void)
      assert.isFalse(Resource.isLive(port))
      assert.strictEqual(timesCalled(yield* calls, "umad_close_port"), 1)
    }))

  it("a port in an outer scope goes with its library in an inner one", () =>
    recorded(function*(calls) {
      const outer = yield* Effect.scope
      const port = yield* Effect.scoped(
        Effect.flatMap(UmadLibrary.init(), (library) => Scope.provide(UmadPort.open(library), outer))
      )
      assert.isFalse(Resource.isLive(port))
      assert.deepStrictEqual(namesOf(yield* calls).slice(-2), ["umad_close_port", "umad_done"])
    }))

  it("a port that failed to open is not closed", () =>
    recorded(function*(calls) {
      yield* Effect.scoped(Effect.flip(openPort({ caName: unknownName })))
      assert.strictEqual(timesCalled(yield* calls, "umad_close_port"), 0)
      assert.strictEqual(timesCalled(yield* calls, "umad_done"), 1)
    }))

  it("two hundred ports one after the other leave nothing behind", () =>
    recorded(function*(calls) {
      const round = Effect.scoped(Effect.gen(function*() {
        const port = yield* openPort({ caName: lane.adapter })
        yield* UmadAgent.register(port, application)
      }))
      yield* Effect.repeat(round, { times: 199 })
      assert.strictEqual(timesCalled(yield* calls, "umad_close_port"), 200)
      yield* LeakCheck.assertNothingAlive
    }))

  it("a program with an open port and an agent that is interrupted leaves nothing behind", () =>
    recorded(function*(calls) {
      const ready = yield* Deferred.make<void>()
      const fiber = yield* Effect.forkChild(Effect.scoped(Effect.gen(function*() {
        const port = yield* openPort()
        yield* UmadAgent.register(port, application)
        yield* Deferred.succeed(ready, undefined)
        return yield* Effect.never
      })))
      yield* Deferred.await(ready)
      yield* Fiber.interrupt(fiber)
      assert.deepStrictEqual(namesOf(yield* calls).slice(-3), ["umad_unregister", "umad_close_port", "umad_done"])
      yield* LeakCheck.assertNothingAlive
    }))

  // ---------------------------------------------------------------------------
  // Beside
  // ---------------------------------------------------------------------------

  it("every port is in the list, as it is when it is got alone", () =>
    Effect.gen(function*() {
      const library = yield* UmadLibrary.init()
      const ports = yield* UmadLibrary.ports(library)
      const own = ports.filter(Result.isSuccess).map(({ success }) => success).filter(({ caName }) =>
        caName === lane.adapter
      )
      assert.deepStrictEqual(
        own.map(({ portNum }) => Number(portNum)),
        Array.from({ length: lane.ports }, (_, index) => index + 1)
      )
      const alone = yield* UmadPort.get(library, { caName: lane.adapter, portNum: lane.port })
      assert.deepStrictEqual(own.find(({ portNum }) => portNum === lane.port), alone.attributes)
    }))

  it("the GUIDs of an adapter are those of its ports, by number", () =>
    Effect.gen(function*() {
      const library = yield* UmadLibrary.init()
      const guids = yield* UmadLibrary.portGuids(library, lane.adapter)
      const { attributes } = yield* UmadPort.get(library, { caName: lane.adapter, portNum: lane.port })
      assert.strictEqual(guids.length, lane.ports + 1)
      assert.strictEqual(guids[0], 0n)
      assert.strictEqual(guids[lane.port], attributes.portGuid)
      assertReason(yield* Effect.flip(UmadLibrary.portGuids(library, unknownName)), "umad_get_ca_portguids", "ENOENT")
    }))

  it("the node of a subnet manager is that of the port, and of no other", () =>
    Effect.gen(function*() {
      const library = yield* UmadLibrary.init()
      const path = yield* UmadLibrary.issmPath(library, { caName: lane.adapter, portNum: lane.port })
      assert.match(path, /^\/dev\/infiniband\/issm\d+$/)
      assert.strictEqual(yield* UmadLibrary.issmPath(library), path)
      const error = yield* Effect.flip(UmadLibrary.issmPath(library, { caName: lane.adapter, portNum: 200 }))
      assertReason(error, "umad_get_issm_path", "EINVAL")
    }))

  it("the pairs of devices with subnet management apart are told, or EOPNOTSUPP where the library is older", () =>
    Effect.gen(function*() {
      const library = yield* UmadLibrary.init()
      const pairs = yield* Effect.result(UmadLibrary.smiGsiPairs(library))
      if (Result.isSuccess(pairs)) {
        for (const { gsiName } of pairs.success) assert.isString(gsiName)
      } else {
        assertReason(pairs.failure, "umad_get_smi_gsi_pairs", "EOPNOTSUPP")
        assertReason(
          yield* Effect.flip(UmadLibrary.smiGsiPairByCaName(library, lane.adapter)),
          "umad_get_smi_gsi_pair_by_ca_name",
          "EOPNOTSUPP"
        )
      }
    }))

  it("the debug level is what it was set to", () =>
    Effect.gen(function*() {
      const library = yield* UmadLibrary.init()
      assert.strictEqual(yield* UmadLibrary.debug(library, 0), 0)
    }))
}
