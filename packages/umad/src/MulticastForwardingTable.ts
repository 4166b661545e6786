/**
 * Where a switch sends a multicast LID, 32 LIDs at a time: the MulticastForwardingTable attribute of subnet management.
 *
 * @since 0.1.0
 */
import * as MadAttribute from "./MadAttribute.ts"
import * as MadField from "./MadField.ts"
import type * as MadLayout from "./MadLayout.ts"

/**
 * MulticastForwardingTable: 64 bytes. The low 9 bits of the attribute modifier are the number of the block: block 1 begins
 * with LID 0xc020; its highest 4 bits are which 16 ports the masks are of.
 *
 * @category layouts
 * @since 0.1.0
 */
export const MulticastForwardingTable = MadAttribute.make("MulticastForwardingTable", 0x001b, 64, {
  /** The output ports of each of the 32 LIDs: bit n is port 16 × position + n. */
  portMasks: MadField.array(0, 16, 32, MadField.unsigned)
})

/**
 * The type of {@link MulticastForwardingTable}.
 *
 * @category models
 * @since 0.1.0
 */
export type MulticastForwardingTable = MadLayout.Type<typeof MulticastForwardingTable>
