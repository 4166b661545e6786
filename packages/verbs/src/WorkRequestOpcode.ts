/**
 * What a send request asks for: `enum ibv_wr_opcode` of `ibv_post_send(3)`.
 *
 * @since 0.1.0
 */
import * as Enumeration from "@effect-rdma/core/Enumeration"

const enumeration = Enumeration.make("WorkRequestOpcode", [
  ["rdmaWrite", 0, "IBV_WR_RDMA_WRITE"],
  ["rdmaWriteWithImm", 1, "IBV_WR_RDMA_WRITE_WITH_IMM"],
  ["send", 2, "IBV_WR_SEND"],
  ["sendWithImm", 3, "IBV_WR_SEND_WITH_IMM"],
  ["rdmaRead", 4, "IBV_WR_RDMA_READ"],
  ["atomicCmpAndSwp", 5, "IBV_WR_ATOMIC_CMP_AND_SWP"],
  ["atomicFetchAndAdd", 6, "IBV_WR_ATOMIC_FETCH_AND_ADD"],
  ["localInv", 7, "IBV_WR_LOCAL_INV"],
  ["bindMw", 8, "IBV_WR_BIND_MW"],
  ["sendWithInv", 9, "IBV_WR_SEND_WITH_INV"],
  ["tso", 10, "IBV_WR_TSO"],
  ["driver1", 11, "IBV_WR_DRIVER1"],
  ["flush", 14, "IBV_WR_FLUSH"],
  ["atomicWrite", 15, "IBV_WR_ATOMIC_WRITE"]
])

/**
 * Schema for an opcode.
 *
 * @category schemas
 * @since 0.1.0
 */
export const WorkRequestOpcode = enumeration.schema

/**
 * @category models
 * @since 0.1.0
 */
export type WorkRequestOpcode = typeof WorkRequestOpcode.Type

/**
 * Reads `enum ibv_wr_opcode`; `"unknown"` stands for a number newer than this table.
 *
 * @category constructors
 * @since 0.1.0
 */
export const fromNative = enumeration.fromNative

/**
 * The number of `enum ibv_wr_opcode`.
 *
 * @category getters
 * @since 0.1.0
 */
export const toNative = enumeration.toNative

/**
 * The name of the enumerator in C.
 *
 * @category getters
 * @since 0.1.0
 */
export const format = enumeration.format
