/**
 * The P_Keys of a port, 32 at a time: the P_KeyTable attribute of subnet management.
 *
 * @since 0.1.0
 */
import * as PKey from "@effect-rdma/core/PKey"
import * as MadAttribute from "./MadAttribute.ts"
import * as MadField from "./MadField.ts"
import type * as MadLayout from "./MadLayout.ts"

/**
 * P_KeyTable: 64 bytes, the `pkeys` of `smpquery(8)`. The low 16 bits of the attribute modifier are the number of the block
 * of 32 P_Keys, on a switch the high 16 bits the port.
 *
 * @category layouts
 * @since 0.1.0
 */
export const PKeyTable = MadAttribute.make("P_KeyTable", 0x0016, 64, {
  /** 32 of them; 0 is an empty entry. */
  pKeys: MadField.array(0, 16, 32, (bit, width) => MadField.branded(bit, width, PKey.PKey))
})

/**
 * The type of {@link PKeyTable}.
 *
 * @category models
 * @since 0.1.0
 */
export type PKeyTable = MadLayout.Type<typeof PKeyTable>
