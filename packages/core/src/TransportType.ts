/**
 * The transport that a device speaks: `enum ibv_transport_type` of `infiniband/verbs.h`.
 *
 * @since 0.1.0
 */
import * as Enumeration from "./Enumeration.ts"

const enumeration = Enumeration.make("TransportType", [
  ["unknown", -1, "invalid transport"],
  ["ib", 0, "InfiniBand"],
  ["iwarp", 1, "iWARP"],
  ["usnic", 2, "usNIC"],
  ["usnicUdp", 3, "usNIC UDP"],
  ["unspecified", 4, "unspecified"]
])

/**
 * Schema for a device's transport, `ibv_device.transport_type`.
 *
 * `"unknown"` is both libibverbs' own word (`IBV_TRANSPORT_UNKNOWN`, -1) and a number newer than this table. RoCE devices
 * are `"ib"`: what differs is their ports' link layer.
 *
 * @category schemas
 * @since 0.1.0
 */
export const TransportType = enumeration.reported

/**
 * A device's transport.
 *
 * @category models
 * @since 0.1.0
 */
export type TransportType = typeof TransportType.Type

/**
 * Reads `enum ibv_transport_type`.
 *
 * @category constructors
 * @since 0.1.0
 */
export const fromNative = enumeration.fromNative

/**
 * The number of a transport in `enum ibv_transport_type`.
 *
 * @category getters
 * @since 0.1.0
 */
export const toNative = enumeration.toNative

/**
 * A transport as `ibv_devinfo` prints it, such as `"InfiniBand"`.
 *
 * @category getters
 * @since 0.1.0
 */
export const format = enumeration.format
