/**
 * One row of a device's GID table: `struct ibv_gid_entry` of `ibv_query_gid_table(3)`.
 *
 * @since 0.1.0
 */
import type * as Gid from "@effect-rdma/core/Gid"
import type * as Identifier from "@effect-rdma/core/Identifier"

/**
 * `enum ibv_gid_type`: `ib`, or the RoCE version whose packets carry this GID.
 *
 * @category models
 * @since 0.1.0
 */
export type GidType = "ib" | "roceV1" | "roceV2" | "unknown"

/**
 * A GID with its place in the table; `ndevIfindex` is the network interface behind it, 0 for none.
 *
 * @category models
 * @since 0.1.0
 */
export interface GidEntry {
  readonly gid: Gid.Gid
  readonly gidIndex: number
  readonly portNum: Identifier.PortNumber
  readonly gidType: GidType
  readonly ndevIfindex: number
}
