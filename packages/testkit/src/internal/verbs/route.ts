import * as Gid from "@effect-rdma/core/Gid"
import type * as AddressHandleAttributes from "@effect-rdma/verbs/AddressHandleAttributes"
import type * as Topology from "../../Topology.ts"
import * as Host from "../host.ts"
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

/** The queue pair that a connected one talks to, if that one can hear it now. */
export const peerOf = (self: QueueState.QueuePairObject): QueueState.QueuePairObject | undefined => {
  const { ahAttr, destQpNum } = self.attributes
  const to = destinationOf(self)
  if (ahAttr === undefined || destQpNum === undefined || to === undefined) return undefined
  if (!isOpen(self.verbs.fabric, self.device, ahAttr.portNum, to)) return undefined
  const peer = QueueState.of(to.device).pairs.get(destQpNum)
  return peer !== undefined && peer.qpType === counterparts[self.qpType] && hears.has(peer.state) ? peer : undefined
}

export const hears: ReadonlySet<string> = new Set(["rtr", "rts", "sqd", "sqe"])

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

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
  return grh !== undefined && Host.gidsOf(port).some((row) => Gid.Equivalence(row.gid, grh.dgid))
}
