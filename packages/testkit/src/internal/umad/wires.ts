import type * as Host from "../host.ts"
import type * as Link from "../link.ts"
import type { Managed } from "./answer.ts"
import * as Counters from "./counters.ts"
import * as Subnet from "./subnet.ts"

// What the data path of InfiniBand has to do with the subnet.

/** A port of a device. */
export interface End {
  readonly device: Host.DeviceState
  readonly portNum: number
}

/** Whether the switches lead from one port to another over links that are active. */
export const isOpen = ({ subnet }: Managed, from: End, to: End): boolean => hopsBetween(subnet, from, to) !== undefined

/** What every port on the way counts of a message of so many bytes. */
export const count = ({ subnet }: Managed, from: End, to: End, packets: number, bytes: number): void => {
  const words = Math.ceil(bytes / 4) + packets * wordsOfHeaders
  for (const out of hopsBetween(subnet, from, to) ?? []) {
    Counters.sent(out.counters, packets, words)
    const next = Subnet.remoteOf(out)
    if (next !== undefined) Counters.received(next.counters, packets, words)
  }
}

/** The links on the way, which is open. */
export const linksBetween = ({ subnet }: Managed, from: End, to: End): ReadonlyArray<Link.Hop> =>
  (hopsBetween(subnet, from, to) ?? []).flatMap((out): ReadonlyArray<Link.Hop> =>
    out.cable === undefined ? [] : [{ link: out.cable, direction: out.cable.ends[0] === out ? 0 : 1 }]
  )

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

// LRH, BTH and the invariant CRC, in units of 4 bytes.
const wordsOfHeaders = 6
const maximumHops = 64

/** The ports by which a packet leaves one node after the other; none to another port of the same device. */
const hopsBetween = (subnet: Subnet.SubnetState, from: End, to: End): ReadonlyArray<Subnet.PortState> | undefined => {
  if (from.device === to.device) return []
  const target = Subnet.portOfDevice(subnet, to.device, to.portNum)
  let out = Subnet.portOfDevice(subnet, from.device, from.portNum)
  const hops: Array<Subnet.PortState> = []
  if (target === undefined) return undefined
  while (out !== undefined && hops.length < maximumHops) {
    const next = Subnet.remoteOf(out)
    if (next === undefined || out.info.portState !== "active" || next.info.portState !== "active") return undefined
    hops.push(out)
    if (next === target) return hops
    const number = next.node.forwarding?.linear[target.info.lid] ?? 0
    out = number === 0 ? undefined : Subnet.portOf(next.node, number)
  }
  return undefined
}
