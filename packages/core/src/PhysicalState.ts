/**
 * The physical state of a port: PortPhysicalState of the InfiniBand PortInfo attribute.
 *
 * @since 0.1.0
 */
import * as Enumeration from "./Enumeration.ts"

/**
 * The table: literal, number and printed name.
 *
 * @category constants
 * @since 0.1.0
 */
export const enumeration = Enumeration.make("PhysicalState", [
  ["nop", 0, "No state change"],
  ["sleep", 1, "Sleep"],
  ["polling", 2, "Polling"],
  ["disabled", 3, "Disabled"],
  ["portConfigurationTraining", 4, "PortConfigurationTraining"],
  ["linkUp", 5, "LinkUp"],
  ["linkErrorRecovery", 6, "LinkErrorRecovery"],
  ["phyTest", 7, "PhyTest"]
], "???")

/**
 * Schema for a port's physical state, `ibv_port_attr.phys_state` and `umad_port_t.phys_state`; `"unknown"` stands for a
 * number outside this table.
 *
 * @category schemas
 * @since 0.1.0
 */
export const PhysicalState = enumeration.reported

/**
 * A port's physical state.
 *
 * @category models
 * @since 0.1.0
 */
export type PhysicalState = typeof PhysicalState.Type

/**
 * Reads a port's physical state.
 *
 * @category constructors
 * @since 0.1.0
 */
export const fromNative = enumeration.fromNative

/**
 * The number of a physical state.
 *
 * @category getters
 * @since 0.1.0
 */
export const toNative = enumeration.toNative

/**
 * A physical state as `ibstat` prints it, such as `"LinkUp"`.
 *
 * @category getters
 * @since 0.1.0
 */
export const format = enumeration.format
