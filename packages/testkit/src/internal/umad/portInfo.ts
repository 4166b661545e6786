import * as LinkSpeed from "@effect-rdma/core/LinkSpeed"
import * as LinkWidth from "@effect-rdma/core/LinkWidth"
import { PortInfo } from "@effect-rdma/umad/PortInfo"
import * as SubnetTopology from "@effect-rdma/umad/SubnetTopology"
import * as Result from "effect/Result"
import type * as Topology from "../../Topology.ts"

// What ports report is what ibsim 0.10 has for them, until a subnet manager sets it.

/** Of a port of a switch that leads outside. */
export const external = (link: SubnetTopology.Link | undefined, enabled = enabledOf(link)): PortInfo => ({
  ...running(link, enabled),
  neighborMtu: 2048,
  vlCap: 4,
  mtuCap: 2048,
  vlStallCount: 7,
  operationalVls: 4,
  localPhyErrors: link === undefined ? 4 : 0
})

/** Of port 0 of a switch, which is always active. */
export const management = ({ enabled, lid, lmc }: Pick<SubnetTopology.Port, "lid" | "lmc" | "enabled">): PortInfo => ({
  ...running(undefined, enabled ?? enabledOf(undefined)),
  portState: "active",
  portPhysicalState: "linkUp",
  gidPrefix: defaultPrefix,
  lid,
  lmc,
  capabilityMask: 0xc048,
  mKeyLeasePeriod,
  neighborMtu: 256,
  vlCap: 4,
  mtuCap: 1024,
  operationalVls: 4,
  guidCap: 1,
  subnetTimeout: 31,
  respTimeValue: 8,
  capabilityMask2
})

/** Of a port of an adapter or a router, which is what its device says where it has one. */
export const endPort = (
  { lid, link, lmc, enabled = enabledOf(link) }: Pick<SubnetTopology.Port, "lid" | "lmc" | "enabled" | "link">,
  description: Topology.Port | undefined
): PortInfo => ({
  ...running(link, enabled),
  gidPrefix: defaultPrefix,
  lid: description?.lid ?? lid,
  lmc: Math.min(description?.lmc ?? lmc, 7),
  capabilityMask: description?.portCapFlags ?? (link === undefined ? 0x0010_c048 : 0x0050_c048),
  mKeyLeasePeriod,
  neighborMtu: mtu(description?.activeMtu),
  vlCap: (description?.maxVlNum ?? 4) & 0xf,
  mtuCap: mtu(description?.maxMtu),
  vlStallCount: 7,
  operationalVls: (description?.maxVlNum ?? 4) & 0xf,
  guidCap: Math.min(description?.gidTblLen ?? 32, 0xff),
  subnetTimeout: (description?.subnetTimeout ?? 31) & 0x1f,
  capabilityMask2
})

/** The speed that both fields of a PortInfo tell together. */
export const speedOf = (info: PortInfo): LinkSpeed.LinkSpeed =>
  LinkSpeed.fromNative(info.linkSpeedExtActive === 0 ? info.linkSpeedActive : info.linkSpeedExtActive * fdr)

export const defaultPrefix = 0xfe80_0000_0000_0000n

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

const zero = Result.getOrThrow(PortInfo.decode(new Uint8Array(PortInfo.size)))

const fdr = LinkSpeed.toNative("fdr")

// Seconds.
const mKeyLeasePeriod = 0xff9
// IsLinkWidth2xSupported and IsLinkSpeedHDRSupported
const capabilityMask2 = 0x30

const mtu = (reported: Topology.Port["maxMtu"] | undefined) =>
  reported === undefined || reported === "unknown" ? 2048 : reported

/** Of a port without a link: what ibsim enables where a file says nothing. */
const enabledOf = (link: SubnetTopology.Link | undefined): SubnetTopology.Enabled =>
  link === undefined ? { width: 2, speed: 1, extendedSpeed: 0 } : SubnetTopology.enabledFor(link)

const running = (link: SubnetTopology.Link | undefined, enabled: SubnetTopology.Enabled): PortInfo => {
  const speed = link === undefined || link.speed === "unknown"
    ? LinkSpeed.toNative("sdr")
    : LinkSpeed.toNative(link.speed)
  const extended = speed < fdr ? 0 : speed / fdr
  const qdr = LinkSpeed.toNative("qdr")
  return {
    ...zero,
    linkWidthEnabled: enabled.width,
    linkWidthSupported: 0x1f,
    linkWidthActive: link === undefined || link.width === "unknown"
      ? LinkWidth.toNative("4x")
      : LinkWidth.toNative(link.width),
    linkSpeedSupported: 7,
    portState: link === undefined ? "down" : "init",
    portPhysicalState: link === undefined ? "polling" : "linkUp",
    linkDownDefaultState: 2,
    linkSpeedActive: Math.min(speed, qdr),
    linkSpeedEnabled: enabled.speed,
    vlArbitrationHighCap: 8,
    vlArbitrationLowCap: 8,
    linkSpeedExtActive: extended,
    linkSpeedExtSupported: extended === 0 ? 0 : extended > 4 ? 15 : 7,
    linkSpeedExtEnabled: extended === 0 ? 0 : enabled.extendedSpeed
  }
}
