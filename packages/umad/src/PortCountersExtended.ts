/**
 * The counters of a port in 64 bits, which wrap around: the PortCountersExtended attribute of performance management.
 *
 * @since 0.1.0
 */
import * as Identifier from "@effect-rdma/core/Identifier"
import * as MadAttribute from "./MadAttribute.ts"
import * as MadField from "./MadField.ts"
import type * as MadLayout from "./MadLayout.ts"

/**
 * PortCountersExtended: 184 bytes, what `perfquery -x` of `perfquery(8)` prints. Data is counted in units of 4 bytes. A port
 * without additional extended counters leaves those from `symbolErrorCounter` on zero.
 *
 * @category layouts
 * @since 0.1.0
 */
export const PortCountersExtended = MadAttribute.make("PortCountersExtended", 0x001d, 184, {
  portSelect: MadField.branded(8, 8, Identifier.AnyPortNumber),
  counterSelect: MadField.unsigned(16, 16),
  counterSelect2: MadField.unsigned(32, 32),
  portXmitData: MadField.unsigned64(64),
  portRcvData: MadField.unsigned64(128),
  portXmitPkts: MadField.unsigned64(192),
  portRcvPkts: MadField.unsigned64(256),
  portUnicastXmitPkts: MadField.unsigned64(320),
  portUnicastRcvPkts: MadField.unsigned64(384),
  portMulticastXmitPkts: MadField.unsigned64(448),
  portMulticastRcvPkts: MadField.unsigned64(512),
  symbolErrorCounter: MadField.unsigned64(576),
  linkErrorRecoveryCounter: MadField.unsigned64(640),
  linkDownedCounter: MadField.unsigned64(704),
  portRcvErrors: MadField.unsigned64(768),
  portRcvRemotePhysicalErrors: MadField.unsigned64(832),
  portRcvSwitchRelayErrors: MadField.unsigned64(896),
  portXmitDiscards: MadField.unsigned64(960),
  portXmitConstraintErrors: MadField.unsigned64(1024),
  portRcvConstraintErrors: MadField.unsigned64(1088),
  localLinkIntegrityErrors: MadField.unsigned64(1152),
  excessiveBufferOverrunErrors: MadField.unsigned64(1216),
  vl15Dropped: MadField.unsigned64(1280),
  portXmitWait: MadField.unsigned64(1344),
  qp1Dropped: MadField.unsigned64(1408)
})

/**
 * The type of {@link PortCountersExtended}.
 *
 * @category models
 * @since 0.1.0
 */
export type PortCountersExtended = MadLayout.Type<typeof PortCountersExtended>
