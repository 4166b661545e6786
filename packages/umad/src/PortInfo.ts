/**
 * What a port can and does: the PortInfo attribute of subnet management.
 *
 * @since 0.1.0
 */
import * as Identifier from "@effect-rdma/core/Identifier"
import * as Lid from "@effect-rdma/core/Lid"
import * as Mtu from "@effect-rdma/core/Mtu"
import * as PhysicalState from "@effect-rdma/core/PhysicalState"
import * as PortState from "@effect-rdma/core/PortState"
import * as MadAttribute from "./MadAttribute.ts"
import * as MadField from "./MadField.ts"
import type * as MadLayout from "./MadLayout.ts"

/**
 * PortInfo: 64 bytes, the `portinfo` of `smpquery(8)`. The attribute modifier is the port number; 0 is the management port
 * of a switch and the answering port of an adapter.
 *
 * A link width is a mask of 1X (1), 4X (2), 8X (4), 12X (8) and 2X (16), a link speed one of 2.5 (1), 5 (2) and 10 (4)
 * Gb/s, an extended one of 14.0625 (1), 25.78125 (2), 53.125 (4) and 106.25 (8) Gb/s for each lane. Times are the
 * exponents of 4.096 µs.
 *
 * @category layouts
 * @since 0.1.0
 */
export const PortInfo = MadAttribute.make("PortInfo", 0x0015, 64, {
  mKey: MadField.unsigned64(0),
  gidPrefix: MadField.unsigned64(64),
  lid: MadField.branded(128, 16, Lid.Lid),
  masterSmLid: MadField.branded(144, 16, Lid.Lid),
  capabilityMask: MadField.unsigned(160, 32),
  diagCode: MadField.unsigned(192, 16),
  /** Seconds; 0 never ends. */
  mKeyLeasePeriod: MadField.unsigned(208, 16),
  /** The port that answered. */
  localPortNum: MadField.branded(224, 8, Identifier.AnyPortNumber),
  linkWidthEnabled: MadField.unsigned(232, 8),
  linkWidthSupported: MadField.unsigned(240, 8),
  linkWidthActive: MadField.unsigned(248, 8),
  linkSpeedSupported: MadField.unsigned(256, 4),
  portState: MadField.enumerated(260, 4, PortState.enumeration),
  portPhysicalState: MadField.enumerated(264, 4, PhysicalState.enumeration),
  /** 1 is Sleep, 2 is Polling. */
  linkDownDefaultState: MadField.unsigned(268, 4),
  mKeyProtectBits: MadField.unsigned(272, 2),
  lmc: MadField.unsigned(277, 3),
  linkSpeedActive: MadField.unsigned(280, 4),
  linkSpeedEnabled: MadField.unsigned(284, 4),
  neighborMtu: MadField.enumerated(288, 4, Mtu.enumeration),
  masterSmSl: MadField.branded(292, 4, Identifier.ServiceLevel),
  /** 1 is VL0 alone, 2 is VL0-1, 3 is VL0-3, 4 is VL0-7, 5 is VL0-14. */
  vlCap: MadField.unsigned(296, 4),
  initType: MadField.unsigned(300, 4),
  vlHighLimit: MadField.unsigned(304, 8),
  vlArbitrationHighCap: MadField.unsigned(312, 8),
  vlArbitrationLowCap: MadField.unsigned(320, 8),
  initTypeReply: MadField.unsigned(328, 4),
  mtuCap: MadField.enumerated(332, 4, Mtu.enumeration),
  vlStallCount: MadField.unsigned(336, 3),
  hoqLife: MadField.unsigned(339, 5),
  /** As `vlCap` counts. */
  operationalVls: MadField.unsigned(344, 4),
  partitionEnforcementInbound: MadField.flag(348),
  partitionEnforcementOutbound: MadField.flag(349),
  filterRawInbound: MadField.flag(350),
  filterRawOutbound: MadField.flag(351),
  mKeyViolations: MadField.unsigned(352, 16),
  pKeyViolations: MadField.unsigned(368, 16),
  qKeyViolations: MadField.unsigned(384, 16),
  guidCap: MadField.unsigned(400, 8),
  clientReregister: MadField.flag(408),
  multicastPKeyTrapSuppressionEnabled: MadField.unsigned(409, 2),
  subnetTimeout: MadField.unsigned(411, 5),
  respTimeValue: MadField.unsigned(419, 5),
  localPhyErrors: MadField.unsigned(424, 4),
  overrunErrors: MadField.unsigned(428, 4),
  maxCreditHint: MadField.unsigned(432, 16),
  /** In units of 4 ns. */
  linkRoundTripLatency: MadField.unsigned(456, 24),
  capabilityMask2: MadField.unsigned(480, 16),
  linkSpeedExtActive: MadField.unsigned(496, 4),
  linkSpeedExtSupported: MadField.unsigned(500, 4),
  linkSpeedExtEnabled: MadField.unsigned(507, 5)
})

/**
 * The type of {@link PortInfo}.
 *
 * @category models
 * @since 0.1.0
 */
export type PortInfo = MadLayout.Type<typeof PortInfo>
