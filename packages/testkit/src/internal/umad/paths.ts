import * as Identifier from "@effect-rdma/core/Identifier"
import * as Lid from "@effect-rdma/core/Lid"
import * as LinkSpeed from "@effect-rdma/core/LinkSpeed"
import * as LinkWidth from "@effect-rdma/core/LinkWidth"
import * as PKey from "@effect-rdma/core/PKey"
import * as StaticRate from "@effect-rdma/core/StaticRate"
import type { PathRecord } from "@effect-rdma/umad/PathRecord"
import * as Schema from "effect/Schema"
import * as Ports from "./portInfo.ts"
import * as Subnet from "./subnet.ts"

/** The paths from one port to another, as many as the LIDs of both make; none where the switches lead nowhere. */
export const between = (
  from: Subnet.PortState,
  to: Subnet.PortState,
  only: { readonly slid: Lid.Lid | undefined; readonly dlid: Lid.Lid | undefined }
): ReadonlyArray<PathRecord> => {
  const pKey = sharedPKey(from, to)
  const slids = only.slid === undefined ? lidsOf(from) : [only.slid]
  const dlids = only.dlid === undefined ? lidsOf(to) : [only.dlid]
  const count = Math.max(slids.length, dlids.length)
  return Array.from({ length: count }, (_, index) => index).flatMap((index) => {
    const slid = slids[index % slids.length]
    const dlid = dlids[index % dlids.length]
    const weakest = slid === undefined || dlid === undefined ? undefined : weakestOf(from, to, dlid)
    if (slid === undefined || dlid === undefined || pKey === undefined || weakest === undefined) return []
    return [{
      serviceId: 0n,
      dgid: Subnet.gidOf(to),
      sgid: Subnet.gidOf(from),
      dlid,
      slid,
      rawTraffic: false,
      flowLabel: Identifier.FlowLabel.make(0),
      hopLimit: Identifier.HopLimit.make(0),
      trafficClass: Identifier.TrafficClass.make(0),
      reversible: true,
      numbPath: 0,
      pKey,
      qosClass: 0,
      sl: Identifier.ServiceLevel.make(0),
      mtuSelector: exactly,
      mtu: weakest.mtu,
      rateSelector: exactly,
      rate: weakest.rate,
      packetLifeTimeSelector: exactly,
      packetLifeTime: from === to ? 0 : subnetTimeout,
      preference: 0
    }]
  })
}

/** Whether a path is one that the query allows. */
export const suits = (path: PathRecord, wanted: PathRecord, asks: (name: keyof PathRecord) => boolean): boolean => {
  const allows = (name: "mtu" | "rate" | "packetLifeTime", order: (path: PathRecord) => number): boolean => {
    const selector = asks(`${name}Selector`) ? wanted[`${name}Selector`] : exactly
    return !asks(name) || selects(selector, order(path), order(wanted))
  }
  return allows("mtu", ({ mtu }) => mtu) && allows("rate", ({ rate }) => mbpsOf(rate)) &&
    allows("packetLifeTime", ({ packetLifeTime }) => packetLifeTime) &&
    (!asks("pKey") || PKey.partition(path.pKey) === PKey.partition(wanted.pKey)) &&
    (!asks("sl") || path.sl === wanted.sl)
}

/** What a selector says of a value: more, less, exactly, or the most there is. */
export const selects = (selector: number, value: number, wanted: number): boolean => {
  switch (selector) {
    case 0:
      return value > wanted
    case 1:
      return value < wanted
    case exactly:
      return value === wanted
    default:
      return true
  }
}

export const exactly = 2
export const subnetTimeout = 18

/** The rate of a port as its active width and speed make it. */
export const rateOf = ({ info }: Subnet.PortState): StaticRate.StaticRate => {
  const lanes = LinkWidth.lanes(LinkWidth.fromNative(info.linkWidthActive))
  const rate = `${lanes * LinkSpeed.gigabitsPerLane(Ports.speedOf(info))}Gbps`
  return isRate(rate) ? rate : "2.5Gbps"
}

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

const isRate = Schema.is(StaticRate.StaticRate)

const mbpsOf = (rate: PathRecord["rate"]): number => typeof rate === "number" ? rate : StaticRate.toMbps(rate)

const lidsOf = ({ info: { lid, lmc } }: Subnet.PortState): ReadonlyArray<Lid.Lid> =>
  Array.from({ length: 2 ** lmc }, (_, bits) => Lid.Lid.make(lid + bits))

/** The first P_Key of a partition that both are in, one of them as a full member. */
const sharedPKey = (from: Subnet.PortState, to: Subnet.PortState): PKey.PKey | undefined =>
  from.pKeys.find((own) => own !== 0 && to.pKeys.some((other) => other !== 0 && PKey.matches(own, other)))

interface Weakest {
  readonly mtu: number
  readonly rate: StaticRate.StaticRate
}

/** The least of what the way has, from end to end; `undefined` where it ends before. */
const weakestOf = (from: Subnet.PortState, to: Subnet.PortState, dlid: number): Weakest | undefined => {
  const passed = [from, to]
  let port = from
  for (let hop = 0; Subnet.endPortOf(port) !== to; hop++) {
    const out = hop === 0 && port.node.kind !== "switch" ? port : nextOf(port, dlid)
    const next = out === undefined ? undefined : Subnet.remoteOf(out)
    if (out === undefined || next === undefined || hop > maximumHops || out.info.portState !== "active") {
      return undefined
    }
    passed.push(out, next)
    port = next
  }
  return passed.map((port): Weakest => ({ mtu: mtuOf(port), rate: rateOf(port) })).reduce((least, next) => ({
    mtu: Math.min(least.mtu, next.mtu),
    rate: mbpsOf(next.rate) < mbpsOf(least.rate) ? next.rate : least.rate
  }))
}

const maximumHops = 64

const nextOf = ({ node }: Subnet.PortState, dlid: number): Subnet.PortState | undefined => {
  const number = node.forwarding?.linear[dlid] ?? 0
  return number === 0 ? undefined : Subnet.portOf(node, number)
}

// Port 0 of a switch has no neighbour.
const mtuOf = ({ info, number }: Subnet.PortState): number => number === 0 ? info.mtuCap : info.neighborMtu
