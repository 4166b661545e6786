/**
 * A MAD of subnet management, routed by LID: `struct umad_smp` of `infiniband/umad_sm.h`.
 *
 * @since 0.1.0
 */
import * as MadField from "./MadField.ts"
import * as MadHeader from "./MadHeader.ts"
import * as MadLayout from "./MadLayout.ts"

/**
 * A subnet management packet: 256 bytes.
 *
 * @category layouts
 * @since 0.1.0
 */
export const Smp = MadLayout.make("SMP", 256, {
  ...MadHeader.MadHeader.fields,
  mKey: MadField.unsigned64(192),
  /** The attribute. */
  data: MadField.bytes(512, 64)
})

/**
 * The type of {@link Smp}.
 *
 * @category models
 * @since 0.1.0
 */
export type Smp = MadLayout.Type<typeof Smp>
