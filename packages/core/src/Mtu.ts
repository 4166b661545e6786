/**
 * The path MTU: `enum ibv_mtu` of `infiniband/verbs.h`, as bytes.
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
export const enumeration = Enumeration.make("Mtu", [
  [256, 1, "256"],
  [512, 2, "512"],
  [1024, 3, "1024"],
  [2048, 4, "2048"],
  [4096, 5, "4096"]
], "invalid MTU")

/**
 * Schema for a path MTU in bytes: 256, 512, 1024, 2048 or 4096; `ibv_qp_attr.path_mtu`.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Mtu = enumeration.schema

/**
 * A path MTU in bytes.
 *
 * @category models
 * @since 0.1.0
 */
export type Mtu = typeof Mtu.Type

/**
 * Schema for an MTU that a driver reports, `ibv_port_attr.max_mtu` and `active_mtu`; `"unknown"` stands for a number
 * outside `enum ibv_mtu`.
 *
 * @category schemas
 * @since 0.1.0
 */
export const ReportedMtu = enumeration.reported

/**
 * An MTU that a driver reports.
 *
 * @category models
 * @since 0.1.0
 */
export type ReportedMtu = typeof ReportedMtu.Type

/**
 * Reads `enum ibv_mtu`: 5 is 4096.
 *
 * @category constructors
 * @since 0.1.0
 */
export const fromNative = enumeration.fromNative

/**
 * The number of an MTU in `enum ibv_mtu`: 4096 is 5.
 *
 * @category getters
 * @since 0.1.0
 */
export const toNative = enumeration.toNative

/**
 * An MTU as `ibv_devinfo` prints it, such as `"4096"`.
 *
 * @category getters
 * @since 0.1.0
 */
export const format = enumeration.format
