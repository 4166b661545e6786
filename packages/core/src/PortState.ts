/**
 * The logical state of a port: `enum ibv_port_state` of `infiniband/verbs.h`.
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
export const enumeration = Enumeration.make("PortState", [
  ["nop", 0, "no state change (NOP)"],
  ["down", 1, "down"],
  ["init", 2, "init"],
  ["armed", 3, "armed"],
  ["active", 4, "active"],
  ["activeDefer", 5, "active defer"]
])

/**
 * Schema for a port's logical state, `ibv_port_attr.state`; `"unknown"` stands for a number newer than this table.
 *
 * Data moves only in `"active"`. On InfiniBand a subnet manager takes a port from `"init"` to `"active"`.
 *
 * @category schemas
 * @since 0.1.0
 */
export const PortState = enumeration.reported

/**
 * A port's logical state.
 *
 * @category models
 * @since 0.1.0
 */
export type PortState = typeof PortState.Type

/**
 * Reads `enum ibv_port_state`.
 *
 * @category constructors
 * @since 0.1.0
 */
export const fromNative = enumeration.fromNative

/**
 * The number of a port state in `enum ibv_port_state`.
 *
 * @category getters
 * @since 0.1.0
 */
export const toNative = enumeration.toNative

/**
 * A port state as `ibv_port_state_str` says it, such as `"active"`.
 *
 * @category getters
 * @since 0.1.0
 */
export const format = enumeration.format
