/**
 * What a walk has found so far, and the topology that it makes.
 *
 * @since 0.1.0
 */
import type * as Guid from "@effect-rdma/core/Guid"
import * as Identifier from "@effect-rdma/core/Identifier"
import * as Lid from "@effect-rdma/core/Lid"
import * as LinkSpeed from "@effect-rdma/core/LinkSpeed"
import * as LinkWidth from "@effect-rdma/core/LinkWidth"
import type * as NodeInfo from "../NodeInfo.ts"
import type * as PortInfo from "../PortInfo.ts"
import * as SubnetTopology from "../SubnetTopology.ts"

/** Of a PortInfo what the topology tells: the whole of each would be kept for the time of the walk. */
type PortFacts = Pick<
  PortInfo.PortInfo,
  | "lid"
  | "lmc"
  | "portState"
  | "linkWidthActive"
  | "linkWidthEnabled"
  | "linkSpeedActive"
  | "linkSpeedEnabled"
  | "linkSpeedExtActive"
  | "linkSpeedExtEnabled"
>

export interface FoundPort {
  readonly guid: Guid.Guid
  info: PortFacts | undefined
  link: End | undefined
}

export interface FoundNode {
  readonly info: NodeInfo.NodeInfo
  description: string
  enhancedPort0: boolean
  readonly ports: Map<number, FoundPort>
}

/** A port of a node, where a link ends. */
export interface End {
  readonly node: FoundNode
  readonly port: number
}

/** By the node's GUID, the own node first. */
export type Found = Map<Guid.Guid, FoundNode>

export const make = (): Found => new Map()

export const addNode = (
  self: Found,
  info: NodeInfo.NodeInfo
): { readonly node: FoundNode; readonly isNew: boolean } => {
  const known = self.get(info.nodeGuid)
  const node = known ?? { info, description: "", enhancedPort0: false, ports: new Map() }
  self.set(info.nodeGuid, node)
  expectPort(node, info.localPortNum, info.portGuid)
  return { node, isNew: known === undefined }
}

/** A port that there is, whether or not its PortInfo comes. */
export const expectPort = (node: FoundNode, number: number, guid: Guid.Guid = node.info.portGuid): void => {
  if (!node.ports.has(number)) node.ports.set(number, { guid, info: undefined, link: undefined })
}

export const hasPort = (node: FoundNode, number: number): boolean => node.ports.get(number)?.info !== undefined

export const setPort = (node: FoundNode, number: number, info: PortInfo.PortInfo): void => {
  const port = node.ports.get(number)
  if (port === undefined) return
  port.info = {
    lid: info.lid,
    lmc: info.lmc,
    portState: info.portState,
    linkWidthActive: info.linkWidthActive,
    linkWidthEnabled: info.linkWidthEnabled,
    linkSpeedActive: info.linkSpeedActive,
    linkSpeedEnabled: info.linkSpeedEnabled,
    linkSpeedExtActive: info.linkSpeedExtActive,
    linkSpeedExtEnabled: info.linkSpeedExtEnabled
  }
}

export const isLinked = (node: FoundNode, number: number): boolean => node.ports.get(number)?.link !== undefined

/** The newer one counts, as when a cable was moved during the walk. */
export const link = (self: End, that: End): void => {
  for (const end of [self, that]) {
    const old = portOf(end)?.link
    if (old !== undefined) setLink(old, undefined)
  }
  setLink(self, that)
  setLink(that, self)
}

export const toTopology = (self: Found): SubnetTopology.SubnetTopology => {
  const [own] = self.values()
  if (own === undefined) return { nodes: [] }
  return {
    initiator: { node: own.info.nodeGuid, port: own.info.portGuid },
    nodes: inOrder(own).map(nodeOf)
  }
}

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

const portOf = ({ node, port }: End): FoundPort | undefined => node.ports.get(port)

const setLink = (end: End, to: End | undefined): void => {
  const port = portOf(end)
  if (port !== undefined) port.link = to
}

const byNumber = ({ ports }: FoundNode): ReadonlyArray<readonly [number: number, port: FoundPort]> =>
  Array.from(ports).toSorted(([self], [that]) => self - that)

/** By distance, and not by who answered first. */
const inOrder = (own: FoundNode): ReadonlyArray<FoundNode> => {
  const nodes = new Set([own])
  // What is added during the iteration is iterated too.
  for (const node of nodes) {
    for (const [, { link }] of byNumber(node)) if (link !== undefined) nodes.add(link.node)
  }
  return [...nodes]
}

const kindOf = ({ nodeType }: NodeInfo.NodeInfo): SubnetTopology.Node["kind"] =>
  nodeType === "switch" || nodeType === "router" ? nodeType : "ca"

const nodeOf = (node: FoundNode): SubnetTopology.Node => {
  const { info } = node
  return {
    kind: kindOf(info),
    guid: info.nodeGuid,
    systemGuid: info.systemImageGuid,
    description: node.description,
    vendorId: info.vendorId,
    deviceId: info.deviceId,
    // A node may say that it has fewer than answered.
    numPorts: Math.max(1, info.numPorts, ...node.ports.keys()),
    enhancedPort0: node.enhancedPort0,
    ports: byNumber(node).map(([number, port]) => portFrom(node, number, port))
  }
}

const portFrom = (node: FoundNode, number: number, { guid, info, link }: FoundPort): SubnetTopology.Port => {
  const isExternal = node.info.nodeType === "switch" && number !== 0
  const far = link === undefined ? undefined : portOf(link)?.info
  const runs = link === undefined ? undefined : {
    node: link.node.info.nodeGuid,
    port: Identifier.PortNumber.make(link.port),
    width: LinkWidth.fromNative((info ?? far)?.linkWidthActive ?? 0),
    speed: speedOf(info ?? far)
  }
  return {
    number: Identifier.AnyPortNumber.make(number),
    guid,
    lid: info === undefined || isExternal ? Lid.Lid.make(0) : info.lid,
    lmc: info === undefined || isExternal ? 0 : info.lmc,
    ...(info !== undefined && typeof info.portState === "string" ? { state: info.portState } : undefined),
    ...(info === undefined ? undefined : enabledOf(info, runs)),
    ...(runs === undefined ? undefined : { link: runs })
  }
}

/** Left out where it is what everybody takes for granted. */
const enabledOf = (
  info: PortFacts,
  runs: SubnetTopology.Link | undefined
): { readonly enabled?: SubnetTopology.Enabled } => {
  const enabled = {
    width: info.linkWidthEnabled & 0x1f,
    speed: info.linkSpeedEnabled,
    extendedSpeed: info.linkSpeedExtEnabled & 0xf
  }
  if (runs === undefined) return { enabled }
  const usual = SubnetTopology.enabledFor(runs)
  return usual.width === enabled.width && usual.speed === enabled.speed && usual.extendedSpeed === enabled.extendedSpeed
    ? {}
    : { enabled }
}

/** The bits of an extended speed follow those of the others in `LinkSpeed`, behind that of FDR10. */
const speedOf = (info: PortFacts | undefined): LinkSpeed.LinkSpeed =>
  LinkSpeed.fromNative(
    info === undefined ? 0 : info.linkSpeedExtActive === 0 ? info.linkSpeedActive : info.linkSpeedExtActive << 4
  )
