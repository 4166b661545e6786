import * as Lid from "@effect-rdma/core/Lid"
import type { PortInfo } from "@effect-rdma/umad/PortInfo"
import * as Smp from "./smp.ts"
import * as Subnet from "./subnet.ts"

/** Sets what a manager may set of a port, all or nothing. Zero leaves alone what has no zero. */
export const set = (subnet: Subnet.SubnetState, port: Subnet.PortState, wanted: PortInfo): number => {
  const { info } = port
  const remote = Subnet.remoteOf(port)
  const isEndPort = Subnet.endPortOf(port) === port
  const isLinked = info.portPhysicalState === "linkUp" && remote?.info.portPhysicalState === "linkUp"
  if (isEndPort && !(Lid.isUnicast(wanted.lid) && Lid.isUnicast(wanted.masterSmLid))) return Smp.status.field
  if (wanted.operationalVls > info.vlCap) return Smp.status.field
  if (!allowsState(info, remote?.info, wanted.portState, isLinked)) return Smp.status.field

  Subnet.update(port, {
    ...(isEndPort ? { lid: wanted.lid, lmc: wanted.lmc, masterSmLid: wanted.masterSmLid } : undefined),
    masterSmSl: wanted.masterSmSl,
    gidPrefix: wanted.gidPrefix,
    mKey: wanted.mKey,
    mKeyLeasePeriod: wanted.mKeyLeasePeriod,
    mKeyProtectBits: wanted.mKeyProtectBits,
    linkWidthEnabled: among(wanted.linkWidthEnabled, info.linkWidthEnabled, info.linkWidthSupported, 0xff),
    linkSpeedEnabled: among(wanted.linkSpeedEnabled, info.linkSpeedEnabled, info.linkSpeedSupported, 0xf),
    linkSpeedExtEnabled: among(wanted.linkSpeedExtEnabled, info.linkSpeedExtEnabled, info.linkSpeedExtSupported, 0x1f),
    linkDownDefaultState: wanted.linkDownDefaultState || info.linkDownDefaultState,
    neighborMtu: wanted.neighborMtu || info.neighborMtu,
    vlHighLimit: wanted.vlHighLimit,
    hoqLife: wanted.hoqLife,
    vlStallCount: wanted.vlStallCount || info.vlStallCount,
    operationalVls: wanted.operationalVls || info.operationalVls,
    partitionEnforcementInbound: wanted.partitionEnforcementInbound,
    partitionEnforcementOutbound: wanted.partitionEnforcementOutbound,
    filterRawInbound: wanted.filterRawInbound,
    filterRawOutbound: wanted.filterRawOutbound,
    mKeyViolations: reset(wanted.mKeyViolations, info.mKeyViolations),
    pKeyViolations: reset(wanted.pKeyViolations, info.pKeyViolations),
    qKeyViolations: reset(wanted.qKeyViolations, info.qKeyViolations),
    subnetTimeout: wanted.subnetTimeout,
    localPhyErrors: wanted.localPhyErrors,
    overrunErrors: wanted.overrunErrors
  })
  if (wanted.clientReregister) Subnet.update(port, { clientReregister: true })
  Subnet.update(port, { clientReregister: false })
  if (wanted.portPhysicalState === "polling" || wanted.portPhysicalState === "sleep") Subnet.retrain(subnet, port)
  if (wanted.portPhysicalState === "disabled") Subnet.disable(subnet, port)
  if (wanted.portState === "down") Subnet.retrain(subnet, port)
  if (wanted.portState === "armed" || wanted.portState === "active") {
    Subnet.update(port, { portState: wanted.portState })
  }
  return Smp.status.ok
}

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

/** Zero changes nothing, all ones stand for what is supported. */
const among = (wanted: number, before: number, supported: number, all: number): number =>
  wanted === 0 ? before : wanted === all ? supported : wanted & supported || before

/** What counts violations can only be set to zero. */
const reset = (wanted: number, before: number): number => wanted === 0 ? 0 : before

// From init to armed to active, and never two steps ahead of the other end.
const allowsState = (
  info: PortInfo,
  remote: PortInfo | undefined,
  wanted: PortInfo["portState"],
  isLinked: boolean
): boolean => {
  switch (wanted) {
    case "nop":
    case "down":
      return true
    case "armed":
      return isLinked && (info.portState === "init" || info.portState === "active")
    case "active":
      return isLinked && info.portState === "armed" && (remote?.portState === "armed" || remote?.portState === "active")
    default:
      return false
  }
}
