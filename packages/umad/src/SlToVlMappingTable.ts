/**
 * Which virtual lane each service level takes: the SLtoVLMappingTable attribute of subnet management.
 *
 * @since 0.1.0
 */
import * as MadAttribute from "./MadAttribute.ts"
import * as MadField from "./MadField.ts"
import type * as MadLayout from "./MadLayout.ts"

/**
 * SLtoVLMappingTable: 8 bytes, the `sl2vl` of `smpquery(8)`. On a switch the attribute modifier has the input port in bits
 * 8 to 15 and the output port in bits 0 to 7.
 *
 * @category layouts
 * @since 0.1.0
 */
export const SlToVlMappingTable = MadAttribute.make("SLtoVLMappingTable", 0x0017, 8, {
  /** The virtual lane of each of the 16 service levels; 15 drops the packet. */
  vls: MadField.array(0, 4, 16, MadField.unsigned)
})

/**
 * The type of {@link SlToVlMappingTable}.
 *
 * @category models
 * @since 0.1.0
 */
export type SlToVlMappingTable = MadLayout.Type<typeof SlToVlMappingTable>
