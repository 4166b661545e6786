/**
 * What a switch can and does: the SwitchInfo attribute of subnet management.
 *
 * @since 0.1.0
 */
import * as Lid from "@effect-rdma/core/Lid"
import * as MadAttribute from "./MadAttribute.ts"
import * as MadField from "./MadField.ts"
import type * as MadLayout from "./MadLayout.ts"

/**
 * SwitchInfo: 20 bytes, the `switchinfo` of `smpquery(8)`. Only a switch has it.
 *
 * @category layouts
 * @since 0.1.0
 */
export const SwitchInfo = MadAttribute.make("SwitchInfo", 0x0012, 20, {
  linearFdbCap: MadField.unsigned(0, 16),
  randomFdbCap: MadField.unsigned(16, 16),
  multicastFdbCap: MadField.unsigned(32, 16),
  /** The highest LID that the linear forwarding table routes. */
  linearFdbTop: MadField.branded(48, 16, Lid.Lid),
  defaultPort: MadField.unsigned(64, 8),
  defaultMulticastPrimaryPort: MadField.unsigned(72, 8),
  defaultMulticastNotPrimaryPort: MadField.unsigned(80, 8),
  /** How long a packet may wait: the exponent of 4.096 µs; 20 and more is for ever. */
  lifeTimeValue: MadField.unsigned(88, 5),
  portStateChange: MadField.flag(93),
  optimizedSlToVlMappingProgramming: MadField.unsigned(94, 2),
  lidsPerPort: MadField.unsigned(96, 16),
  partitionEnforcementCap: MadField.unsigned(112, 16),
  inboundEnforcementCap: MadField.flag(128),
  outboundEnforcementCap: MadField.flag(129),
  filterRawInboundCap: MadField.flag(130),
  filterRawOutboundCap: MadField.flag(131),
  enhancedPort0: MadField.flag(132),
  multicastFdbTop: MadField.branded(144, 16, Lid.Lid)
})

/**
 * The type of {@link SwitchInfo}.
 *
 * @category models
 * @since 0.1.0
 */
export type SwitchInfo = MadLayout.Type<typeof SwitchInfo>
