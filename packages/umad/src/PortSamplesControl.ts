/**
 * A sampling of counters over an interval: the PortSamplesControl attribute of performance management.
 *
 * @since 0.1.0
 */
import * as Identifier from "@effect-rdma/core/Identifier"
import * as MadAttribute from "./MadAttribute.ts"
import * as MadField from "./MadField.ts"
import type * as MadLayout from "./MadLayout.ts"

/**
 * PortSamplesControl: 80 bytes, the `--smplctl` of `perfquery(8)`.
 *
 * @category layouts
 * @since 0.1.0
 */
export const PortSamplesControl = MadAttribute.make("PortSamplesControl", 0x0010, 80, {
  opCode: MadField.unsigned(0, 8),
  portSelect: MadField.branded(8, 8, Identifier.AnyPortNumber),
  tick: MadField.unsigned(16, 8),
  counterWidth: MadField.unsigned(29, 3),
  counterMask0: MadField.unsigned(34, 3),
  counterMasks1to9: MadField.unsigned(37, 27),
  counterMasks10to14: MadField.unsigned(65, 15),
  sampleMechanisms: MadField.unsigned(80, 8),
  /** 0 is done, 1 is started and waiting, 2 is running. */
  sampleStatus: MadField.unsigned(94, 2),
  optionMask: MadField.unsigned64(96),
  vendorMask: MadField.unsigned64(160),
  /** In units of `tick`. */
  sampleStart: MadField.unsigned(224, 32),
  /** In units of `tick`. */
  sampleInterval: MadField.unsigned(256, 32),
  tag: MadField.unsigned(288, 16),
  /** What each of the 15 counters counts. */
  counterSelects: MadField.array(304, 16, 15, MadField.unsigned),
  samplesOnlyOptionMask: MadField.unsigned64(576)
})

/**
 * The type of {@link PortSamplesControl}.
 *
 * @category models
 * @since 0.1.0
 */
export type PortSamplesControl = MadLayout.Type<typeof PortSamplesControl>
