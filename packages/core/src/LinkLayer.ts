/**
 * The link layer under a port: the unnamed enum of `IBV_LINK_LAYER_*` in `infiniband/verbs.h`.
 *
 * @since 0.1.0
 */
import * as Enumeration from "./Enumeration.ts"

const enumeration = Enumeration.make("LinkLayer", [
  ["unspecified", 0, "Unspecified"],
  ["infiniband", 1, "InfiniBand"],
  ["ethernet", 2, "Ethernet"]
], "Unknown")

/**
 * Schema for a port's link layer, `ibv_port_attr.link_layer`; `"unknown"` stands for a number newer than this table.
 *
 * A driver from before RoCE reports `"unspecified"`; such a port is InfiniBand.
 *
 * @category schemas
 * @since 0.1.0
 */
export const LinkLayer = enumeration.reported

/**
 * A port's link layer.
 *
 * @category models
 * @since 0.1.0
 */
export type LinkLayer = typeof LinkLayer.Type

/**
 * Reads `IBV_LINK_LAYER_*`.
 *
 * @category constructors
 * @since 0.1.0
 */
export const fromNative = enumeration.fromNative

/**
 * The number of a link layer as `IBV_LINK_LAYER_*`.
 *
 * @category getters
 * @since 0.1.0
 */
export const toNative = enumeration.toNative

/**
 * A link layer as `ibv_devinfo` and `ibstat` print it, such as `"InfiniBand"`.
 *
 * @category getters
 * @since 0.1.0
 */
export const format = enumeration.format
