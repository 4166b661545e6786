/**
 * What kind of node a device is: `enum ibv_node_type` of `infiniband/verbs.h`.
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
export const enumeration = Enumeration.make("NodeType", [
  ["unknown", -1, "unknown"],
  ["ca", 1, "InfiniBand channel adapter"],
  ["switch", 2, "InfiniBand switch"],
  ["router", 3, "InfiniBand router"],
  ["rnic", 4, "iWARP NIC"],
  ["usnic", 5, "usNIC"],
  ["usnicUdp", 6, "usNIC UDP"],
  ["unspecified", 7, "unspecified"]
])

/**
 * Schema for a device's node type, `ibv_device.node_type`.
 *
 * `"unknown"` is both the kernel's own word (`IBV_NODE_UNKNOWN`, -1) and a number newer than this table. RoCE devices are
 * `"ca"`.
 *
 * @category schemas
 * @since 0.1.0
 */
export const NodeType = enumeration.reported

/**
 * A device's node type.
 *
 * @category models
 * @since 0.1.0
 */
export type NodeType = typeof NodeType.Type

/**
 * Reads `enum ibv_node_type`.
 *
 * @category constructors
 * @since 0.1.0
 */
export const fromNative = enumeration.fromNative

/**
 * The number of a node type in `enum ibv_node_type`.
 *
 * @category getters
 * @since 0.1.0
 */
export const toNative = enumeration.toNative

/**
 * A node type as `ibv_node_type_str` says it, such as `"InfiniBand channel adapter"`.
 *
 * @category getters
 * @since 0.1.0
 */
export const format = enumeration.format
