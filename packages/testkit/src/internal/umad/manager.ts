import * as Lid from "@effect-rdma/core/Lid"
import { SmInfo } from "@effect-rdma/umad/SmInfo"
import type * as Topology from "../../Topology.ts"
import { bytesOf } from "./management.ts"
import * as Ports from "./portInfo.ts"
import * as Smp from "./smp.ts"
import * as Subnet from "./subnet.ts"

/** The subnet manager of the fabric, the master on its port. */
export interface Manager {
  readonly port: Subnet.PortState
  /** What of the subnet it has found. */
  found: ReadonlyArray<Subnet.NodeState>
  /** The ports of each multicast group by its LID. */
  readonly groups: Map<number, ReadonlySet<Subnet.PortState>>
  /** Its SMInfo, to a request for it. */
  readonly info: (mad: Uint8Array) => Uint8Array
  /** Discovers the subnet anew, gives LIDs, programs the switches and brings up what is to be initialised. */
  readonly sweep: () => void
  /** Programs the switches with the groups. */
  readonly spread: () => void
}

/** The key of who is trusted. */
export const smKey = 1n

/** `undefined` where there is nothing to manage. A subnet that is given is configured; else ports are as described. */
export const make = (topology: Topology.Topology, subnet: Subnet.SubnetState): Manager | undefined => {
  const port = topology.subnetManager ? placeOf(subnet) : undefined
  if (port === undefined) return undefined
  let activity = 0
  const sweep = (): void => {
    manager.found = discover(port)
    giveLids(manager)
    bringUp(manager)
    route(manager)
  }
  const manager: Manager = {
    port,
    found: [],
    groups: new Map(),
    info: (mad) => {
      if (Smp.methodOf(mad) !== Smp.method.get) return Smp.response(mad, Smp.status.attribute, noData, dataOffset)
      activity++
      const info = { guid: port.guid, smKey, actCount: activity, priority: 0, smState: "master" } as const
      return Smp.response(mad, Smp.status.ok, bytesOf(SmInfo, info), dataOffset)
    },
    sweep,
    spread: () => route(manager)
  }
  if (topology.subnet === undefined) {
    manager.found = subnet.nodes
    for (const node of subnet.nodes) for (const port of node.ports) asDescribed(port)
    giveLids(manager, "switches")
    route(manager)
  } else {
    Subnet.update(port, { capabilityMask: port.info.capabilityMask | isSm })
    sweep()
  }
  subnet.onLink.push(sweep)
  return manager
}

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

const dataOffset = 64
const noData = new Uint8Array()
const isSm = 0x2

/** Where the ports say that it is, else on the first switch, else on the first adapter. */
const placeOf = (subnet: Subnet.SubnetState): Subnet.PortState | undefined => {
  const ends = Subnet.endPorts(subnet)
  const told = ends.flatMap((port) => Subnet.portOfOwner(port)?.smLid ?? []).find((lid) => lid !== 0)
  return (told === undefined ? undefined : ends.find((port) => Subnet.hasLid(port, told))) ??
    ends.find(({ node }) => node.kind === "switch") ?? ends[0]
}

/** Node by node from its own, over links that are up. */
const discover = (from: Subnet.PortState): ReadonlyArray<Subnet.NodeState> => {
  const found = new Set([from.node])
  for (const node of found) {
    if (node.kind !== "switch" && node !== from.node) continue
    for (const port of node.ports) {
      const remote = isUp(port) ? Subnet.remoteOf(port) : undefined
      if (remote !== undefined) found.add(remote.node)
    }
  }
  return [...found]
}

const isUp = ({ info, node }: Subnet.PortState): boolean => node.isAlive && info.portPhysicalState === "linkUp"

const endPortsOf = (node: Subnet.NodeState): ReadonlyArray<Subnet.PortState> =>
  node.kind === "switch" ? node.ports.slice(0, 1) : node.ports

/** In the order in which opensm gives LIDs: its own, then by GUID, whose bytes it compares from the last one. */
export const endPortsIn = ({ found, port }: Manager): ReadonlyArray<Subnet.PortState> =>
  found.flatMap(endPortsOf)
    .map((end) => ({ end, key: end === port ? -1n : reversed(end.guid) }))
    .toSorted((self, that) => self.key < that.key ? -1 : self.key > that.key ? 1 : 0)
    .map(({ end }) => end)

const reversed = (guid: bigint): bigint => {
  const view = new DataView(new ArrayBuffer(8))
  view.setBigUint64(0, guid)
  return view.getBigUint64(0, true)
}

/** Who has LIDs of his own keeps them; the others get the lowest that are free. */
const giveLids = (manager: Manager, which: "all" | "switches" = "all"): void => {
  const ports = endPortsIn(manager).filter((port) => port.node.kind === "switch" || isUp(port))
  const taken = new Set<number>()
  const claim = ({ info }: Subnet.PortState, lid: number): boolean => {
    const lids = Array.from({ length: 2 ** info.lmc }, (_, bits) => lid + bits)
    if (lid < 1 || lid > lastLid || lids.some((lid) => taken.has(lid))) return false
    for (const lid of lids) taken.add(lid)
    return true
  }
  const without = ports.filter((port) => !claim(port, port.info.lid))
  let next = 1
  for (const port of without) {
    if (which === "switches" && port.node.kind !== "switch") continue
    const size = 2 ** port.info.lmc
    next = size * Math.ceil(next / size)
    while (next <= lastLid && !claim(port, next)) next += size
    // What is left over has none.
    Subnet.update(port, { lid: Lid.Lid.make(next <= lastLid ? next : 0) })
  }
}

// As many as the linear table of a switch has.
const lastLid = Subnet.linearCap - 1

const leafHeadOfQueueLife = 16
const headOfQueueLife = 18
const subnetTimeout = 18
const packetLifeTime = 18

const bringUp = (manager: Manager): void => {
  const masterSmLid = manager.port.info.lid
  for (const port of endPortsIn(manager)) {
    if (port.node.kind === "switch" || isUp(port)) {
      Subnet.update(port, { masterSmLid, subnetTimeout, gidPrefix: Ports.defaultPrefix })
    }
  }
  for (const node of manager.found) {
    const { forwarding } = node
    if (forwarding !== undefined) {
      forwarding.info = { ...forwarding.info, portStateChange: false, lifeTimeValue: packetLifeTime }
    }
    for (const port of node.ports) {
      const remote = Subnet.remoteOf(port)
      if (remote === undefined || !isUp(port) || port.info.portState === "active") continue
      Subnet.update(port, {
        neighborMtu: Math.min(port.info.mtuCap, remote.info.mtuCap),
        operationalVls: Math.min(port.info.vlCap, remote.info.vlCap),
        hoqLife: node.kind !== "switch" ? 0 : remote.node.kind === "switch" ? headOfQueueLife : leafHeadOfQueueLife,
        portState: "active"
      })
    }
  }
}

/** What a topology without a subnet says of its ports is so; the ports of the switches follow. */
const asDescribed = (port: Subnet.PortState): void => {
  const described = Subnet.portOfOwner(port)
  const remote = Subnet.remoteOf(port)
  if (described === undefined || remote === undefined || described.physState !== "linkUp") return
  const portState = described.state === "unknown" ? "init" : described.state
  port.info = { ...port.info, portState, masterSmLid: described.smLid }
  remote.info = { ...remote.info, portState }
}

/** Hops from every switch to one. */
const distancesTo = (to: Subnet.NodeState): ReadonlyMap<Subnet.NodeState, number> => {
  const distances = new Map([[to, 0]])
  for (const [node, distance] of distances) {
    for (const port of node.ports) {
      const remote = isUp(port) ? Subnet.remoteOf(port) : undefined
      if (remote?.node.forwarding !== undefined && !distances.has(remote.node)) distances.set(remote.node, distance + 1)
    }
  }
  return distances
}

/** Shortest ways; of several ports that lead there, the one that leads to the fewest yet. */
const route = (manager: Manager): void => {
  const switches = manager.found.filter(({ forwarding }) => forwarding !== undefined)
  const ends = inRoutingOrder(manager, switches).filter(({ info }) => info.lid > 0 && info.lid <= lastLid)
  const top = ends.reduce((top, { info }) => Math.min(Math.max(top, info.lid + 2 ** info.lmc - 1), lastLid), 0)
  const distances = new Map(switches.map((node) => [node, distancesTo(node)]))
  for (const node of switches) {
    const { forwarding } = node
    if (forwarding === undefined) continue
    forwarding.linear.fill(none)
    forwarding.info = { ...forwarding.info, linearFdbTop: Lid.Lid.make(top) }
    const loads = new Map<number, number>()
    for (const end of ends) {
      const last = end.node.forwarding === undefined ? Subnet.remoteOf(end) : undefined
      const target = last?.node ?? end.node
      for (let lid: number = end.info.lid; lid < end.info.lid + 2 ** end.info.lmc; lid++) {
        const out = target === node
          ? last?.number ?? 0
          : leastLoaded(node, distances.get(target), loads)
        if (out === undefined) continue
        forwarding.linear[lid] = out
        // Little goes to a switch itself.
        if (last !== undefined) loads.set(out, (loads.get(out) ?? 0) + 1)
      }
    }
  }
  routeGroups(manager, switches)
}

/** As opensm goes through them: what is behind the switches, that with most of it first, and then the switches. */
const inRoutingOrder = (
  manager: Manager,
  switches: ReadonlyArray<Subnet.NodeState>
): ReadonlyArray<Subnet.PortState> => {
  const behind = switches
    .toSorted((self, that) => reversed(self.guid) < reversed(that.guid) ? -1 : 1)
    .map(({ ports }) => ports.filter(isUp).flatMap((port) => Subnet.remoteOf(port) ?? []).filter(isNoSwitch))
    .toSorted((self, that) => that.length - self.length)
    .flat()
  return [...new Set([...behind, ...endPortsIn(manager)])]
}

const isNoSwitch = ({ node }: Subnet.PortState): boolean => node.forwarding === undefined

const none = 0xff

const leastLoaded = (
  node: Subnet.NodeState,
  distances: ReadonlyMap<Subnet.NodeState, number> | undefined,
  loads: ReadonlyMap<number, number>
): number | undefined => {
  const distance = distances?.get(node)
  if (distances === undefined || distance === undefined) return undefined
  let best: number | undefined
  for (const port of node.ports) {
    const remote = isUp(port) ? Subnet.remoteOf(port) : undefined
    if (remote === undefined || distances.get(remote.node) !== distance - 1) continue
    if (best === undefined || (loads.get(port.number) ?? 0) < (loads.get(best) ?? 0)) best = port.number
  }
  return best
}

/** One tree for all groups: the shortest ways to the first switch. */
const routeGroups = ({ groups }: Manager, switches: ReadonlyArray<Subnet.NodeState>): void => {
  for (const { forwarding } of switches) forwarding?.multicast.fill(0)
  const [root] = switches
  if (root === undefined) return
  const distances = distancesTo(root)
  for (const [lid, members] of groups) {
    const lead = (port: Subnet.PortState | undefined): void => {
      const forwarding = port?.node.forwarding
      if (port === undefined || forwarding === undefined) return
      const at = (lid - firstGroup) * forwarding.positions + Math.floor(port.number / 16)
      forwarding.multicast[at] = (forwarding.multicast[at] ?? 0) | 1 << port.number % 16
    }
    for (const member of members) {
      const first = member.node.forwarding === undefined ? Subnet.remoteOf(member) : member
      lead(first)
      for (let node = first?.node; node !== undefined && node !== root;) {
        const up = leastLoaded(node, distances, new Map())
        const port = up === undefined ? undefined : Subnet.portOf(node, up)
        const remote = port === undefined ? undefined : Subnet.remoteOf(port)
        lead(port)
        lead(remote)
        node = remote?.node
      }
    }
  }
}

const firstGroup = 0xc000
