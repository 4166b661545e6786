/**
 * A subnet manager and its state: the SMInfo attribute of subnet management.
 *
 * @since 0.1.0
 */
import * as Guid from "@effect-rdma/core/Guid"
import * as MadAttribute from "./MadAttribute.ts"
import * as MadField from "./MadField.ts"
import type * as MadLayout from "./MadLayout.ts"
import * as SmState from "./SmState.ts"

/**
 * SMInfo: 21 bytes, what `sminfo(8)` prints.
 *
 * @category layouts
 * @since 0.1.0
 */
export const SmInfo = MadAttribute.make("SMInfo", 0x0020, 21, {
  guid: MadField.unsigned64(0, Guid.Guid),
  smKey: MadField.unsigned64(64),
  /** Grows as long as the manager lives. */
  actCount: MadField.unsigned(128, 32),
  priority: MadField.unsigned(160, 4),
  smState: MadField.enumerated(164, 4, SmState.enumeration)
})

/**
 * The type of {@link SmInfo}.
 *
 * @category models
 * @since 0.1.0
 */
export type SmInfo = MadLayout.Type<typeof SmInfo>
