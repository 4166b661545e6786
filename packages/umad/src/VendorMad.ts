/**
 * A MAD of a vendor's class 0x30 to 0x4f: `struct umad_vendor_packet` of `infiniband/umad_types.h`.
 *
 * @since 0.1.0
 */
import * as MadField from "./MadField.ts"
import * as MadHeader from "./MadHeader.ts"
import * as MadLayout from "./MadLayout.ts"
import * as RmppHeader from "./RmppHeader.ts"

/**
 * A packet of a vendor's class with RMPP and an OUI: 256 bytes. The older classes 0x09 to 0x0f have neither: {@link VendorMad1}.
 *
 * @category layouts
 * @since 0.1.0
 */
export const VendorMad = MadLayout.make("VendorMAD", 256, {
  ...MadHeader.MadHeader.fields,
  ...RmppHeader.RmppHeader.fields,
  /** Whose class it is: an OUI of the IEEE. */
  oui: MadField.unsigned(296, 24),
  /** The vendor's own. */
  data: MadField.bytes(320, 216)
})

/**
 * The type of {@link VendorMad}.
 *
 * @category models
 * @since 0.1.0
 */
export type VendorMad = MadLayout.Type<typeof VendorMad>

/**
 * A packet of a vendor's class 0x09 to 0x0f: 256 bytes.
 *
 * @category layouts
 * @since 0.1.0
 */
export const VendorMad1 = MadLayout.make("VendorMAD1", 256, {
  ...MadHeader.MadHeader.fields,
  /** The vendor's own. */
  data: MadField.bytes(192, 232)
})

/**
 * The type of {@link VendorMad1}.
 *
 * @category models
 * @since 0.1.0
 */
export type VendorMad1 = MadLayout.Type<typeof VendorMad1>
