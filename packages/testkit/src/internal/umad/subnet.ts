import * as Gid from "@effect-rdma/core/Gid"
import * as Guid from "@effect-rdma/core/Guid"
import * as Identifier from "@effect-rdma/core/Identifier"
import * as Lid from "@effect-rdma/core/Lid"
import type * as LinkSpeed from "@effect-rdma/core/LinkSpeed"
import * as LinkWidth from "@effect-rdma/core/LinkWidth"
import * as Mtu from "@effect-rdma/core/Mtu"
import * as PKey from "@effect-rdma/core/PKey"
import type { PortInfo } from "@effect-rdma/umad/PortInfo"
import type * as SubnetTopology from "@effect-rdma/umad/SubnetTopology"
import type { SwitchInfo } from "@effect-rdma/umad/SwitchInfo"
import * as Schema from "effect/Schema"
import type * as Topology from "../../Topology.ts"
import * as Host from "../host.ts"
import * as Link from "../link.ts"
import * as Counters from "./counters.ts"
import * as Ports from "./portInfo.ts"
import * as Star from "./star.ts"

/** What lies between two ports. */
export interface Cable extends Link.Link {
  readonly ends: readonly [PortState, PortState]
}

/** A port of the running subnet. */
export interface PortState {
  readonly node: NodeState
  readonly number: Identifier.AnyPortNumber
  readonly guid: Guid.Guid
  /** Where the port belongs to a host, its device tells the same. */
  info: PortInfo
  readonly pKeys: Array<PKey.PKey>
  /** The GUIDs of its GID table by place, its own first; 0 where a manager took one away. */
  readonly guids: Map<number, Guid.Guid>
  /** 8 bytes by input port, where they were set. */
  readonly slToVl: Map<number, Uint8Array>
  /** 64 bytes by block 1 to 4, where they were set. */
  readonly vlArbitration: Map<number, Uint8Array>
  readonly counters: Counters.Counters
  cable: Cable | undefined
}

/** A node of the running subnet. */
export interface NodeState {
  readonly kind: SubnetTopology.Node["kind"]
  readonly guid: Guid.Guid
  readonly description: SubnetTopology.Node
  readonly revision: number
  readonly partitionCap: number
  /** By rising number: from 0 on a switch, else from 1. */
  readonly ports: Array<PortState>
  readonly owner: Owner | undefined
  readonly forwarding: Forwarding | undefined
  /** A dead node is without power: its links are down, and it answers nothing. */
  isAlive: boolean
}

/** What a switch forwards by. */
export interface Forwarding {
  info: SwitchInfo
  /** The output port by LID; 255 drops. */
  readonly linear: Uint8Array
  /** 16 ports each: by multicast LID from 0xc000, then by position. */
  readonly multicast: Uint16Array
  /** How many positions the ports take. */
  readonly positions: number
}

export interface Owner {
  readonly host: Host.HostState
  readonly device: Host.DeviceState
}

export interface SubnetState {
  readonly nodes: ReadonlyArray<NodeState>
  readonly nodeByGuid: ReadonlyMap<Guid.Guid, NodeState>
  /** Called when a link went down or came up. */
  readonly onLink: Array<() => void>
}

/** How many LIDs a switch forwards by. */
export const linearCap = 30 * 1024

/** The subnet of a topology, before any subnet manager. */
export const make = (topology: Topology.Topology, hosts: Iterable<Host.HostState>): SubnetState => {
  const owners = new Map(
    Array.from(hosts).flatMap((host) =>
      host.devices.map((device): [Guid.Guid, Owner] => [device.description.guid, { host, device }])
    )
  )
  const described = (topology.subnet ?? Star.of(topology)).nodes
  const nodes = described.map((node) => nodeOf(node, owners.get(node.guid)))
  const nodeByGuid = new Map(nodes.map((node) => [node.guid, node]))
  for (const { description, guid } of nodes) {
    for (const { link, number } of description.ports) {
      // Once for both ends.
      if (link === undefined || link.node < guid || (link.node === guid && link.port < number)) continue
      connect(portOf(nodeByGuid.get(guid), number), portOf(nodeByGuid.get(link.node), link.port))
    }
  }
  for (const port of nodes.flatMap(({ ports }) => ports)) {
    const { physState, state } = portOfOwner(port) ?? {}
    if (physState === undefined || physState === "unknown" || physState === "linkUp") continue
    port.info = {
      ...port.info,
      portState: state === "unknown" ? "down" : state ?? "down",
      portPhysicalState: physState
    }
    const remote = remoteOf(port)
    if (remote !== undefined) remote.info = { ...remote.info, ...down }
  }
  return { nodes, nodeByGuid, onLink: [] }
}

export const portOf = (node: NodeState | undefined, number: number): PortState | undefined =>
  node?.ports[node.kind === "switch" ? number : number - 1]

/** The port with the LID of an external one: port 0 of its switch, else itself. */
export const endPortOf = (port: PortState): PortState => port.node.kind === "switch" ? port.node.ports[0] ?? port : port

export const remoteOf = (port: PortState): PortState | undefined => {
  const [self, that] = port.cable?.ends ?? []
  return self === port ? that : self
}

/** All ports that can have a LID. */
export const endPorts = ({ nodes }: SubnetState): ReadonlyArray<PortState> =>
  nodes.flatMap((node) => node.kind === "switch" ? node.ports.slice(0, 1) : node.ports)

export const hasLid = ({ info: { lid, lmc } }: PortState, wanted: number): boolean =>
  Lid.isUnicast(lid) && wanted >= lid && wanted < lid + 2 ** lmc

/** Whether a manager gave it a LID. */
export const isManaged = ({ info }: PortState): boolean => Lid.isUnicast(info.lid)

export const gidOf = (port: PortState): Gid.Gid => Gid.fromParts(port.info.gidPrefix, port.guid)

/** The port of a device. */
export const portOfDevice = (
  { nodeByGuid }: SubnetState,
  device: Host.DeviceState,
  portNum: number
): PortState | undefined => portOf(nodeByGuid.get(device.description.guid), portNum)

/** Changes what a port reports, to MADs and, where it is a host's, to its programs, who hear of it by events. */
export const update = (port: PortState, change: Partial<PortInfo>): void => {
  const before = port.info
  port.info = { ...before, ...change }
  const { owner } = port.node
  if (owner?.device.plugged !== true) return
  const { info } = port
  const description = owner.device.description
  const ports = description.ports.map((described) =>
    described.number === port.number ? reported(described, port) : described
  )
  owner.device.description = { ...description, ports }
  const raise = (event: PortEvent) => raiseAt(port, event)
  if (before.portState !== "active" && info.portState === "active") raise("portActive")
  if (before.portState === "active" && info.portState !== "active") raise("portErr")
  if (before.lid !== info.lid) raise("lidChange")
  if (before.masterSmLid !== info.masterSmLid) raise("smChange")
  if (change.clientReregister === true) raise("clientReregister")
}

/** Both ends of a cable go down together, and come up together to be initialised. */
export const setLink = (subnet: SubnetState, port: PortState, isUp: boolean): void => {
  if (isUp && !canLink(port)) return
  turn(port, isUp ? up : down)
  for (const react of subnet.onLink) react()
}

/** The link goes down and comes up again. */
export const retrain = (subnet: SubnetState, port: PortState): void => {
  if (port.info.portPhysicalState === "disabled") update(port, down)
  setLink(subnet, port, true)
}

/** The link goes down, and comes up no more before the port is told to poll. */
export const disable = (subnet: SubnetState, port: PortState): void => {
  setLink(subnet, port, false)
  update(port, { portPhysicalState: "disabled" })
}

/** A node without power, or with it again: all of its links go with it. */
export const setAlive = (subnet: SubnetState, node: NodeState, isAlive: boolean): void => {
  node.isAlive = isAlive
  for (const port of node.ports) {
    if (port.cable !== undefined && (!isAlive || canLink(port))) turn(port, isAlive ? up : down)
  }
  for (const react of subnet.onLink) react()
}

/** The subnet as it is now, as data. */
export const describe = ({ nodes }: SubnetState): SubnetTopology.SubnetTopology => ({
  nodes: nodes.filter(({ isAlive }) => isAlive).map(nodeNow)
})

/** What the device of a port tells of it, where it has one. */
export const portOfOwner = ({ node: { owner }, number }: PortState): Topology.Port | undefined =>
  owner?.device.description.ports.find((port) => port.number === number)

/** What was written to the tables of a port is what its programs find there, and they hear of it. */
export const tableChanged = (port: PortState, event: "pkeyChange" | "gidChange"): void => {
  update(port, {})
  raiseAt(port, event)
}

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

type PortEvent =
  | "portActive"
  | "portErr"
  | "lidChange"
  | "pkeyChange"
  | "smChange"
  | "clientReregister"
  | "gidChange"

const raiseAt = ({ node: { owner }, number: portNum }: PortState, event: PortEvent): void => {
  for (const react of owner?.host.onAsyncEvent ?? []) {
    if (owner !== undefined) react(owner.device, { _tag: "Port", event, portNum })
  }
}

const up = { portState: "init", portPhysicalState: "linkUp" } as const
const down = { portState: "down", portPhysicalState: "polling" } as const

const canLink = (port: PortState): boolean => {
  const remote = remoteOf(port)
  return remote !== undefined &&
    [port, remote].every(({ info, node }) => node.isAlive && info.portPhysicalState !== "disabled")
}

const turn = (port: PortState, state: typeof up | typeof down): void => {
  const remote = remoteOf(port)
  for (const end of remote === undefined ? [port] : [port, remote]) {
    if (end.info.portPhysicalState === "disabled") continue
    if (state === down && end.info.portState !== "down") end.counters.linkDowned++
    update(end, state)
    const { forwarding } = end.node
    if (forwarding !== undefined) forwarding.info = { ...forwarding.info, portStateChange: true }
  }
}

const nodeNow = ({ description, ports }: NodeState): SubnetTopology.Node => ({
  ...description,
  ports: ports.map(portNow)
})

const portNow = (port: PortState): SubnetTopology.Port => {
  const { guid, info, number } = port
  const isEndPort = endPortOf(port) === port
  const remote = info.portPhysicalState === "linkUp" ? remoteOf(port) : undefined
  return {
    number,
    guid,
    lid: isEndPort ? info.lid : Lid.Lid.make(0),
    lmc: isEndPort ? info.lmc : 0,
    state: typeof info.portState === "number" ? "unknown" : info.portState,
    ...(remote === undefined ? undefined : {
      link: {
        node: remote.node.guid,
        port: Identifier.PortNumber.make(remote.number),
        width: LinkWidth.fromNative(info.linkWidthActive),
        speed: speedNow(port)
      }
    })
  }
}

/** PortInfo tells no FDR10: it is there as QDR. */
const speedNow = ({ info, node, number }: PortState): LinkSpeed.LinkSpeed => {
  const described = node.description.ports.find((port) => port.number === number)?.link?.speed
  const speed = Ports.speedOf(info)
  return speed === "qdr" && described === "fdr10" ? described : speed
}

const anyPort = (number: number) => Identifier.AnyPortNumber.make(number)

const connect = (self: PortState | undefined, that: PortState | undefined): void => {
  if (self === undefined || that === undefined) return
  const cable: Cable = { ...Link.make(), ends: [self, that] }
  self.cable = cable
  that.cable = cable
}

const nodeOf = (description: SubnetTopology.Node, owner: Owner | undefined): NodeState => {
  const { guid, kind, numPorts } = description
  const device = owner?.device.description
  const node: NodeState = {
    kind,
    guid,
    description,
    revision: device?.attributes.hwVer ?? 0xa1,
    partitionCap: kind === "switch" ? 8 : device?.attributes.maxPkeys ?? 64,
    ports: [],
    owner,
    forwarding: kind === "switch" ? forwardingOf(description) : undefined,
    isAlive: true
  }
  const written = new Map(description.ports.map((port) => [port.number, port]))
  for (let number = kind === "switch" ? 0 : 1; number <= numPorts; number++) {
    const port = written.get(anyPort(number)) ?? {
      number: anyPort(number),
      guid: kind === "switch" ? guid : Guid.Guid.make(guid + BigInt(number)),
      lid: Lid.Lid.make(0),
      lmc: 0
    }
    const reported = device?.ports.find((port) => port.number === number)
    node.ports.push({
      node,
      number: port.number,
      guid: port.guid,
      info: kind !== "switch"
        ? Ports.endPort(port, reported)
        : number === 0
        ? Ports.management(port)
        : Ports.external(port.link, port.enabled),
      pKeys: pKeysOf(node, number, reported),
      guids: new Map([...ibGuids(reported), [0, port.guid]]),
      slToVl: new Map(),
      vlArbitration: new Map(),
      counters: Counters.make(),
      cable: undefined
    })
  }
  return node
}

/** As many as the table has places. */
const pKeysOf = (node: NodeState, number: number, reported: Topology.Port | undefined): Array<PKey.PKey> => {
  const size = node.kind === "switch" && number > 0 ? enforcementCap : node.partitionCap
  const given = reported?.pkeys ?? [PKey.PKey.make(0xffff)]
  return Array.from({ length: size }, (_, index) => given[index] ?? PKey.PKey.make(0))
}

const enforcementCap = 64
const multicastCap = 1024

const forwardingOf = ({ enhancedPort0, numPorts }: SubnetTopology.Node): Forwarding => {
  const positions = Math.floor(numPorts / 16) + 1
  return {
    info: {
      linearFdbCap: linearCap,
      randomFdbCap: 0,
      multicastFdbCap: multicastCap,
      linearFdbTop: Lid.Lid.make(0),
      defaultPort: 0,
      defaultMulticastPrimaryPort: 0,
      defaultMulticastNotPrimaryPort: 0,
      lifeTimeValue: 0,
      portStateChange: true,
      optimizedSlToVlMappingProgramming: 0,
      lidsPerPort: 0,
      partitionEnforcementCap: enforcementCap,
      inboundEnforcementCap: false,
      outboundEnforcementCap: false,
      filterRawInboundCap: true,
      filterRawOutboundCap: true,
      enhancedPort0,
      multicastFdbTop: Lid.Lid.make(0)
    },
    linear: new Uint8Array(linearCap).fill(0xff),
    multicast: new Uint16Array(multicastCap * positions),
    positions
  }
}

const isMtu = Schema.is(Mtu.Mtu)
const ibGuids = (port: Topology.Port | undefined): ReadonlyArray<[number, Guid.Guid]> =>
  (port === undefined ? [] : Host.gidsOf(port))
    .filter(({ type }) => type === "ib")
    .map(({ gid, index }) => [index, Guid.Guid.make(Gid.interfaceId(gid))])

/** What is there of another kind stays, and what the manager did not touch. */
const gidsNow = (described: Topology.Port, { guids, info }: PortState): Topology.Port["gids"] => {
  const before = Host.gidsOf(described)
  const rows = Array.from(guids).filter(([, guid]) => guid !== 0n).map(([place, guid]): Topology.GidRow => {
    const row = before.find(({ index, type }) => index === place && type === "ib")
    const isSame = place > 0 && row !== undefined && Gid.interfaceId(row.gid) === guid
    const prefix = isSame ? Gid.subnetPrefix(row.gid) : info.gidPrefix
    return {
      gid: Gid.fromParts(prefix, guid),
      type: "ib",
      index: Identifier.GidIndex.make(place),
      ndevIfindex: row?.ndevIfindex ?? 0
    }
  })
  return [...before.filter(({ type }) => type !== "ib"), ...rows]
}

const reported = (described: Topology.Port, port: PortState): Topology.Port => {
  const { info, pKeys } = port
  return {
    ...described,
    lid: info.lid,
    lmc: info.lmc,
    smLid: info.masterSmLid,
    smSl: info.masterSmSl,
    portCapFlags: info.capabilityMask,
    subnetTimeout: info.subnetTimeout,
    state: typeof info.portState === "number" ? "unknown" : info.portState,
    physState: typeof info.portPhysicalState === "number" ? "unknown" : info.portPhysicalState,
    activeMtu: isMtu(info.neighborMtu) ? info.neighborMtu : "unknown",
    // Empty places at the end are there only as far as they were told of.
    pkeys: pKeys.slice(0, Math.max(described.pkeys.length, pKeys.findLastIndex((pKey) => pKey !== 0) + 1)),
    gids: gidsNow(described, port)
  }
}
