/**
 * Where a switch sends a LID, 64 LIDs at a time: the LinearForwardingTable attribute of subnet management.
 *
 * @since 0.1.0
 */
import * as Identifier from "@effect-rdma/core/Identifier"
import * as MadAttribute from "./MadAttribute.ts"
import * as MadField from "./MadField.ts"
import type * as MadLayout from "./MadLayout.ts"

/**
 * LinearForwardingTable: 64 bytes. The attribute modifier is the number of the block: block 1 begins with LID 64.
 *
 * @category layouts
 * @since 0.1.0
 */
export const LinearForwardingTable = MadAttribute.make("LinearForwardingTable", 0x0019, 64, {
  /** The output port of each of the 64 LIDs; 255 drops the packet. */
  ports: MadField.array(0, 8, 64, (bit, width) => MadField.branded(bit, width, Identifier.AnyPortNumber))
})

/**
 * The type of {@link LinearForwardingTable}.
 *
 * @category models
 * @since 0.1.0
 */
export type LinearForwardingTable = MadLayout.Type<typeof LinearForwardingTable>
