/**
 * The name that people gave to a node: the NodeDescription attribute of subnet management.
 *
 * @since 0.1.0
 */
import * as MadAttribute from "./MadAttribute.ts"
import * as MadField from "./MadField.ts"
import type * as MadLayout from "./MadLayout.ts"

/**
 * NodeDescription: 64 bytes of UTF-8, the `nodedesc` of `smpquery(8)`.
 *
 * @category layouts
 * @since 0.1.0
 */
export const NodeDescription = MadAttribute.make("NodeDescription", 0x0010, 64, {
  nodeDescription: MadField.text(0, 64)
})

/**
 * The type of {@link NodeDescription}.
 *
 * @category models
 * @since 0.1.0
 */
export type NodeDescription = MadLayout.Type<typeof NodeDescription>
