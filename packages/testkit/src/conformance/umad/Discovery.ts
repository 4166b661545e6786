/**
 * Conformance of the walk of a subnet.
 *
 * @since 0.1.0
 */
import * as Discovery from "@effect-rdma/umad/Discovery"
import * as SubnetTopology from "@effect-rdma/umad/SubnetTopology"
import type * as Umad from "@effect-rdma/umad/Umad"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { assertPath, namesOf, recorded, timesCalled } from "../../internal/conformance.ts"
import { ownNode, ownPort, reachable, someSwitch } from "../../internal/conformanceSubnet.ts"
import * as Lane from "../Lane.ts"
import type * as SubnetLane from "../SubnetLane.ts"

/** What a file tells too, by GUID. */
const comparable = (nodes: ReadonlyArray<SubnetTopology.Node>) =>
  nodes.map((node) => ({
    kind: node.kind,
    guid: node.guid,
    systemGuid: node.systemGuid,
    description: node.description,
    numPorts: node.numPorts,
    links: node.ports.flatMap(({ link, number }) => link === undefined ? [] : [{ number, ...link }]).toSorted((
      self,
      that
    ) => self.number - that.number)
  })).toSorted((self, that) => self.guid < that.guid ? -1 : 1)

/**
 * Registers the suite on a lane.
 *
 * @category constructors
 * @since 0.1.0
 */
export const suite = <Others = never>(lane: SubnetLane.SubnetLane<Others>): void => {
  const it = Lane.test<Umad.Umad | Others>(lane)

  it("a walk finds every node and every link of the subnet, and nothing is unanswered", () =>
    Effect.gen(function*() {
      const { port } = yield* ownPort
      const { topology, unanswered } = yield* Discovery.walk(port)
      assert.deepStrictEqual(unanswered, [])
      assert.deepStrictEqual(comparable(topology.nodes), comparable(reachable(lane).map(({ node }) => node)))
    }))

  it("a walk begins at the own port, and lists nodes by their distance", () =>
    Effect.gen(function*() {
      const { attributes, port } = yield* ownPort
      const { topology } = yield* Discovery.walk(port)
      assert.deepStrictEqual(topology.initiator, { node: ownNode(lane).guid, port: attributes.portGuid })
      const distances = new Map(reachable(lane).map(({ node, path }) => [node.guid, path.length]))
      const order = topology.nodes.map(({ guid }) => distances.get(guid) ?? -1)
      assert.deepStrictEqual(order, order.toSorted((self, that) => self - that))
      assert.strictEqual(order[0], 0)
    }))

  it("a walk tells LIDs and states as the ports have them", () =>
    Effect.gen(function*() {
      const { attributes, port } = yield* ownPort
      const { topology } = yield* Discovery.walk(port)
      const own = topology.nodes[0]?.ports.find(({ number }) => number === attributes.portNum)
      assert.strictEqual(Number(own?.lid), attributes.baseLid)
      assert.strictEqual(own?.lmc, attributes.lmc)
      assert.strictEqual(own?.guid, attributes.portGuid)
      assert.strictEqual(own?.state, "active")
      const lids = topology.nodes.flatMap(({ ports }) => ports.flatMap(({ lid }) => lid === 0 ? [] : [lid]))
      assert.strictEqual(new Set(lids).size, lids.length)
      assert.include(lids.map(Number), attributes.smLid)
    }))

  it("ports without a cable are there without a link, and down", () =>
    Effect.gen(function*() {
      const { port } = yield* ownPort
      const { node, unplugged } = someSwitch(lane)
      const { topology } = yield* Discovery.walk(port)
      const found = topology.nodes.find(({ guid }) => guid === node.guid)?.ports.find(({ number }) =>
        number === unplugged
      )
      assert.isDefined(found)
      assert.isUndefined(found?.link)
      assert.strictEqual(found?.state, "down")
    }))

  it("a walk is the same with one MAD in flight and with many", () =>
    Effect.gen(function*() {
      const { port } = yield* ownPort
      const one = yield* Discovery.walk(port, { concurrency: 1 })
      assert.deepStrictEqual(yield* Discovery.walk(port, { concurrency: 16 }), one)
    }))

  it("a walk of no hops finds the own node alone, one of one hop what it is cabled to", () =>
    Effect.gen(function*() {
      const { port } = yield* ownPort
      for (const maxHops of [0, 1]) {
        const { topology } = yield* Discovery.walk(port, { maxHops })
        assert.deepStrictEqual(
          topology.nodes.map(({ guid }) => guid),
          reachable(lane).flatMap(({ node, path }) => path.length <= maxHops ? [node.guid] : [])
        )
      }
    }))

  it("what a walk found can be printed and read again", () =>
    Effect.gen(function*() {
      const { port } = yield* ownPort
      const { topology } = yield* Discovery.walk(port)
      const text = SubnetTopology.format(topology)
      const read = yield* SubnetTopology.parse(text)
      assert.strictEqual(SubnetTopology.format(read), text)
      assert.deepStrictEqual(comparable(read.nodes), comparable(topology.nodes))
    }))

  it("two walks at once of one port do not meet", () =>
    Effect.gen(function*() {
      const { port } = yield* ownPort
      const [first, second] = yield* Effect.all([Discovery.walk(port), Discovery.walk(port)], { concurrency: 2 })
      assert.deepStrictEqual(first, second)
      assert.strictEqual(first.topology.nodes.length, reachable(lane).length)
    }))

  it("a walk asks for each attribute of a node once", () =>
    recorded(function*(calls) {
      const { port } = yield* ownPort
      const { topology } = yield* Discovery.walk(port)
      const switches = topology.nodes.filter(({ kind }) => kind === "switch")
      // NodeInfo and NodeDescription each, SwitchInfo and every port of a switch, the port of an adapter.
      const attributes = 2 * topology.nodes.length + (topology.nodes.length - switches.length) +
        switches.reduce((sum, { numPorts }) => sum + numPorts + 2, 0)
      // Each end of a cable between switches may ask for what is behind it.
      const between = switches.flatMap(({ ports }) => ports).filter(({ link }) =>
        switches.some(({ guid }) => guid === link?.node)
      ).length
      const sent = timesCalled(yield* calls, "umad_send")
      assert.isAtLeast(sent, attributes)
      assert.isAtMost(sent, attributes + between)
    }))

  it("no more MADs are in flight than a walk may have", () =>
    recorded(function*(calls) {
      const { port } = yield* ownPort
      yield* Discovery.walk(port, { concurrency: 3 })
      let inFlight = 0
      let most = 0
      for (const name of namesOf(yield* calls)) {
        if (name === "umad_send") inFlight++
        if (name === "umad_recv") inFlight = Math.max(0, inFlight - 1)
        most = Math.max(most, inFlight)
      }
      assert.isAtLeast(most, 1)
      assert.isAtMost(most, 3)
    }))

  it("a walk that is interrupted leaves nothing behind, and the next one finds all", () =>
    Effect.gen(function*() {
      const { port } = yield* ownPort
      for (let round = 0; round < 3; round++) {
        const fiber = yield* Effect.forkChild(Discovery.walk(port, { concurrency: 2 }), { startImmediately: true })
        yield* Effect.yieldNow
        yield* Fiber.interrupt(fiber)
      }
      const { topology, unanswered } = yield* Discovery.walk(port)
      assert.strictEqual(topology.nodes.length, reachable(lane).length)
      assert.deepStrictEqual(unanswered, [])
    }))

  it("options out of range are a SchemaError with their path, and nothing is sent", () =>
    recorded(function*(calls) {
      const { port } = yield* ownPort
      assertPath(yield* Effect.flip(Discovery.walk(port, { concurrency: 0 })), ["concurrency"])
      assertPath(yield* Effect.flip(Discovery.walk(port, { maxHops: 64 })), ["maxHops"])
      assertPath(yield* Effect.flip(Discovery.walk(port, { retries: -1 })), ["retries"])
      assert.strictEqual(timesCalled(yield* calls, "umad_send"), 0)
    }))
}
