import * as Lid from "@effect-rdma/core/Lid"
import * as Link from "../link.ts"
import * as Counters from "./counters.ts"
import * as Smp from "./smp.ts"
import * as Subnet from "./subnet.ts"

/** A MAD where it came to, and how long it took. */
export interface Arrival {
  readonly port: Subnet.PortState
  readonly mad: Uint8Array
  /** Milliseconds. */
  readonly latency: number
  /** Where the reply goes first, of a route that did not end directed: to the node where its last LIDs began. */
  readonly turnLid: number | undefined
}

/** Where a MAD comes to that leaves a port; `undefined` when it gets lost. What it passes counts it. */
export const route = (
  from: Subnet.PortState,
  lid: number,
  mad: Uint8Array
): Arrival | undefined => {
  const journey: Journey = { mad, latency: 0, turnLid: undefined, isSubnetManagement: Smp.isSubnetManagement(mad) }
  const port = Smp.isDirected(mad)
    ? Smp.isReturning(mad) ? backward(from, lid, journey) : forward(from, lid, journey)
    : byLid(from, lid, journey)
  const { latency, turnLid } = journey
  return port === undefined ? undefined : { port, mad: journey.mad, latency, turnLid }
}

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

interface Journey {
  mad: Uint8Array
  latency: number
  turnLid: number | undefined
  readonly isSubnetManagement: boolean
}

// Of a chain of switches; a loop in the tables ends here.
const maximumHops = 64

/** Over the cable of a port, on which a link has to be; and, but for subnet management, an active one. */
const pass = (from: Subnet.PortState, journey: Journey): Subnet.PortState | undefined => {
  const { cable } = from
  const to = Subnet.remoteOf(from)
  if (cable === undefined || to === undefined || !isOpen(from, journey) || !isOpen(to, journey)) {
    from.counters.xmitDiscards++
    return undefined
  }
  const packets = Math.max(1, Math.ceil((journey.mad.length - segmentHeader) / segmentData))
  Counters.sent(from.counters, packets, packets * wordsOfPacket)
  if (Link.isLost(cable, { kind: "mad", bytes: journey.mad })) {
    to.counters.rcvErrors++
    return undefined
  }
  Counters.received(to.counters, packets, packets * wordsOfPacket)
  // Management has a lane of its own: it waits for nobody.
  journey.latency += cable.latency + journey.mad.length * cable.byteTime
  return to
}

// A packet with its headers LRH, BTH and DETH and the invariant CRC, in units of 4 bytes.
const wordsOfPacket = 72
const segmentHeader = 56
const segmentData = 200

const isOpen = ({ info, node }: Subnet.PortState, { isSubnetManagement }: Journey): boolean =>
  node.isAlive && info.portPhysicalState === "linkUp" &&
  (isSubnetManagement ? info.portState !== "down" : info.portState === "active")

/** A directed route out: LIDs to its first node where it begins so, port by port, then LIDs from its last node. */
const forward = (
  from: Subnet.PortState,
  lid: number,
  journey: Journey
): Subnet.PortState | undefined => {
  if (Smp.hopPointer(journey.mad) !== 0) return undefined
  let port = Smp.sourceLid(journey.mad) === Lid.permissive ? from : byLid(from, lid, journey)
  const hops = Smp.hopCount(journey.mad)
  if (port === undefined || hops > Smp.maximumHops) return undefined
  const mad = journey.mad.slice()
  journey.mad = mad
  for (let hop = 1; hop <= hops; hop++) {
    const { node }: Subnet.PortState = port
    const number = mad[Smp.initialPath + hop] ?? 0
    // An adapter sends from the port that it was given the packet at, and forwards nothing.
    if (node.kind !== "switch" && (hop > 1 || number !== port.number)) return undefined
    const out = number === 0 ? undefined : Subnet.portOf(node, number)
    if (out === undefined) {
      port.counters.rcvSwitchRelayErrors++
      return undefined
    }
    port = pass(out, journey)
    if (port === undefined) return undefined
    mad[Smp.returnPath + hop] = port.number
  }
  if (hops > 0) Smp.setHopPointer(mad, hops + 1)
  const last = Smp.destinationLid(mad)
  if (last === Lid.permissive) return port
  journey.turnLid = Subnet.endPortOf(port).info.lid
  return byLid(port, last, journey)
}

/** The way back of a response: LIDs to where the directed part ended, port by port, then LIDs from where it began. */
const backward = (from: Subnet.PortState, lid: number, journey: Journey): Subnet.PortState | undefined => {
  const hops = Smp.hopCount(journey.mad)
  if (hops > Smp.maximumHops || (hops > 0 && Smp.hopPointer(journey.mad) !== hops + 1)) return undefined
  const mad = journey.mad.slice()
  journey.mad = mad
  let port = Smp.destinationLid(mad) === Lid.permissive ? from : byLid(from, lid, journey)
  for (let hop = hops; hop >= 1; hop--) {
    if (port === undefined) return undefined
    const { node }: Subnet.PortState = port
    const number = mad[Smp.returnPath + hop] ?? 0
    const out = number === 0 ? undefined : Subnet.portOf(node, number)
    if (out === undefined || (node.kind !== "switch" && (hop < hops || out !== port))) return undefined
    port = pass(out, journey)
  }
  Smp.setHopPointer(mad, 0)
  const first = Smp.sourceLid(mad)
  return port === undefined || first === Lid.permissive ? port : byLid(port, first, journey)
}

/** By the forwarding tables of the switches. */
const byLid = (from: Subnet.PortState, lid: number, journey: Journey): Subnet.PortState | undefined => {
  if (lid === Lid.permissive || Subnet.hasLid(Subnet.endPortOf(from), lid)) return Subnet.endPortOf(from)
  let port: Subnet.PortState | undefined = from.node.kind === "switch" ? from : pass(from, journey)
  for (let hop = 0; port !== undefined && hop < maximumHops; hop++) {
    const end = Subnet.endPortOf(port)
    if (Subnet.hasLid(end, lid)) return end
    const { forwarding }: Subnet.NodeState = port.node
    const number = forwarding === undefined || lid > forwarding.info.linearFdbTop
      ? none
      : forwarding.linear[lid] ?? none
    const out = number === none || number === 0 ? undefined : Subnet.portOf(port.node, number)
    if (out === undefined) {
      port.counters.rcvSwitchRelayErrors++
      return undefined
    }
    port = pass(out, journey)
  }
  return undefined
}

const none = 0xff
