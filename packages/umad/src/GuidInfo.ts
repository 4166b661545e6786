/**
 * The GUIDs of a port, eight at a time: the GUIDInfo attribute of subnet management.
 *
 * @since 0.1.0
 */
import * as Guid from "@effect-rdma/core/Guid"
import * as MadAttribute from "./MadAttribute.ts"
import * as MadField from "./MadField.ts"
import type * as MadLayout from "./MadLayout.ts"

/**
 * GUIDInfo: 64 bytes, the `guidinfo` of `smpquery(8)`. The attribute modifier is the number of the block of 8 GUIDs.
 *
 * @category layouts
 * @since 0.1.0
 */
export const GuidInfo = MadAttribute.make("GUIDInfo", 0x0014, 64, {
  /** 8 of them; 0 is an empty entry. */
  guids: MadField.array(0, 64, 8, (bit) => MadField.unsigned64(bit, Guid.Guid))
})

/**
 * The type of {@link GuidInfo}.
 *
 * @category models
 * @since 0.1.0
 */
export type GuidInfo = MadLayout.Type<typeof GuidInfo>
