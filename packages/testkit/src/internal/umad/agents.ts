import type * as Errno from "@effect-rdma/core/Errno"
import type { AgentId, RegistrationAttributes } from "@effect-rdma/umad/Umad"

/** An agent as the kernel keeps it. `qpn` is 0 or 1; `highTid` tells its requests from those of all other agents. */
export interface Agent extends RegistrationAttributes {
  readonly id: AgentId
  readonly highTid: number
  readonly qpn: number
}

export const maximumAgents = 32

export const isSubnetManagement = (mgmtClass: number): boolean => mgmtClass === 0x01 || mgmtClass === 0x81

export const isVendorClass = (mgmtClass: number): boolean => mgmtClass >= 0x30 && mgmtClass <= 0x4f

/** Of which messages may have several packets. */
export const isRmppClass = (mgmtClass: number): boolean => rmppClasses.has(mgmtClass) || isVendorClass(mgmtClass)

const rmppClasses = new Set([0x03, 0x06, 0x10, 0x12])

// MAX_MGMT_CLASS and MAX_MGMT_VERSION of the kernel.
const classes = 80
const versions = 131
const directedRoute = 0x81
const flags = 1

/**
 * The errno with which the kernel refuses an agent beside those that there are on the port, of any process. Class 0 is an
 * agent of no class: it can send anything, and gets responses alone.
 */
export const refusalOf = (
  wanted: RegistrationAttributes,
  hasSubnetManagement: boolean,
  others: Iterable<Agent>
): Errno.ErrnoName | undefined => {
  const { mgmtClass, mgmtClassVersion, oui, rmppVersion } = wanted
  if ((wanted.flags & ~flags) !== 0 || rmppVersion > 1) return "EINVAL"
  if (mgmtClass === 0) return wanted.flags === 0 ? undefined : "EINVAL"
  if (mgmtClassVersion >= versions) return "EINVAL"
  if (mgmtClass >= classes && mgmtClass !== directedRoute) return "EINVAL"
  if (isVendorClass(mgmtClass) && oui === 0) return "EINVAL"
  if (!isRmppClass(mgmtClass) && rmppVersion !== 0) return "EINVAL"
  if (!hasSubnetManagement && isSubnetManagement(mgmtClass)) return "EPROTONOSUPPORT"
  for (const other of others) {
    if (
      other.mgmtClass === mgmtClass && other.mgmtClassVersion === mgmtClassVersion &&
      (!isVendorClass(mgmtClass) || other.oui === oui) && (other.methodMask & wanted.methodMask) !== 0n
    ) return "EINVAL"
  }
  return undefined
}

/** Whether an agent asked for the unsolicited MADs of which this is one. */
export const wants = (agent: Agent, mad: Uint8Array, qpn: number): boolean =>
  agent.qpn === qpn && agent.mgmtClass === mad[1] && agent.mgmtClassVersion === mad[2] &&
  (!isVendorClass(agent.mgmtClass) || agent.oui === ouiOf(mad)) &&
  ((agent.methodMask >> BigInt((mad[3] ?? 0) & 0x7f)) & 1n) === 1n

const ouiOf = (mad: Uint8Array): number => ((mad[37] ?? 0) << 16) | ((mad[38] ?? 0) << 8) | (mad[39] ?? 0)
