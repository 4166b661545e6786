/**
 * Conformance of the counters of ports.
 *
 * @since 0.1.0
 */
import * as Identifier from "@effect-rdma/core/Identifier"
import * as ClassPortInfo from "@effect-rdma/umad/ClassPortInfo"
import * as NodeInfo from "@effect-rdma/umad/NodeInfo"
import * as PerformanceManagement from "@effect-rdma/umad/PerformanceManagement"
import * as PortCounters from "@effect-rdma/umad/PortCounters"
import * as PortCountersExtended from "@effect-rdma/umad/PortCountersExtended"
import * as PortInfo from "@effect-rdma/umad/PortInfo"
import * as SubnetManagement from "@effect-rdma/umad/SubnetManagement"
import type * as Umad from "@effect-rdma/umad/Umad"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { assertPath, recorded, timesCalled } from "../../internal/conformance.ts"
import { brief, ownPort, peer, someSwitch } from "../../internal/conformanceSubnet.ts"
import * as Lane from "../Lane.ts"
import type * as SubnetLane from "../SubnetLane.ts"

const { get, set } = PerformanceManagement

/**
 * Registers the suite on a lane.
 *
 * @category constructors
 * @since 0.1.0
 */
export const suite = <Others = never>(lane: SubnetLane.SubnetLane<Others>): void => {
  const it = Lane.test<Umad.Umad | Others>(lane)

  it("the class of performance management has version 1", () =>
    Effect.gen(function*() {
      const { attributes, port } = yield* ownPort
      const info = yield* get(port, { lid: attributes.baseLid }, ClassPortInfo.ClassPortInfo, {})
      assert.deepStrictEqual([info.baseVersion, info.classVersion], [1, 1])
    }))

  it("the counters of a port come back with its number", () =>
    Effect.gen(function*() {
      const { attributes, port } = yield* ownPort
      const counters = yield* get(port, { lid: attributes.baseLid }, PortCounters.PortCounters, {
        portSelect: attributes.portNum
      })
      assert.strictEqual(counters.portSelect, attributes.portNum)
      assert.strictEqual(counters.linkDownedCounter, 0)
    }))

  it("the counters of another node, and of any port of a switch", () =>
    Effect.gen(function*() {
      const { port } = yield* ownPort
      const target = peer(lane)
      const { lid } = yield* SubnetManagement.get(port, { path: target.path }, PortInfo.PortInfo)
      const far = yield* get(port, { lid }, PortCounters.PortCounters, {
        portSelect: Identifier.AnyPortNumber.make(target.arrival)
      })
      assert.strictEqual(Number(far.portSelect), target.arrival)
      const { node, path } = someSwitch(lane)
      const management = yield* SubnetManagement.get(port, { path }, PortInfo.PortInfo)
      for (const { number } of node.ports) {
        if (number === 0) continue
        const counters = yield* get(port, { lid: management.lid }, PortCounters.PortCounters, { portSelect: number })
        assert.strictEqual(counters.portSelect, number)
      }
    }))

  it("MADs count as packets of the port that they leave by", () =>
    Effect.gen(function*() {
      const { attributes, port } = yield* ownPort
      const counters = get(port, { lid: attributes.baseLid }, PortCounters.PortCounters, {
        portSelect: attributes.portNum
      })
      const before = yield* counters
      const { path } = peer(lane)
      for (let sent = 0; sent < 5; sent++) yield* SubnetManagement.get(port, { path }, NodeInfo.NodeInfo)
      const after = yield* counters
      assert.isAtLeast(after.portXmitPkts - before.portXmitPkts, 5)
      assert.isAtLeast(after.portRcvPkts - before.portRcvPkts, 5)
      assert.isAbove(after.portXmitData, before.portXmitData)
    }))

  it("a set of the selected counters resets them", () =>
    Effect.gen(function*() {
      const { attributes, port } = yield* ownPort
      const address = { lid: attributes.baseLid }
      const { path } = peer(lane)
      for (let sent = 0; sent < 5; sent++) yield* SubnetManagement.get(port, { path }, NodeInfo.NodeInfo)
      const select = { portSelect: attributes.portNum }
      const before = yield* get(port, address, PortCounters.PortCounters, select)
      yield* set(port, address, PortCounters.PortCounters, { ...select, counterSelect: 0xffff })
      const after = yield* get(port, address, PortCounters.PortCounters, select)
      assert.isAbove(before.portXmitPkts, 4)
      assert.isBelow(after.portXmitPkts, before.portXmitPkts)
    }))

  it("the extended counters are there, or refused by an agent that has none", () =>
    Effect.gen(function*() {
      const { attributes, port } = yield* ownPort
      const counters = yield* Effect.result(
        get(port, { lid: attributes.baseLid }, PortCountersExtended.PortCountersExtended, {
          portSelect: attributes.portNum
        }, brief)
      )
      if (counters._tag === "Success") assert.strictEqual(counters.success.portSelect, attributes.portNum)
      else assert.strictEqual(counters.failure._tag, "MadStatus")
    }))

  it("counters of a LID that nobody has are a MadTimeout", () =>
    Effect.gen(function*() {
      const { port } = yield* ownPort
      const error = yield* Effect.flip(get(port, { lid: lane.silent }, PortCounters.PortCounters, {}, brief))
      assert.strictEqual(error._tag, "MadTimeout")
      assert.include(error.message, "ETIMEDOUT")
    }))

  it("a value that does not fit and a LID that is none are SchemaErrors, and nothing is sent", () =>
    recorded(function*(calls) {
      const { port } = yield* ownPort
      assertPath(
        yield* Effect.flip(set(port, { lid: 1 }, PortCounters.PortCounters, { symbolErrorCounter: 0x1_0000 })),
        ["symbolErrorCounter"]
      )
      assertPath(yield* Effect.flip(get(port, { lid: 0x1_0000 }, PortCounters.PortCounters, {})), ["address", "lid"])
      assert.strictEqual(timesCalled(yield* calls, "umad_send"), 0)
    }))
}
