/**
 * A MAD of performance management.
 *
 * @since 0.1.0
 */
import * as MadField from "./MadField.ts"
import * as MadHeader from "./MadHeader.ts"
import * as MadLayout from "./MadLayout.ts"

/**
 * A packet of performance management: 256 bytes.
 *
 * @category layouts
 * @since 0.1.0
 */
export const PerformanceMad = MadLayout.make("PerformanceMAD", 256, {
  ...MadHeader.MadHeader.fields,
  /** The attribute. */
  data: MadField.bytes(512, 192)
})

/**
 * The type of {@link PerformanceMad}.
 *
 * @category models
 * @since 0.1.0
 */
export type PerformanceMad = MadLayout.Type<typeof PerformanceMad>
