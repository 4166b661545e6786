/**
 * The counters of a port that stop at their highest value: the PortCounters attribute of performance management.
 *
 * @since 0.1.0
 */
import * as Identifier from "@effect-rdma/core/Identifier"
import * as MadAttribute from "./MadAttribute.ts"
import * as MadField from "./MadField.ts"
import type * as MadLayout from "./MadLayout.ts"

/**
 * PortCounters: 44 bytes, what `perfquery(8)` prints. Data is counted in units of 4 bytes. `portSelect` is the port, 255 all
 * of them; in a Set the counters that `counterSelect` names are written.
 *
 * @category layouts
 * @since 0.1.0
 */
export const PortCounters = MadAttribute.make("PortCounters", 0x0012, 44, {
  portSelect: MadField.branded(8, 8, Identifier.AnyPortNumber),
  counterSelect: MadField.unsigned(16, 16),
  symbolErrorCounter: MadField.unsigned(32, 16),
  linkErrorRecoveryCounter: MadField.unsigned(48, 8),
  linkDownedCounter: MadField.unsigned(56, 8),
  portRcvErrors: MadField.unsigned(64, 16),
  portRcvRemotePhysicalErrors: MadField.unsigned(80, 16),
  portRcvSwitchRelayErrors: MadField.unsigned(96, 16),
  portXmitDiscards: MadField.unsigned(112, 16),
  portXmitConstraintErrors: MadField.unsigned(128, 8),
  portRcvConstraintErrors: MadField.unsigned(136, 8),
  counterSelect2: MadField.unsigned(144, 8),
  localLinkIntegrityErrors: MadField.unsigned(152, 4),
  excessiveBufferOverrunErrors: MadField.unsigned(156, 4),
  qp1Dropped: MadField.unsigned(160, 16),
  vl15Dropped: MadField.unsigned(176, 16),
  portXmitData: MadField.unsigned(192, 32),
  portRcvData: MadField.unsigned(224, 32),
  portXmitPkts: MadField.unsigned(256, 32),
  portRcvPkts: MadField.unsigned(288, 32),
  portXmitWait: MadField.unsigned(320, 32)
})

/**
 * The type of {@link PortCounters}.
 *
 * @category models
 * @since 0.1.0
 */
export type PortCounters = MadLayout.Type<typeof PortCounters>
