/**
 * What libibumad does, as tests of the scoped modules: the same on the in-memory fabric, on ibsim, on Soft-RoCE and on
 * hardware.
 *
 * @since 0.1.0
 */
import * as PhysicalState from "@effect-rdma/core/PhysicalState"
import * as PKey from "@effect-rdma/core/PKey"
import * as PortState from "@effect-rdma/core/PortState"
import * as Resource from "@effect-rdma/core/Resource"
import * as CaDeviceList from "@effect-rdma/umad/CaDeviceList"
import type * as PortAttributes from "@effect-rdma/umad/PortAttributes"
import type * as Umad from "@effect-rdma/umad/Umad"
import * as UmadCa from "@effect-rdma/umad/UmadCa"
import * as UmadLibrary from "@effect-rdma/umad/UmadLibrary"
import * as UmadPort from "@effect-rdma/umad/UmadPort"
import { assert } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import {
  assertPath,
  assertReason,
  assertUnsigned,
  namesOf,
  recorded,
  timesCalled,
  usesDeadHandle
} from "../internal/conformance.ts"
import * as LeakCheck from "../LeakCheck.ts"
import * as Lane from "./Lane.ts"

/**
 * What the suite has to know of the host that it runs on.
 *
 * @category models
 * @since 0.1.0
 */
export interface UmadLane<Others = never> extends Lane.Lane<Umad.Umad | Others> {
  /** The adapter that libibumad prefers, and its active port. */
  readonly adapter: string
  readonly port: number
  /** How many adapters the host has, and ports this one. */
  readonly adapters: number
  readonly ports: number
  /** As sysfs says it: libibumad chooses by port number alone among InfiniBand ports only. */
  readonly linkLayer: "InfiniBand" | "IB" | "Ethernet"
}

/**
 * Registers the suite on a lane.
 *
 * @category constructors
 * @since 0.1.0
 */
export const suite = <Others = never>(lane: UmadLane<Others>): void => {
  const it = Lane.test<Umad.Umad | Others>(lane)
  const isInfiniBand = lane.linkLayer !== "Ethernet"
  const unknownName = "no-such-adapter"
  const longestName = "a".repeat(19)
  const tooLong = "a".repeat(20)

  // ---------------------------------------------------------------------------
  // The library and the names
  // ---------------------------------------------------------------------------

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

  // ---------------------------------------------------------------------------
  // Ports
  // ---------------------------------------------------------------------------

  it("a port that is asked for by name and number is that one", () =>
    Effect.gen(function*() {
      const { attributes } = yield* port({ caName: lane.adapter, portNum: lane.port })
      assert.strictEqual(attributes.caName, lane.adapter)
      assert.strictEqual(Number(attributes.portNum), lane.port)
      assert.strictEqual(attributes.linkLayer, lane.linkLayer)
    }))

  it("a port that is asked for by name alone is the active one of that adapter", () =>
    Effect.gen(function*() {
      const { attributes } = yield* port({ caName: lane.adapter })
      assert.strictEqual(attributes.caName, lane.adapter)
      assert.strictEqual(Number(attributes.portNum), lane.port)
      assert.strictEqual(attributes.state, "active")
    }))

  it("a port that is asked for by nothing is an active one", () =>
    Effect.gen(function*() {
      const { attributes } = yield* port()
      assert.strictEqual(attributes.caName, lane.adapter)
      assert.strictEqual(Number(attributes.portNum), lane.port)
      assert.strictEqual(attributes.state, "active")
    }))

  it("a port that is asked for by number alone is an InfiniBand port or EIO", () =>
    Effect.gen(function*() {
      if (isInfiniBand) {
        const { attributes } = yield* port({ portNum: lane.port })
        assert.strictEqual(attributes.caName, lane.adapter)
        assert.strictEqual(attributes.state, "active")
      } else {
        assertReason(yield* Effect.flip(port({ portNum: lane.port })), "umad_get_port", "EIO")
      }
    }))

  it("the state of a port has every field in its range", () =>
    Effect.gen(function*() {
      const { attributes } = yield* port()
      assertPort(attributes)
      assert.strictEqual(attributes.physState, "linkUp")
      assert.isAbove(attributes.rate, 0)
    }))

  it("an InfiniBand port has a LID from its subnet manager, an Ethernet port has none", () =>
    Effect.gen(function*() {
      const { attributes } = yield* port()
      assert.strictEqual(attributes.baseLid > 0, isInfiniBand)
      assert.strictEqual(attributes.smLid > 0, isInfiniBand)
    }))

  it("the first P_Key of a port is the default one with full membership", () =>
    Effect.gen(function*() {
      const { attributes } = yield* port()
      assert.strictEqual(attributes.pkeys[0], PKey.defaultFull)
      assert.isTrue(attributes.pkeys.every((pkey) => Schema.is(PKey.PKey)(pkey)))
    }))

  it("the same port twice at once is two structs with the same state", () =>
    Effect.gen(function*() {
      const library = yield* UmadLibrary.init()
      const filter = { caName: lane.adapter, portNum: lane.port }
      const [first, second] = yield* Effect.all([UmadPort.get(library, filter), UmadPort.get(library, filter)])
      assert.notStrictEqual(Resource.raw(first).port, Resource.raw(second).port)
      assert.deepStrictEqual(first.attributes, second.attributes)
    }))

  it("a port number that the adapter does not have is EIO, whether the adapter is named or not", () =>
    Effect.gen(function*() {
      const library = yield* UmadLibrary.init()
      for (const portNum of [lane.ports + 1, 200, 255]) {
        for (const filter of [{ portNum }, { caName: lane.adapter, portNum }]) {
          const error = yield* Effect.flip(UmadPort.get(library, filter))
          assertReason(error, "umad_get_port", "EIO")
          assert.include(error.message, `portNum ${portNum}`)
        }
      }
    }))

  it("a port of an unknown adapter is ENODEV without a number and EIO with one", () =>
    Effect.gen(function*() {
      const library = yield* UmadLibrary.init()
      const byName = yield* Effect.flip(UmadPort.get(library, { caName: unknownName }))
      assertReason(byName, "umad_get_port", "ENODEV")
      assert.include(byName.message, unknownName)
      const byBoth = yield* Effect.flip(UmadPort.get(library, { caName: unknownName, portNum: 1 }))
      assertReason(byBoth, "umad_get_port", "EIO")
    }))

  it("a name of 19 bytes reaches the library, which does not know it", () =>
    Effect.gen(function*() {
      assertReason(yield* Effect.flip(port({ caName: longestName })), "umad_get_port", "ENODEV")
      assertReason(yield* Effect.flip(adapter(longestName)), "umad_get_ca", "ENOENT")
    }))

  it("a name that the C struct cannot hold is a SchemaError, and the library is not called", () =>
    recorded(function*(calls) {
      const library = yield* UmadLibrary.init()
      const before = (yield* calls).length
      for (const caName of [tooLong, "ä".repeat(10), "a/b", "..\0", ""]) {
        assertPath(yield* Effect.flip(UmadPort.get(library, { caName })), ["caName"])
        assertPath(yield* Effect.flip(UmadCa.get(library, caName)), [])
      }
      assert.strictEqual((yield* calls).length, before)
    }))

  it("a port number out of range is a SchemaError with its path, and the library is not called", () =>
    recorded(function*(calls) {
      const library = yield* UmadLibrary.init()
      const before = (yield* calls).length
      for (const portNum of [0, -1, 256, 1.5]) {
        assertPath(yield* Effect.flip(UmadPort.get(library, { portNum })), ["portNum"])
      }
      assert.strictEqual((yield* calls).length, before)
    }))

  // ---------------------------------------------------------------------------
  // Adapters
  // ---------------------------------------------------------------------------

  it("an adapter that is asked for by name has every field in its range", () =>
    Effect.gen(function*() {
      const { attributes } = yield* adapter(lane.adapter)
      assert.strictEqual(attributes.caName, lane.adapter)
      assert.strictEqual(attributes.nodeType, "ca")
      assert.isTrue(attributes.nodeGuid > 0n && attributes.nodeGuid < 1n << 64n)
      assert.isTrue(attributes.systemGuid >= 0n && attributes.systemGuid < 1n << 64n)
      for (const text of [attributes.fwVer, attributes.caType, attributes.hwVer]) {
        assert.isString(text)
        assert.notInclude(text, "\0")
        assert.notInclude(text, "\n")
      }
    }))

  it("an adapter holds its ports by rising number, each with its state", () =>
    Effect.gen(function*() {
      const { attributes } = yield* adapter(lane.adapter)
      assert.strictEqual(attributes.numports, lane.ports)
      assert.deepStrictEqual(
        attributes.ports.map(({ portNum }) => Number(portNum)),
        Array.from({ length: lane.ports }, (_, index) => index + 1)
      )
      attributes.ports.forEach(assertPort)
    }))

  it("a port of an adapter is the port that is got alone", () =>
    Effect.gen(function*() {
      const library = yield* UmadLibrary.init()
      const { attributes } = yield* UmadCa.get(library, lane.adapter)
      const alone = yield* UmadPort.get(library, { caName: lane.adapter, portNum: lane.port })
      assert.deepStrictEqual(attributes.ports.find(({ portNum }) => portNum === lane.port), alone.attributes)
    }))

  it("an adapter that is asked for by nothing is one with an active port", () =>
    Effect.gen(function*() {
      const { attributes } = yield* adapter()
      assert.strictEqual(attributes.caName, lane.adapter)
      assert.isTrue(attributes.ports.some(({ state }) => state === "active"))
    }))

  it("every adapter that is listed can be got by its name", () =>
    Effect.gen(function*() {
      const library = yield* UmadLibrary.init()
      for (const name of yield* UmadLibrary.caNames(library)) {
        assert.strictEqual((yield* UmadCa.get(library, name)).attributes.caName, name)
      }
    }))

  it("an unknown adapter is ENOENT of umad_get_ca", () =>
    Effect.gen(function*() {
      const library = yield* UmadLibrary.init()
      for (const name of [unknownName, ".."]) {
        const error = yield* Effect.flip(UmadCa.get(library, name))
        assertReason(error, "umad_get_ca", "ENOENT")
        assert.include(error.message, name)
      }
    }))

  // ---------------------------------------------------------------------------
  // Lifetimes
  // ---------------------------------------------------------------------------

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

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

const port = (filter?: typeof UmadPort.Filter.Encoded) =>
  Effect.flatMap(UmadLibrary.init(), (library) => UmadPort.get(library, filter))

const adapter = (name?: string) => Effect.flatMap(UmadLibrary.init(), (library) => UmadCa.get(library, name))

const assertPort = (port: PortAttributes.PortAttributes): void => {
  const { baseLid, capmask, gidPrefix, lmc, physState, pkeys, portGuid, portNum, smLid, smSl, state } = port
  assertUnsigned(8, { lmc, portNum, smSl })
  assertUnsigned(16, { baseLid, smLid })
  assertUnsigned(32, { capmask })
  assert.isTrue(Number.isInteger(port.rate) && port.rate >= 0)
  assert.isTrue(Schema.is(PortState.PortState)(state) && state !== "unknown")
  assert.isTrue(Schema.is(PhysicalState.PhysicalState)(physState) && physState !== "unknown")
  assert.isTrue(gidPrefix > 0n && gidPrefix < 1n << 64n)
  assert.isTrue(portGuid > 0n && portGuid < 1n << 64n)
  assert.isAbove(pkeys.length, 0)
}
