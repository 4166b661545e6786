import { ClassPortInfo } from "@effect-rdma/umad/ClassPortInfo"
import { PortCounters } from "@effect-rdma/umad/PortCounters"
import { PortCountersExtended } from "@effect-rdma/umad/PortCountersExtended"
import * as Result from "effect/Result"
import type { Counters } from "./counters.ts"
import { bytesOf, type Reaction } from "./management.ts"
import * as Smp from "./smp.ts"
import * as Subnet from "./subnet.ts"

/** The performance management agent of a port. */
export const react = (port: Subnet.PortState, mad: Uint8Array): Reaction => {
  const method = Smp.methodOf(mad)
  if (mad[0] !== 1) return "dropped"
  if (Smp.isResponse(mad) || method === Smp.method.trap || method === Smp.method.report) return "forAgents"
  const data = mad.slice(dataOffset)
  const reply = (status: number, answer: Uint8Array = data) => Smp.response(mad, status, answer, dataOffset)
  if (mad[2] !== 1) return reply(Smp.status.version)
  if (method !== Smp.method.get && method !== Smp.method.set) return reply(Smp.status.method)
  const isSet = method === Smp.method.set
  switch (Smp.attributeOf(mad)) {
    case ClassPortInfo.attributeId: {
      if (isSet) return reply(Smp.status.attribute)
      const capabilityMask = port.node.kind === "switch" ? allPortSelect | baseCapabilities : baseCapabilities
      return reply(
        Smp.status.ok,
        bytesOf(ClassPortInfo, { baseVersion: 1, classVersion: 1, capabilityMask, respTimeValue: 18 })
      )
    }
    case PortCounters.attributeId:
    case PortCountersExtended.attributeId: {
      const ports = portsOf(port, data[1] ?? 0)
      if (ports === undefined) return reply(Smp.status.field)
      const isExtended = Smp.attributeOf(mad) === PortCountersExtended.attributeId
      const select = Smp.viewOf(data).getUint16(2)
      if (isSet) { for (const { counters } of ports) reset(counters, isExtended ? extended : short, select) }
      const counters = ports.map(({ counters }) => counters)
      return reply(Smp.status.ok, isExtended ? extendedOf(data, counters) : shortOf(data, counters))
    }
    default:
      return reply(Smp.status.attribute)
  }
}

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

const dataOffset = 64

const allPortSelect = 0x0100
// IsExtendedWidthSupported and PortXmitWaitSupported
const baseCapabilities = 0x1200

const allPorts = 0xff

/** An adapter tells of the port that was asked, a switch of any or all of its ports. */
const portsOf = (port: Subnet.PortState, select: number): ReadonlyArray<Subnet.PortState> | undefined => {
  if (port.node.kind !== "switch") return select === port.number ? [port] : undefined
  if (select === allPorts) return port.node.ports
  const selected = Subnet.portOf(port.node, select)
  return selected === undefined ? undefined : [selected]
}

type Name = keyof Counters

/** By bit of CounterSelect. The others count nothing here. */
const short: ReadonlyArray<Name | undefined> = [
  undefined,
  undefined,
  "linkDowned",
  "rcvErrors",
  undefined,
  "rcvSwitchRelayErrors",
  "xmitDiscards",
  undefined,
  undefined,
  undefined,
  undefined,
  undefined,
  "xmitData",
  "rcvData",
  "xmitPkts",
  "rcvPkts"
]

const extended: ReadonlyArray<Name | undefined> = [
  "xmitData",
  "rcvData",
  "xmitPkts",
  "rcvPkts",
  "unicastXmitPkts",
  "unicastRcvPkts",
  "multicastXmitPkts",
  "multicastRcvPkts"
]

const reset = (counters: Counters, names: ReadonlyArray<Name | undefined>, select: number): void => {
  for (const [bit, name] of names.entries()) {
    if (name !== undefined && (select >>> bit & 1) === 1) counters[name] = 0
  }
}

const sum = (counters: ReadonlyArray<Counters>, name: Name): number =>
  counters.reduce((total, counters) => total + counters[name], 0)

/** They stop at their highest value. */
const narrow = (value: number, bits: number): number => Math.min(value, 2 ** bits - 1)

const shortOf = (data: Uint8Array, counters: ReadonlyArray<Counters>): Uint8Array =>
  bytesOf(PortCounters, {
    ...Result.getOrThrow(PortCounters.decode(data)),
    symbolErrorCounter: 0,
    linkErrorRecoveryCounter: 0,
    linkDownedCounter: narrow(sum(counters, "linkDowned"), 8),
    portRcvErrors: narrow(sum(counters, "rcvErrors"), 16),
    portRcvRemotePhysicalErrors: 0,
    portRcvSwitchRelayErrors: narrow(sum(counters, "rcvSwitchRelayErrors"), 16),
    portXmitDiscards: narrow(sum(counters, "xmitDiscards"), 16),
    portXmitConstraintErrors: 0,
    portRcvConstraintErrors: 0,
    localLinkIntegrityErrors: 0,
    excessiveBufferOverrunErrors: 0,
    qp1Dropped: 0,
    vl15Dropped: 0,
    portXmitData: narrow(sum(counters, "xmitData"), 32),
    portRcvData: narrow(sum(counters, "rcvData"), 32),
    portXmitPkts: narrow(sum(counters, "xmitPkts"), 32),
    portRcvPkts: narrow(sum(counters, "rcvPkts"), 32),
    portXmitWait: 0
  })

const extendedOf = (data: Uint8Array, counters: ReadonlyArray<Counters>): Uint8Array => {
  const { counterSelect, portSelect } = Result.getOrThrow(PortCountersExtended.decode(data))
  return bytesOf(PortCountersExtended, {
    portSelect,
    counterSelect,
    portXmitData: BigInt(sum(counters, "xmitData")),
    portRcvData: BigInt(sum(counters, "rcvData")),
    portXmitPkts: BigInt(sum(counters, "xmitPkts")),
    portRcvPkts: BigInt(sum(counters, "rcvPkts")),
    portUnicastXmitPkts: BigInt(sum(counters, "unicastXmitPkts")),
    portUnicastRcvPkts: BigInt(sum(counters, "unicastRcvPkts")),
    portMulticastXmitPkts: BigInt(sum(counters, "multicastXmitPkts")),
    portMulticastRcvPkts: BigInt(sum(counters, "multicastRcvPkts"))
  })
}
