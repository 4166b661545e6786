/**
 * Conformance of attributes of subnet management, asked by directed route and by LID.
 *
 * @since 0.1.0
 */
import * as Guid from "@effect-rdma/core/Guid"
import * as Lid from "@effect-rdma/core/Lid"
import * as GuidInfo from "@effect-rdma/umad/GuidInfo"
import * as LinearForwardingTable from "@effect-rdma/umad/LinearForwardingTable"
import * as MadAttribute from "@effect-rdma/umad/MadAttribute"
import * as MadField from "@effect-rdma/umad/MadField"
import * as MulticastForwardingTable from "@effect-rdma/umad/MulticastForwardingTable"
import * as NodeDescription from "@effect-rdma/umad/NodeDescription"
import * as NodeInfo from "@effect-rdma/umad/NodeInfo"
import * as PKeyTable from "@effect-rdma/umad/PKeyTable"
import * as PortInfo from "@effect-rdma/umad/PortInfo"
import * as SlToVlMappingTable from "@effect-rdma/umad/SlToVlMappingTable"
import * as SmInfo from "@effect-rdma/umad/SmInfo"
import * as SubnetManagement from "@effect-rdma/umad/SubnetManagement"
import * as SubnetTopology from "@effect-rdma/umad/SubnetTopology"
import * as SwitchInfo from "@effect-rdma/umad/SwitchInfo"
import type * as Umad from "@effect-rdma/umad/Umad"
import * as VlArbitrationTable from "@effect-rdma/umad/VlArbitrationTable"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { assertPath, recorded, timesCalled } from "../../internal/conformance.ts"
import { brief, ownNode, ownPort, peer, reachable, someSwitch } from "../../internal/conformanceSubnet.ts"
import * as Lane from "../Lane.ts"
import type * as SubnetLane from "../SubnetLane.ts"

const { get, set } = SubnetManagement

/**
 * Registers the suite on a lane.
 *
 * @category constructors
 * @since 0.1.0
 */
export const suite = <Others = never>(lane: SubnetLane.SubnetLane<Others>): void => {
  const it = Lane.test<Umad.Umad | Others>(lane)

  it("a directed route of no hops leads to the own node", () =>
    Effect.gen(function*() {
      const { attributes, port } = yield* ownPort
      const info = yield* get(port, { path: [] }, NodeInfo.NodeInfo)
      assert.strictEqual(info.nodeType, "ca")
      assert.strictEqual(info.nodeGuid, ownNode(lane).guid)
      assert.strictEqual(info.portGuid, attributes.portGuid)
      assert.strictEqual(info.localPortNum, attributes.portNum)
    }))

  it("a directed route leads along the cables of the subnet, and tells by which port it came in", () =>
    Effect.gen(function*() {
      const { port } = yield* ownPort
      for (const { arrival, node, path } of reachable(lane)) {
        const info = yield* get(port, { path }, NodeInfo.NodeInfo)
        assert.deepStrictEqual(
          { guid: info.nodeGuid, kind: info.nodeType, numPorts: info.numPorts, arrival: Number(info.localPortNum) },
          { guid: node.guid, kind: node.kind, numPorts: node.numPorts, arrival }
        )
      }
    }))

  it("every node has the description of the subnet's file", () =>
    Effect.gen(function*() {
      const { port } = yield* ownPort
      for (const { node, path } of reachable(lane)) {
        const { nodeDescription } = yield* get(port, { path }, NodeDescription.NodeDescription)
        assert.strictEqual(nodeDescription, node.description)
      }
    }))

  it("a LID leads to the node whose PortInfo has it", () =>
    Effect.gen(function*() {
      const { port } = yield* ownPort
      for (const { arrival, node, path } of reachable(lane)) {
        const { lid } = yield* get(port, { path }, PortInfo.PortInfo, {
          modifier: node.kind === "switch" ? 0 : arrival
        })
        assert.isTrue(Lid.isUnicast(lid))
        const { nodeGuid } = yield* get(port, { lid }, NodeInfo.NodeInfo)
        assert.strictEqual(nodeGuid, node.guid)
      }
    }))

  it("the PortInfo of the own port tells what sysfs tells", () =>
    Effect.gen(function*() {
      const { attributes, port } = yield* ownPort
      const info = yield* get(port, { path: [] }, PortInfo.PortInfo, { modifier: attributes.portNum })
      assert.deepStrictEqual(
        {
          lid: Number(info.lid),
          lmc: info.lmc,
          smLid: Number(info.masterSmLid),
          smSl: Number(info.masterSmSl),
          state: info.portState,
          physState: info.portPhysicalState,
          capmask: info.capabilityMask,
          gidPrefix: info.gidPrefix
        },
        {
          lid: attributes.baseLid,
          lmc: attributes.lmc,
          smLid: attributes.smLid,
          smSl: attributes.smSl,
          state: attributes.state,
          physState: attributes.physState,
          capmask: attributes.capmask,
          gidPrefix: attributes.gidPrefix
        }
      )
    }))

  it("modifier 0 of PortInfo is the port of an adapter that answers", () =>
    Effect.gen(function*() {
      const { attributes, port } = yield* ownPort
      assert.deepStrictEqual(
        yield* get(port, { path: [] }, PortInfo.PortInfo),
        yield* get(port, { path: [] }, PortInfo.PortInfo, { modifier: attributes.portNum })
      )
    }))

  it("a port of a switch with a cable is active, one without is down", () =>
    Effect.gen(function*() {
      const { port } = yield* ownPort
      const { node, path, unplugged } = someSwitch(lane)
      for (const { link, number } of node.ports) {
        if (link === undefined) continue
        const info = yield* get(port, { path }, PortInfo.PortInfo, { modifier: number })
        assert.deepStrictEqual([info.portState, info.portPhysicalState], ["active", "linkUp"])
      }
      const info = yield* get(port, { path }, PortInfo.PortInfo, { modifier: unplugged })
      assert.strictEqual(info.portState, "down")
      assert.notStrictEqual(info.portPhysicalState, "linkUp")
    }))

  it("both ends of a link run at the same width and speed", () =>
    Effect.gen(function*() {
      const { port } = yield* ownPort
      const { arrival, node, path } = reachable(lane)[1]!
      const near = yield* get(port, { path: path.slice(1) }, PortInfo.PortInfo, { modifier: path[0]! })
      const far = yield* get(port, { path }, PortInfo.PortInfo, { modifier: arrival })
      assert.strictEqual(near.linkWidthActive, far.linkWidthActive, SubnetTopology.nameOf(node))
      assert.strictEqual(near.linkSpeedActive, far.linkSpeedActive)
      assert.isAbove(far.linkWidthActive, 0)
      assert.isAbove(far.linkSpeedActive, 0)
      // One bit each.
      assert.strictEqual(far.linkWidthActive & (far.linkWidthActive - 1), 0)
      assert.strictEqual(far.linkWidthSupported & far.linkWidthActive, far.linkWidthActive)
    }))

  it("a port number that a switch does not have is refused", () =>
    Effect.gen(function*() {
      const { port } = yield* ownPort
      const { node, path } = someSwitch(lane)
      const error = yield* Effect.flip(
        get(port, { path }, PortInfo.PortInfo, { modifier: node.numPorts + 1, ...brief })
      )
      assert.strictEqual(error._tag, "MadStatus")
    }))

  it("the SwitchInfo of a switch tells how far its table goes", () =>
    Effect.gen(function*() {
      const { port } = yield* ownPort
      const info = yield* get(port, { path: someSwitch(lane).path }, SwitchInfo.SwitchInfo)
      assert.isAbove(info.linearFdbCap, 0)
      assert.isAbove(info.linearFdbTop, 0)
      assert.isBelow(info.linearFdbTop, info.linearFdbCap)
    }))

  it("an adapter has no SwitchInfo", () =>
    Effect.gen(function*() {
      const { port } = yield* ownPort
      const error = yield* Effect.flip(get(port, { path: [] }, SwitchInfo.SwitchInfo, brief))
      assert.strictEqual(error._tag, "MadStatus")
    }))

  it("the linear forwarding table of a switch leads to the adapters behind it", () =>
    Effect.gen(function*() {
      const { attributes, port } = yield* ownPort
      const { node, path } = someSwitch(lane)
      const { ports } = yield* get(port, { path }, LinearForwardingTable.LinearForwardingTable)
      const own = node.ports.find(({ link }) => link?.node === ownNode(lane).guid)
      assert.strictEqual(ports[attributes.baseLid], own?.number)
      const target = peer(lane)
      const { lid } = yield* get(port, { path: target.path }, PortInfo.PortInfo)
      assert.strictEqual(Number(ports[lid]), target.path[path.length])
    }))

  it("a block of the multicast forwarding table has 32 masks", () =>
    Effect.gen(function*() {
      const { port } = yield* ownPort
      const { path } = someSwitch(lane)
      const { portMasks } = yield* get(port, { path }, MulticastForwardingTable.MulticastForwardingTable)
      assert.strictEqual(portMasks.length, 32)
    }))

  it("the first block of P_Keys is what sysfs tells", () =>
    Effect.gen(function*() {
      const { attributes, port } = yield* ownPort
      const { pKeys } = yield* get(port, { path: [] }, PKeyTable.PKeyTable)
      assert.deepStrictEqual(
        pKeys.filter((pKey) => pKey !== 0),
        attributes.pkeys.slice(0, 32).filter((pKey) => pKey !== 0)
      )
    }))

  it("the tables of virtual lanes and GUIDs have all of their entries", () =>
    Effect.gen(function*() {
      const { port } = yield* ownPort
      const { vls } = yield* get(port, { path: [] }, SlToVlMappingTable.SlToVlMappingTable)
      assert.strictEqual(vls.length, 16)
      const { entries } = yield* get(port, { path: [] }, VlArbitrationTable.VlArbitrationTable, {
        modifier: 0x0001_0000
      })
      assert.strictEqual(entries.length, 32)
      const { guids } = yield* get(port, { path: [] }, GuidInfo.GuidInfo)
      assert.strictEqual(guids.length, 8)
    }))

  it("the subnet manager tells that it is master, and its activity", () =>
    Effect.gen(function*() {
      const { attributes, port } = yield* ownPort
      const info = yield* get(port, { lid: attributes.smLid }, SmInfo.SmInfo)
      assert.strictEqual(info.smState, "master")
      assert.isTrue(
        lane.topology.nodes.some(({ ports }) => ports.some(({ guid }) => guid === info.guid)),
        Guid.format(info.guid)
      )
    }))

  it("a PortInfo that is read and set again is as it was", () =>
    Effect.gen(function*() {
      const { port } = yield* ownPort
      const { node, path } = someSwitch(lane)
      const plugged = node.ports.find(({ link }) => link !== undefined)!
      const options = { modifier: plugged.number }
      const before = yield* get(port, { path }, PortInfo.PortInfo, options)
      const answer = yield* set(
        port,
        { path },
        PortInfo.PortInfo,
        { ...before, portState: "nop", portPhysicalState: "nop" },
        options
      )
      assert.strictEqual(answer.portState, "active")
      assert.deepStrictEqual(yield* get(port, { path }, PortInfo.PortInfo, options), before)
    }))

  it("what has no answer is a MadTimeout with ETIMEDOUT: an unplugged port, a way through an adapter, a LID of nobody", () =>
    Effect.gen(function*() {
      const { port } = yield* ownPort
      const { path, unplugged } = someSwitch(lane)
      const throughAnAdapter = [...peer(lane).path, 1]
      for (const route of [{ path: [...path, unplugged] }, { path: throughAnAdapter }, { lid: lane.silent }]) {
        const error = yield* Effect.flip(get(port, route, NodeInfo.NodeInfo, brief))
        assert.strictEqual(error._tag, "MadTimeout")
        assert.include(error.message, "ETIMEDOUT")
      }
      yield* get(port, { path: [] }, NodeInfo.NodeInfo)
    }))

  it("a route that is none is a SchemaError with its path, and nothing is sent", () =>
    recorded(function*(calls) {
      const { port } = yield* ownPort
      const tooFar = Array.from({ length: 64 }, () => 1)
      for (
        const route of [{ path: [0] }, { path: [256] }, { path: [1.5] }, { path: tooFar }, { lid: -1 }, {
          lid: 0x1_0000
        }]
      ) {
        const error = yield* Effect.flip(get(port, route, NodeInfo.NodeInfo))
        assertPath(error, [])
        assert.match(error.message, /"(?:path|lid)"/)
      }
      assert.strictEqual(timesCalled(yield* calls, "umad_send"), 0)
    }))

  it("a value that does not fit is a SchemaError with its path, and nothing is sent", () =>
    recorded(function*(calls) {
      const { port } = yield* ownPort
      const wide = MadAttribute.make("Wide", PortInfo.PortInfo.attributeId, 64, { lmc: MadField.unsigned(277, 3) })
      assertPath(yield* Effect.flip(set(port, { path: [] }, wide, { lmc: 8 })), ["lmc"])
      assertPath(yield* Effect.flip(get(port, { path: [] }, wide, { modifier: 2 ** 32 })), ["attributeModifier"])
      assert.strictEqual(timesCalled(yield* calls, "umad_send"), 0)
    }))

  it("many requests at once each get their own answer", () =>
    Effect.gen(function*() {
      const { port } = yield* ownPort
      const targets = Array.from({ length: 12 }, () => reachable(lane)).flat()
      const guids = yield* Effect.forEach(targets, ({ path }) => get(port, { path }, NodeInfo.NodeInfo), {
        concurrency: 8
      })
      assert.deepStrictEqual(guids.map(({ nodeGuid }) => nodeGuid), targets.map(({ node }) => node.guid))
    }))

  it("a request that is interrupted leaves nothing behind, and the next one is answered", () =>
    Effect.gen(function*() {
      const { port } = yield* ownPort
      for (let round = 0; round < 3; round++) {
        const fiber = yield* Effect.forkChild(get(port, { lid: lane.silent }, NodeInfo.NodeInfo), {
          startImmediately: true
        })
        yield* Effect.sleep("1 millis")
        yield* Fiber.interrupt(fiber)
        const { nodeGuid } = yield* get(port, { path: [] }, NodeInfo.NodeInfo)
        assert.strictEqual(nodeGuid, ownNode(lane).guid)
      }
    }))
}
