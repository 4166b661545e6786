/**
 * What a work request was: `enum ibv_wc_opcode` of `ibv_poll_cq(3)`.
 *
 * @since 0.1.0
 */
import * as Enumeration from "@effect-rdma/core/Enumeration"

const enumeration = Enumeration.make("WorkCompletionOpcode", [
  ["send", 0, "IBV_WC_SEND"],
  ["rdmaWrite", 1, "IBV_WC_RDMA_WRITE"],
  ["rdmaRead", 2, "IBV_WC_RDMA_READ"],
  ["compSwap", 3, "IBV_WC_COMP_SWAP"],
  ["fetchAdd", 4, "IBV_WC_FETCH_ADD"],
  ["bindMw", 5, "IBV_WC_BIND_MW"],
  ["localInv", 6, "IBV_WC_LOCAL_INV"],
  ["tso", 7, "IBV_WC_TSO"],
  ["flush", 8, "IBV_WC_FLUSH"],
  ["atomicWrite", 9, "IBV_WC_ATOMIC_WRITE"],
  ["recv", 128, "IBV_WC_RECV"],
  ["recvRdmaWithImm", 129, "IBV_WC_RECV_RDMA_WITH_IMM"],
  ["tmAdd", 130, "IBV_WC_TM_ADD"],
  ["tmDel", 131, "IBV_WC_TM_DEL"],
  ["tmSync", 132, "IBV_WC_TM_SYNC"],
  ["tmRecv", 133, "IBV_WC_TM_RECV"],
  ["tmNoTag", 134, "IBV_WC_TM_NO_TAG"],
  ["driver1", 135, "IBV_WC_DRIVER1"],
  ["driver2", 136, "IBV_WC_DRIVER2"],
  ["driver3", 137, "IBV_WC_DRIVER3"]
], "unknown")

/**
 * The opcodes; `"unknown"` stands for one newer than this table.
 *
 * @category schemas
 * @since 0.1.0
 */
export const WorkCompletionOpcode = enumeration.reported

/**
 * @category models
 * @since 0.1.0
 */
export type WorkCompletionOpcode = typeof WorkCompletionOpcode.Type

/**
 * Reads `enum ibv_wc_opcode`.
 *
 * @category constructors
 * @since 0.1.0
 */
export const fromNative = enumeration.fromNative

/**
 * The number of `enum ibv_wc_opcode`.
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
