/**
 * The service that a CM id speaks for: `enum rdma_port_space` of `rdma_create_id(3)`.
 *
 * @since 0.1.0
 */
import * as Enumeration from "@effect-rdma/core/Enumeration"

const enumeration = Enumeration.make("PortSpace", [
  ["ipoib", 0x0002, "RDMA_PS_IPOIB"],
  ["tcp", 0x0106, "RDMA_PS_TCP"],
  ["udp", 0x0111, "RDMA_PS_UDP"],
  ["ib", 0x013f, "RDMA_PS_IB"]
])

/**
 * `tcp` is a reliable connection (RC), `udp` and `ipoib` are datagrams (UD), `ib` is any InfiniBand service.
 *
 * @category schemas
 * @since 0.1.0
 */
export const PortSpace = enumeration.schema

/**
 * The type of {@link PortSpace}.
 *
 * @category models
 * @since 0.1.0
 */
export type PortSpace = typeof PortSpace.Type

/**
 * The number of a port space in C.
 *
 * @category getters
 * @since 0.1.0
 */
export const toNative = enumeration.toNative

/**
 * The port space of a number in C.
 *
 * @category constructors
 * @since 0.1.0
 */
export const fromNative = enumeration.fromNative
