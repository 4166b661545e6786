import type * as MadAddress from "@effect-rdma/umad/MadAddress"
import type * as Topology from "../../Topology.ts"
import type * as Host from "../host.ts"
import * as Management from "./management.ts"
import * as Manager from "./manager.ts"
import * as Performance from "./performance.ts"
import * as Routing from "./routing.ts"
import * as Smp from "./smp.ts"
import * as Subnet from "./subnet.ts"

/** A port of a running fabric. */
export interface Place {
  readonly host: Host.HostState
  readonly device: Host.DeviceState
  readonly port: Topology.Port
}

/** A MAD as it leaves a port. */
export interface SentMad {
  readonly from: Place
  readonly address: MadAddress.MadAddress
  /** With the transaction id of the wire, whose upper half the kernel wrote. Not to be changed or kept. */
  readonly mad: Uint8Array
}

/** The InfiniBand subnet of a fabric with its manager. */
export interface Managed {
  readonly subnet: Subnet.SubnetState
  readonly manager: Manager.Manager | undefined
}

export const make = (topology: Topology.Topology, hosts: Iterable<Host.HostState>): Managed => {
  const subnet = Subnet.make(topology, hosts)
  return { subnet, manager: Manager.make(topology, subnet) }
}

/**
 * What comes of a MAD on InfiniBand, after so many milliseconds: the reply of the firmware or of a manager, which is the
 * whole one and may be longer than a packet where the class has RMPP; or the MAD, as it comes to the agents of a port.
 * `undefined` is a MAD that got lost, or its reply.
 */
export type Outcome =
  | { readonly _tag: "Reply"; readonly mad: Uint8Array; readonly latency: number }
  | { readonly _tag: "Arrival"; readonly at: Place; readonly mad: Uint8Array; readonly latency: number }
  | undefined

export const carry = ({ manager, subnet }: Managed, { address, from, mad }: SentMad): Outcome => {
  const port = Subnet.portOfDevice(subnet, from.device, from.port.number)
  const out = port === undefined ? undefined : Routing.route(port, address.lid, mad)
  if (port === undefined || out === undefined) return undefined
  const reaction = react(subnet, manager, out, address.qpn)
  if (reaction === "dropped") return undefined
  if (reaction === "forAgents") return arrival(out)
  const back = Routing.route(out.port, port.info.lid + address.pathBits, reaction)
  if (back?.port.node !== port.node) return undefined
  return { _tag: "Reply", mad: back.mad, latency: out.latency + back.latency }
}

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

const perfMgmt = 0x04

const react = (
  subnet: Subnet.SubnetState,
  manager: Manager.Manager | undefined,
  { mad, port }: Routing.Arrival,
  qpn: number
): Management.Reaction => {
  // QP0 has the agents of subnet management, QP1 all others.
  if (Smp.isSubnetManagement(mad) !== (qpn === 0)) return "dropped"
  const isManager = manager !== undefined && Subnet.endPortOf(port) === manager.port
  if (Smp.isSubnetManagement(mad)) {
    const isForManager = isManager && Smp.attributeOf(mad) === smInfo && !Smp.isResponse(mad)
    return isForManager ? manager.info(mad) : Management.react(subnet, port, mad)
  }
  return Smp.classOf(mad) === perfMgmt ? Performance.react(port, mad) : "forAgents"
}

const smInfo = 0x0020

const arrival = ({ latency, mad, port }: Routing.Arrival): Outcome => {
  const { owner } = port.node
  const described = Subnet.portOfOwner(port)
  return owner === undefined || described === undefined || !owner.device.plugged
    ? undefined
    : { _tag: "Arrival", at: { ...owner, port: described }, mad, latency }
}
