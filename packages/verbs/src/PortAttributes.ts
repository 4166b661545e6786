/**
 * The state of a port: `struct ibv_port_attr` of `ibv_query_port(3)`.
 *
 * @since 0.1.0
 */
import type * as Lid from "@effect-rdma/core/Lid"
import type * as LinkLayer from "@effect-rdma/core/LinkLayer"
import type * as Mtu from "@effect-rdma/core/Mtu"
import type * as PhysicalState from "@effect-rdma/core/PhysicalState"
import type * as PortState from "@effect-rdma/core/PortState"

/**
 * Every field of `struct ibv_port_attr` under its C name in camelCase.
 *
 * @category models
 * @since 0.1.0
 */
export interface PortAttributes {
  readonly state: PortState.PortState
  /** Bytes. */
  readonly maxMtu: Mtu.ReportedMtu
  /** Bytes. */
  readonly activeMtu: Mtu.ReportedMtu
  readonly gidTblLen: number
  readonly portCapFlags: number
  /** Bytes of the largest message. */
  readonly maxMsgSz: number
  readonly badPkeyCntr: number
  readonly qkeyViolCntr: number
  readonly pkeyTblLen: number
  readonly lid: Lid.Lid
  readonly smLid: Lid.Lid
  readonly lmc: number
  readonly maxVlNum: number
  readonly smSl: number
  readonly subnetTimeout: number
  readonly initTypeReply: number
  /** A bit for each lane count: 1 is 1X, 2 is 4X, 4 is 8X, 8 is 12X, 16 is 2X. */
  readonly activeWidth: number
  readonly activeSpeed: number
  readonly physState: PhysicalState.PhysicalState
  readonly linkLayer: LinkLayer.LinkLayer
  readonly flags: number
  readonly portCapFlags2: number
  /** The speed in the wide encoding; 0 where the library is older than the field. */
  readonly activeSpeedEx: number
}
