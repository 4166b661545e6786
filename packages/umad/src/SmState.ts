/**
 * The state of a subnet manager: SMState of the SMInfo attribute.
 *
 * @since 0.1.0
 */
import * as Enumeration from "@effect-rdma/core/Enumeration"

/**
 * The states with the names that `sminfo(8)` prints.
 *
 * @category constants
 * @since 0.1.0
 */
export const enumeration = Enumeration.make("SmState", [
  ["notActive", 0, "SMINFO_NOTACT"],
  ["discovering", 1, "SMINFO_DISCOVER"],
  ["standby", 2, "SMINFO_STANDBY"],
  ["master", 3, "SMINFO_MASTER"]
])

/**
 * Schema for the state of a subnet manager.
 *
 * @category schemas
 * @since 0.1.0
 */
export const SmState = enumeration.schema

/**
 * The state of a subnet manager.
 *
 * @category models
 * @since 0.1.0
 */
export type SmState = typeof SmState.Type
