import * as Gid from "@effect-rdma/core/Gid"
import type * as AddressHandleAttributes from "@effect-rdma/verbs/AddressHandleAttributes"
import type * as Fabric from "../../Fabric.ts"
import type * as Topology from "../../Topology.ts"
import * as Host from "../host.ts"
import * as Link from "../link.ts"
import * as Wires from "../umad/wires.ts"
import * as QueueState from "./queueState.ts"
import { portOf } from "./state.ts"

/** A port where packets arrive. */
export interface Destination {
  readonly device: Host.DeviceState
  readonly portNum: number
}

/** The port that an address is of, or none. */
export const find = (
  fabric: Host.FabricState,
  device: Host.DeviceState,
  address: AddressHandleAttributes.AddressHandleAttributes
): Destination | undefined => {
  const from = portOf(device, address.portNum)
  if (from === undefined) return undefined
  if (from.linkLayer === "ethernet") return address.grh && Host.portsOf(fabric, address.grh.dgid)[0]
  for (const host of fabric.hosts.values()) {
    for (const device of host.devices) {
      for (const port of device.description.ports) {
        if (port.linkLayer === from.linkLayer && answersTo(port, address)) return { device, portNum: port.number }
      }
    }
  }
  return undefined
}

/** Whether packets get from a port to another one. */
export const isOpen = (
  fabric: Host.FabricState,
  device: Host.DeviceState,
  portNum: number,
  to: Destination
): boolean => {
  if (!to.device.plugged) return false
  // rxe never asks the link for what it sends to itself.
  if (to.device === device && device.description.provider === "rxe") return true
  if (!isUp(device, portNum) || !isUp(to.device, to.portNum)) return false
  return !fabric.hasSubnet || !isInfiniband(device, portNum) || Wires.isOpen(fabric.managed(), { device, portNum }, to)
}

/**
 * Takes a packet over the links of a way that is open, and lets it arrive when it has got over them, unless it is lost. On
 * its way it is a copy. So long is it on a link, unless told as long as its bytes.
 */
export const carry = (
  fabric: Host.FabricState,
  from: Destination,
  to: Destination,
  packet: Omit<Fabric.Packet, "count">,
  arrive: (bytes: Uint8Array) => void,
  length?: number
): void => {
  if (!fabric.isDisturbed || from.device === to.device) return arrive(packet.bytes)
  const now = fabric.now()
  let at: number | undefined = now
  for (const hop of linksBetween(fabric, from, to)) {
    at = Link.pass(hop, at, packet, length)
    if (at === undefined) return
  }
  if (at <= now) return arrive(packet.bytes)
  const bytes = packet.bytes.slice()
  fabric.after(at - now, () => fabric.work.run(() => arrive(bytes)))
}

/** Has the ports of the way count a message, where there are such that count. */
export const count = (
  fabric: Host.FabricState,
  from: Destination,
  to: Destination,
  packets: number,
  bytes: number
): void => {
  if (isInfiniband(from.device, from.portNum)) Wires.count(fabric.managed(), from, to, packets, bytes)
}

/** Where a connected queue pair sends to. */
export const destinationOf = (self: QueueState.QueuePairObject): Destination | undefined => {
  const { ahAttr } = self.attributes
  if (self.routed?.attributes !== self.attributes) {
    const to = ahAttr && find(self.verbs.fabric, self.device, ahAttr)
    self.routed = { attributes: self.attributes, to }
  }
  return self.routed.to
}

/** The way from a connected queue pair to where its peer is. */
export interface Way {
  readonly from: Destination
  readonly to: Destination
  readonly qpNum: number
}

export const wayOf = (self: QueueState.QueuePairObject): Way | undefined => {
  const { ahAttr, destQpNum } = self.attributes
  const to = destinationOf(self)
  return ahAttr === undefined || destQpNum === undefined || to === undefined
    ? undefined
    : { from: { device: self.device, portNum: ahAttr.portNum }, to, qpNum: destQpNum }
}

/** The queue pair at the end of a way, if it can hear the one who sends there now. */
export const peerAt = (
  self: QueueState.QueuePairObject,
  { from, qpNum, to }: Way
): QueueState.QueuePairObject | undefined => {
  if (!isOpen(self.verbs.fabric, from.device, from.portNum, to)) return undefined
  const peer = QueueState.of(to.device).pairs.get(qpNum)
  const isPeer = peer !== undefined && peer.qpType === counterparts[self.qpType] && hears.has(peer.state)
  // It takes packets from where it is connected to.
  return isPeer && destinationOf(peer)?.device === from.device ? peer : undefined
}

export const hears: ReadonlySet<string> = new Set(["rtr", "rts", "sqd", "sqe"])

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

const linksBetween = (fabric: Host.FabricState, from: Destination, to: Destination): ReadonlyArray<Link.Hop> =>
  isInfiniband(from.device, from.portNum)
    ? Wires.linksBetween(fabric.managed(), from, to)
    : [
      { link: Link.ofEthernet(from.device, from.portNum), direction: 0 },
      { link: Link.ofEthernet(to.device, to.portNum), direction: 1 }
    ]

const isUp = ({ description }: Host.DeviceState, portNum: number): boolean =>
  description.ports.some((port) => port.number === portNum && port.state === "active")

const isInfiniband = ({ description }: Host.DeviceState, portNum: number): boolean =>
  description.ports.some((port) => port.number === portNum && port.linkLayer === "infiniband")

const counterparts: { readonly [type: string]: string } = { rc: "rc", uc: "uc", xrcSend: "xrcRecv", xrcRecv: "xrcSend" }

const answersTo = (
  port: Topology.Port,
  { dlid, grh }: AddressHandleAttributes.AddressHandleAttributes
): boolean => {
  if (port.linkLayer === "infiniband" && dlid !== 0) return (dlid >> port.lmc) === (port.lid >> port.lmc)
  return grh !== undefined && port.gids.some(({ gid }) => Gid.Equivalence(gid, grh.dgid) && !Gid.isZero(gid))
}
