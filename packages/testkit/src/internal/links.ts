import * as SubnetTopology from "@effect-rdma/umad/SubnetTopology"
import type { Disturbance } from "../Fabric.ts"
import { FabricMisuse } from "../FabricMisuse.ts"
import * as Host from "./host.ts"
import * as Link from "./link.ts"
import * as Subnet from "./umad/subnet.ts"

// What tests do to links and nodes.

/** Plugs the cable of a port in, or pulls it out. */
export const set = (
  fabric: Host.FabricState,
  hostName: string,
  deviceName: string,
  portNum: number,
  link: "up" | "down"
): void => {
  const call = "Fabric.setLink"
  const host = Host.hostOf(call, fabric.hosts, hostName)
  const device = Host.deviceOf(call, host, deviceName)
  const ports = Array.from(device.description.ports)
  const index = ports.findIndex((port) => port.number === portNum)
  const before = ports[index]
  if (before === undefined) {
    throw new FabricMisuse({ call, problem: `${deviceName} of ${hostName} has no port ${portNum}` })
  }
  const cabled = before.linkLayer === "infiniband"
    ? Subnet.portOfDevice(fabric.managed().subnet, device, portNum)
    : undefined
  if (cabled !== undefined) return Subnet.setLink(fabric.managed().subnet, cabled, link === "up")
  const { event, port } = linkStates[link]
  ports[index] = { ...before, ...port }
  device.description = { ...device.description, ports }
  for (const react of host.onAsyncEvent) react(device, { _tag: "Port", event, portNum })
}

/** Takes the power from a node, or gives it back. */
export const setNode = (fabric: Host.FabricState, name: string, state: "alive" | "dead"): void => {
  const { subnet } = fabric.managed()
  Subnet.setAlive(subnet, nodeOf("Fabric.setNode", subnet, name), state === "alive")
}

/** Disturbs the link at a port. */
export const disturb = (
  fabric: Host.FabricState,
  node: string,
  portNum: number,
  disturbance: Disturbance
): void => {
  Link.disturb(ethernetOf(fabric, node, portNum) ?? cableOf(fabric, node, portNum), disturbance)
  fabric.isDisturbed = true
}

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

const linkStates = {
  up: { event: "portActive", port: { state: "active", physState: "linkUp" } },
  down: { event: "portErr", port: { state: "down", physState: "polling" } }
} as const

const ethernetOf = (fabric: Host.FabricState, node: string, portNum: number): Link.Link | undefined => {
  for (const host of fabric.hosts.values()) {
    const device = host.devices.find(({ name }) => `${host.name} ${name}` === node)
    const port = device?.description.ports.find(({ number }) => number === portNum)
    if (device !== undefined && port?.linkLayer === "ethernet") return Link.ofEthernet(device, portNum)
  }
  return undefined
}

const cableOf = (fabric: Host.FabricState, node: string, portNum: number): Link.Link => {
  const call = "Fabric.disturb"
  const cable = Subnet.portOf(nodeOf(call, fabric.managed().subnet, node), portNum)?.cable
  if (cable === undefined) throw new FabricMisuse({ call, problem: `port ${portNum} of ${node} has no cable` })
  return cable
}

const nodeOf = (call: string, { nodes }: Subnet.SubnetState, name: string): Subnet.NodeState => {
  const node = nodes.find(({ description }) => SubnetTopology.nameOf(description) === name)
  if (node === undefined) throw new FabricMisuse({ call, problem: `the subnet has no node ${name}` })
  return node
}
