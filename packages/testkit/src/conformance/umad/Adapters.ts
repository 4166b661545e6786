/**
 * Conformance of channel adapters.
 *
 * @since 0.1.0
 */
import type * as Umad from "@effect-rdma/umad/Umad"
import * as UmadCa from "@effect-rdma/umad/UmadCa"
import * as UmadLibrary from "@effect-rdma/umad/UmadLibrary"
import * as UmadPort from "@effect-rdma/umad/UmadPort"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { assertReason } from "../../internal/conformance.ts"
import { adapter, assertPort, unknownName } from "../../internal/conformanceUmad.ts"
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
}
