/**
 * What every MAD begins with: `struct umad_hdr` of `infiniband/umad_types.h`.
 *
 * @since 0.1.0
 */
import * as MadField from "./MadField.ts"
import * as MadLayout from "./MadLayout.ts"
import * as MadMethod from "./MadMethod.ts"
import * as ManagementClass from "./ManagementClass.ts"

/**
 * The header: 24 bytes.
 *
 * @category layouts
 * @since 0.1.0
 */
export const MadHeader = MadLayout.make("MADHeader", 24, {
  baseVersion: MadField.unsigned(0, 8),
  mgmtClass: MadField.enumerated(8, 8, ManagementClass.enumeration),
  classVersion: MadField.unsigned(16, 8),
  /** With the response bit 0x80. */
  method: MadField.enumerated(24, 8, MadMethod.enumeration),
  /** 0 is success; of a directed route its highest bit is the direction. */
  status: MadField.unsigned(32, 16),
  classSpecific: MadField.unsigned(48, 16),
  /** The kernel takes the high 32 bits for itself. */
  transactionId: MadField.unsigned64(64),
  attributeId: MadField.unsigned(128, 16),
  attributeModifier: MadField.unsigned(160, 32)
})

/**
 * The type of {@link MadHeader}.
 *
 * @category models
 * @since 0.1.0
 */
export type MadHeader = MadLayout.Type<typeof MadHeader>
