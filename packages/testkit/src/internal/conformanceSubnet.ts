/**
 * What the conformance suites of management have in common.
 *
 * @since 0.1.0
 */
import type * as Guid from "@effect-rdma/core/Guid"
import * as SubnetTopology from "@effect-rdma/umad/SubnetTopology"
import * as UmadLibrary from "@effect-rdma/umad/UmadLibrary"
import * as UmadPort from "@effect-rdma/umad/UmadPort"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type * as SubnetLane from "../conformance/SubnetLane.ts"

/** The own port, open, and what sysfs tells of it. */
export const ownPort = Effect.gen(function*() {
  const library = yield* UmadLibrary.init()
  const { attributes } = yield* UmadPort.get(library)
  return { port: yield* UmadPort.open(library), attributes }
})

/** Short, for what is not answered. */
export const brief = { timeout: "20 millis", retries: 0 } as const

export const ownNode = <Others>({ host, topology }: SubnetLane.SubnetLane<Others>): SubnetTopology.Node => {
  const node = topology.nodes.find((node) => SubnetTopology.nameOf(node) === host)
  if (node === undefined) return assert.fail(`the subnet has no ${host}`)
  return node
}

export interface Reached {
  readonly node: SubnetTopology.Node
  readonly path: ReadonlyArray<number>
  /** The port of the node to which the path leads. */
  readonly arrival: number
}

/** Every node with a shortest path from the own one, which is the first. */
export const reachable = <Others>(lane: SubnetLane.SubnetLane<Others>): ReadonlyArray<Reached> => {
  const byGuid = new Map(lane.topology.nodes.map((node) => [node.guid, node]))
  const own = ownNode(lane)
  const reached = new Map<Guid.Guid, Reached>([[own.guid, { node: own, path: [], arrival: firstPort(own) }]])
  // What is added during the iteration is iterated too.
  for (const { node, path } of reached.values()) {
    if (node.kind !== "switch" && path.length > 0) continue
    for (const { link, number } of node.ports) {
      const far = link === undefined ? undefined : byGuid.get(link.node)
      if (link === undefined || far === undefined || reached.has(far.guid)) continue
      reached.set(far.guid, { node: far, path: [...path, number], arrival: link.port })
    }
  }
  return [...reached.values()]
}

/** A switch, with a way to it, and a port of it without a cable. */
export const someSwitch = <Others>(lane: SubnetLane.SubnetLane<Others>): Reached & { readonly unplugged: number } => {
  for (const reached of reachable(lane)) {
    const { node } = reached
    if (node.kind !== "switch") continue
    const plugged = new Set<number>(node.ports.flatMap(({ link, number }) => link === undefined ? [] : [number]))
    for (let unplugged = 1; unplugged <= node.numPorts; unplugged++) {
      if (!plugged.has(unplugged)) return { ...reached, unplugged }
    }
  }
  return assert.fail("the subnet has no switch with an unplugged port")
}

/** An adapter that is not the own one. */
export const peer = <Others>(lane: SubnetLane.SubnetLane<Others>): Reached => {
  const found = reachable(lane).find(({ node, path }) => node.kind === "ca" && path.length > 0)
  if (found === undefined) return assert.fail("the subnet has no second adapter")
  return found
}

const firstPort = ({ ports }: SubnetTopology.Node): number =>
  ports.find(({ link }) => link !== undefined)?.number ?? assert.fail("the host has no cable")
