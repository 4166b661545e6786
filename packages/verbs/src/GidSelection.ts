/**
 * Which GID of a port a program should use: a choice by type and address out of `ibv_query_gid_table(3)`, never by
 * index, since the order of the table depends on when the network interfaces came up.
 *
 * @since 0.1.0
 */
import * as Gid from "@effect-rdma/core/Gid"
import type * as GidEntry from "./GidEntry.ts"

/**
 * What is asked of a GID.
 *
 * @category models
 * @since 0.1.0
 */
export interface Wish {
  /** The port it must be of. */
  readonly portNum: number
  /** The address it must be. */
  readonly address?: Gid.Gid
  /** The type it must be of; by default RoCE v2 before InfiniBand before RoCE v1. */
  readonly gidType?: GidEntry.GidType
  /** The network interface it must be of. */
  readonly ndevIfindex?: number
}

/**
 * The best GID of a table for a wish, `undefined` when none will do: of the types RoCE v2 before InfiniBand before RoCE
 * v1, of the addresses IPv4 before routable IPv6 before link-local. Groups and empty places are never chosen.
 *
 * ```ts
 * import { Gid } from "@effect-rdma/core"
 * import { DeviceContext, GidSelection } from "@effect-rdma/verbs"
 * import { Effect, Schema } from "effect"
 *
 * const address = Schema.decodeSync(Gid.GidFromString)("::ffff:10.0.0.1")
 * const indexOf = (context: DeviceContext.DeviceContext) =>
 *   Effect.map(DeviceContext.gidTable(context), (table) => GidSelection.select(table, { portNum: 1, address })?.gidIndex)
 * ```
 *
 * @category combinators
 * @since 0.1.0
 */
export const select = (table: ReadonlyArray<GidEntry.GidEntry>, wish: Wish): GidEntry.GidEntry | undefined =>
  table
    .filter((entry) =>
      entry.portNum === wish.portNum &&
      !Gid.isZero(entry.gid) &&
      !Gid.isMulticast(entry.gid) &&
      (wish.address === undefined || Gid.Equivalence(entry.gid, wish.address)) &&
      (wish.gidType === undefined || entry.gidType === wish.gidType) &&
      (wish.ndevIfindex === undefined || entry.ndevIfindex === wish.ndevIfindex)
    )
    .toSorted(compare)[0]

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

const typeOrder: ReadonlyArray<GidEntry.GidType> = ["roceV2", "ib", "roceV1", "unknown"]

const addressOrder = (gid: Gid.Gid): number => Gid.isIpv4Mapped(gid) ? 0 : Gid.isLinkLocal(gid) ? 2 : 1

// The last two make the choice the same whatever the order of the table.
const compare = (self: GidEntry.GidEntry, that: GidEntry.GidEntry): number =>
  typeOrder.indexOf(self.gidType) - typeOrder.indexOf(that.gidType) ||
  addressOrder(self.gid) - addressOrder(that.gid) ||
  compareBytes(self.gid, that.gid) ||
  self.ndevIfindex - that.ndevIfindex

const compareBytes = (self: Uint8Array, that: Uint8Array): number => {
  const at = self.findIndex((byte, index) => byte !== that[index])
  return at === -1 ? 0 : (self[at] ?? 0) - (that[at] ?? 0)
}
