/**
 * Conformance of ports as sysfs tells of them.
 *
 * @since 0.1.0
 */
import * as PKey from "@effect-rdma/core/PKey"
import * as Resource from "@effect-rdma/core/Resource"
import type * as Umad from "@effect-rdma/umad/Umad"
import * as UmadCa from "@effect-rdma/umad/UmadCa"
import * as UmadLibrary from "@effect-rdma/umad/UmadLibrary"
import * as UmadPort from "@effect-rdma/umad/UmadPort"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { assertPath, assertReason, recorded } from "../../internal/conformance.ts"
import { adapter, assertPort, longestName, port, tooLong, unknownName } from "../../internal/conformanceUmad.ts"
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
  const isInfiniBand = lane.linkLayer !== "Ethernet"

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
}
