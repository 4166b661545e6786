/**
 * A MAD of subnet administration: `struct umad_sa_packet` of `infiniband/umad_sa.h`.
 *
 * @since 0.1.0
 */
import * as MadField from "./MadField.ts"
import * as MadHeader from "./MadHeader.ts"
import * as MadLayout from "./MadLayout.ts"
import * as RmppHeader from "./RmppHeader.ts"

/**
 * The byte at which the first record begins.
 *
 * @category constants
 * @since 0.1.0
 */
export const dataOffset = 56

/**
 * What is before the records: the first 56 bytes of every packet and of every message of several.
 *
 * @category layouts
 * @since 0.1.0
 */
export const SaHeader = MadLayout.make("SAHeader", dataOffset, {
  ...MadHeader.MadHeader.fields,
  ...RmppHeader.RmppHeader.fields,
  smKey: MadField.unsigned64(288),
  /** From one record to the next, in units of 8 bytes. */
  attributeOffset: MadField.unsigned(352, 16),
  componentMask: MadField.unsigned64(384)
})

/**
 * The type of {@link SaHeader}.
 *
 * @category models
 * @since 0.1.0
 */
export type SaHeader = MadLayout.Type<typeof SaHeader>

/**
 * A packet of subnet administration: 256 bytes. An answer of many records is longer: the kernel joins its segments, and the
 * records follow each other from byte {@link dataOffset} on.
 *
 * @category layouts
 * @since 0.1.0
 */
export const SaMad = MadLayout.make("SAMAD", 256, {
  ...SaHeader.fields,
  /** The attribute. */
  data: MadField.bytes(8 * dataOffset, 200)
})

/**
 * The type of {@link SaMad}.
 *
 * @category models
 * @since 0.1.0
 */
export type SaMad = MadLayout.Type<typeof SaMad>
