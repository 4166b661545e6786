/**
 * The transport service of a queue pair: `enum ibv_qp_type` of `infiniband/verbs.h`.
 *
 * @since 0.1.0
 */
import * as Enumeration from "@effect-rdma/core/Enumeration"

const enumeration = Enumeration.make("QueuePairType", [
  ["rc", 2, "RC"],
  ["uc", 3, "UC"],
  ["ud", 4, "UD"],
  ["rawPacket", 8, "RAW_PACKET"],
  ["xrcSend", 9, "XRC_SEND"],
  ["xrcRecv", 10, "XRC_RECV"]
])

/**
 * Schema for the type of a queue pair: reliable connection, unreliable connection, unreliable datagram, raw Ethernet
 * packets, and the two sides of an extended reliable connection; `ibv_qp_init_attr.qp_type`.
 *
 * @category schemas
 * @since 0.1.0
 */
export const QueuePairType = enumeration.schema

/**
 * The type of a queue pair.
 *
 * @category models
 * @since 0.1.0
 */
export type QueuePairType = typeof QueuePairType.Type

/**
 * Every type, in the order of its number.
 *
 * @category constants
 * @since 0.1.0
 */
export const all = enumeration.values

/**
 * Reads `enum ibv_qp_type`; a type of one vendor only is `"unknown"`.
 *
 * @category constructors
 * @since 0.1.0
 */
export const fromNative = enumeration.fromNative

/**
 * The number of a type in `enum ibv_qp_type`.
 *
 * @category getters
 * @since 0.1.0
 */
export const toNative = enumeration.toNative

/**
 * The name of a type in C, such as `"RC"`.
 *
 * @category getters
 * @since 0.1.0
 */
export const format = enumeration.format

/**
 * Whether a type is in a mask of supported ones, such as `supportedQpts` of `ExtendedDeviceAttributes`:
 * `ibv_is_qpt_supported`.
 *
 * @category guards
 * @since 0.1.0
 */
export const isSupported = (caps: number, type: QueuePairType): boolean => (caps & (1 << toNative(type))) !== 0
