/**
 * How to reach a management class on a port: the ClassPortInfo attribute of every class but subnet management.
 *
 * @since 0.1.0
 */
import * as Identifier from "@effect-rdma/core/Identifier"
import * as Lid from "@effect-rdma/core/Lid"
import * as PKey from "@effect-rdma/core/PKey"
import * as MadAttribute from "./MadAttribute.ts"
import * as MadField from "./MadField.ts"
import type * as MadLayout from "./MadLayout.ts"

/**
 * ClassPortInfo: 72 bytes, the `perfquery -c` of `perfquery(8)` and the `CPI` of `saquery(8)`.
 *
 * @category layouts
 * @since 0.1.0
 */
export const ClassPortInfo = MadAttribute.make("ClassPortInfo", 0x0001, 72, {
  baseVersion: MadField.unsigned(0, 8),
  classVersion: MadField.unsigned(8, 8),
  capabilityMask: MadField.unsigned(16, 16),
  capabilityMask2: MadField.unsigned(32, 27),
  /** How long an answer may take: the exponent of 4.096 µs. */
  respTimeValue: MadField.unsigned(59, 5),
  redirectGid: MadField.gid(64),
  redirectTrafficClass: MadField.branded(192, 8, Identifier.TrafficClass),
  redirectSl: MadField.branded(200, 4, Identifier.ServiceLevel),
  redirectFlowLabel: MadField.branded(204, 20, Identifier.FlowLabel),
  redirectLid: MadField.branded(224, 16, Lid.Lid),
  redirectPKey: MadField.branded(240, 16, PKey.PKey),
  redirectQp: MadField.branded(264, 24, Identifier.Qpn),
  redirectQKey: MadField.branded(288, 32, Identifier.QKey),
  trapGid: MadField.gid(320),
  trapTrafficClass: MadField.branded(448, 8, Identifier.TrafficClass),
  trapSl: MadField.branded(456, 4, Identifier.ServiceLevel),
  trapFlowLabel: MadField.branded(460, 20, Identifier.FlowLabel),
  trapLid: MadField.branded(480, 16, Lid.Lid),
  trapPKey: MadField.branded(496, 16, PKey.PKey),
  trapHopLimit: MadField.branded(512, 8, Identifier.HopLimit),
  trapQp: MadField.branded(520, 24, Identifier.Qpn),
  trapQKey: MadField.branded(544, 32, Identifier.QKey)
})

/**
 * The type of {@link ClassPortInfo}.
 *
 * @category models
 * @since 0.1.0
 */
export type ClassPortInfo = MadLayout.Type<typeof ClassPortInfo>
