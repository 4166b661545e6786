import * as Identifier from "@effect-rdma/core/Identifier"
import type * as MadAddress from "@effect-rdma/umad/MadAddress"
import type * as Topology from "../../Topology.ts"
import type * as Host from "../host.ts"
import * as Administration from "./administration.ts"
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

/** The InfiniBand subnet of a fabric with its managers. */
export interface Managed {
  readonly subnet: Subnet.SubnetState
  readonly manager: Manager.Manager | undefined
  readonly administration: Administration.Administration | undefined
}

export const make = (topology: Topology.Topology, fabric: Host.FabricState): Managed => {
  const subnet = Subnet.make(topology, fabric.hosts.values())
  for (const host of fabric.hosts.values()) {
    host.onUnplug.push(({ description }) => {
      const node = subnet.nodeByGuid.get(description.guid)
      if (node !== undefined) Subnet.setAlive(subnet, node, false)
    })
  }
  const manager = Manager.make(topology, subnet)
  if (manager === undefined) return { subnet, manager, administration: undefined }
  const deliver = (lid: number, mad: Uint8Array): void => {
    const out = Routing.route(manager.port, lid, mad)
    const at = out === undefined ? undefined : placeOf(out.port)
    if (out === undefined || at === undefined) return
    const address = addressOf(manager.port)
    fabric.after(out.latency, () =>
      fabric.work.run(() => {
        for (const react of at.host.onMad) react(at.device, at.port.number, { address, mad: out.mad }, address.qpn)
      }))
  }
  const after = (seconds: number, run: () => void) => fabric.after(`${seconds} seconds`, run)
  const administration = Administration.make(manager, after, deliver)
  subnet.onLink.push(() => Administration.noticeChange(administration))
  return { subnet, manager, administration }
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

export const carry = (managed: Managed, { address, from, mad: sent }: SentMad): Outcome => {
  // On the wire a packet is a whole one.
  const mad = new Uint8Array(Math.max(sent.length, packetSize))
  mad.set(sent)
  const port = Subnet.portOfDevice(managed.subnet, from.device, from.port.number)
  const out = port === undefined ? undefined : Routing.route(port, address.lid, mad)
  if (port === undefined || out === undefined) return undefined
  const source = port.info.lid | address.pathBits & (2 ** port.info.lmc - 1)
  const reaction = react(managed, out, source, address.qpn)
  if (reaction === "dropped") return undefined
  if (reaction === "forAgents") {
    const at = placeOf(out.port)
    return at === undefined ? undefined : { _tag: "Arrival", at, mad: out.mad, latency: out.latency }
  }
  const back = Routing.route(out.port, out.turnLid ?? source, reaction)
  if (back?.port.node !== port.node) return undefined
  return { _tag: "Reply", mad: back.mad, latency: out.latency + back.latency }
}

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

const packetSize = 256
const subnAdm = 0x03
const perfMgmt = 0x04
const smInfo = 0x0020

const react = (
  { administration, manager, subnet }: Managed,
  { mad, port }: Routing.Arrival,
  source: number,
  qpn: number
): Management.Reaction => {
  // QP0 has the agents of subnet management, QP1 all others.
  if (Smp.isSubnetManagement(mad) !== (qpn === 0)) return "dropped"
  const isManager = manager !== undefined && Subnet.endPortOf(port) === manager.port
  if (Smp.isSubnetManagement(mad)) {
    const isForManager = isManager && Smp.attributeOf(mad) === smInfo && !Smp.isResponse(mad)
    return isForManager ? manager.info(mad) : Management.react(subnet, port, mad)
  }
  switch (Smp.classOf(mad)) {
    case subnAdm:
      return isManager && administration !== undefined ? Administration.react(administration, source, mad) : "forAgents"
    case perfMgmt:
      return Performance.react(port, mad)
    default:
      return "forAgents"
  }
}

/** Who has a port, if its device is there. */
const placeOf = (port: Subnet.PortState): Place | undefined => {
  const { owner } = port.node
  const described = Subnet.portOfOwner(port)
  return owner === undefined || described === undefined || !owner.device.plugged
    ? undefined
    : { ...owner, port: described }
}

/** What a MAD of the manager comes from. */
const addressOf = (port: Subnet.PortState): MadAddress.MadAddress => ({
  lid: port.info.lid,
  qpn: Identifier.Qpn.make(1),
  qkey: Identifier.QKey.make(0),
  sl: Identifier.ServiceLevel.make(0),
  pathBits: Identifier.PathBits.make(0),
  pkeyIndex: Identifier.PKeyIndex.make(0)
})
