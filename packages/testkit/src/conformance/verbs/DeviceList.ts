/**
 * Conformance of device lists.
 *
 * @since 0.1.0
 */
import * as NodeType from "@effect-rdma/core/NodeType"
import * as Resource from "@effect-rdma/core/Resource"
import * as TransportType from "@effect-rdma/core/TransportType"
import * as DeviceContext from "@effect-rdma/verbs/DeviceContext"
import * as DeviceList from "@effect-rdma/verbs/DeviceList"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { recorded, timesCalled, usesDeadHandle } from "../../internal/conformance.ts"
import { deviceNamed, verbsSuite } from "../../internal/conformanceVerbs.ts"
import type * as VerbsLane from "../VerbsLane.ts"

/**
 * Registers the suite on a lane.
 *
 * @category constructors
 * @since 0.1.0
 */
export const suite = <Others = never>(lane: VerbsLane.VerbsLane<Others>): void => {
  const { it } = verbsSuite(lane)

  it("a device list names every device with its kind and its GUID", () =>
    Effect.gen(function*() {
      const { devices } = yield* DeviceList.get()
      const device = deviceNamed(lane.device, devices)
      assert.isTrue(Schema.is(NodeType.NodeType)(device.nodeType))
      assert.isTrue(Schema.is(TransportType.TransportType)(device.transportType))
      assert.notStrictEqual(device.nodeType, "unknown")
      assert.strictEqual(typeof device.guid, "bigint")
      assert.isTrue(device.guid > 0n)
      assert.isTrue(Number.isInteger(device.index) && device.index >= -1)
      assert.strictEqual(new Set(devices.map(({ name }) => name)).size, devices.length)
    }))

  it("two device lists at the same time are two arrays of the same devices", () =>
    Effect.gen(function*() {
      const first = yield* DeviceList.get()
      const second = yield* DeviceList.get()
      assert.notStrictEqual(Resource.raw(first).list, Resource.raw(second).list)
      assert.deepStrictEqual(factsOf(first), factsOf(second))
    }))

  it("a device of a list that was freed cannot be opened, and the library is not asked", () =>
    recorded(function*(calls) {
      const { devices } = yield* Effect.scoped(DeviceList.get())
      const dead = yield* usesDeadHandle(DeviceContext.open(deviceNamed(lane.device, devices)))
      assert.include(dead.message, "DeviceList#")
      assert.strictEqual(timesCalled(yield* calls, "ibv_open_device"), 0)
    }))
}

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

const factsOf = ({ devices }: DeviceList.DeviceList) =>
  devices.map(({ guid, index, name, nodeType, transportType }) => ({ guid, index, name, nodeType, transportType }))
