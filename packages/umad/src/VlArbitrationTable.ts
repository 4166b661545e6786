/**
 * In which shares the virtual lanes send: the VLArbitrationTable attribute of subnet management.
 *
 * @since 0.1.0
 */
import * as MadAttribute from "./MadAttribute.ts"
import * as MadField from "./MadField.ts"
import type * as MadLayout from "./MadLayout.ts"

/**
 * VLArbitrationTable: 64 bytes, the `vlarb` of `smpquery(8)`. The high 16 bits of the attribute modifier are 1 or 2 for the
 * low priority entries, 3 or 4 for the high priority ones; the low 16 bits are the port.
 *
 * @category layouts
 * @since 0.1.0
 */
export const VlArbitrationTable = MadAttribute.make("VLArbitrationTable", 0x0018, 64, {
  /** 32 of them: `weight` times 64 bytes of virtual lane `vl`; a weight of 0 skips the entry. */
  entries: MadField.array(
    0,
    16,
    32,
    (bit, width) =>
      MadField.struct(bit, width, { vl: MadField.unsigned(bit + 4, 4), weight: MadField.unsigned(bit + 8, 8) })
  )
})

/**
 * The type of {@link VlArbitrationTable}.
 *
 * @category models
 * @since 0.1.0
 */
export type VlArbitrationTable = MadLayout.Type<typeof VlArbitrationTable>
