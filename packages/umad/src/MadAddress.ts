/**
 * Where a MAD goes to or came from: `ib_mad_addr_t` of libibumad, as `umad_set_addr(3)`, `umad_set_grh(3)` and
 * `umad_set_pkey(3)` fill it in.
 *
 * @since 0.1.0
 */
import * as Gid from "@effect-rdma/core/Gid"
import * as Identifier from "@effect-rdma/core/Identifier"
import * as Lid from "@effect-rdma/core/Lid"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as MadHeader from "./internal/madHeader.ts"

const or = <S extends Schema.Constraint>(schema: S, value: S["Encoded"]) =>
  Schema.withDecodingDefault<S>(Effect.succeed(value))(schema)

/**
 * The global route of a MAD: needed to leave the subnet, and on Ethernet. `gidIndex` is a place in the GID table of the port.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Grh = Schema.Struct({
  gid: Gid.GidInput,
  gidIndex: or(Identifier.GidIndex, 0),
  hopLimit: or(Identifier.HopLimit, 64),
  trafficClass: or(Identifier.TrafficClass, 0),
  flowLabel: or(Identifier.FlowLabel, 0)
})

/**
 * Where to send a MAD. LID 0xffff is the own port, and the start of a directed route. Without a queue pair it goes to the
 * one of its management class: QP0 for subnet management, else QP1 with the Q_Key of all managers.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Destination = Schema.Struct({
  lid: Lid.Lid,
  qpn: Schema.optionalKey(Identifier.Qpn),
  qkey: Schema.optionalKey(Identifier.QKey),
  sl: or(Identifier.ServiceLevel, 0),
  pathBits: or(Identifier.PathBits, 0),
  pkeyIndex: or(Identifier.PKeyIndex, 0),
  grh: Schema.optionalKey(Grh)
})

/**
 * The type of {@link Destination}.
 *
 * @category models
 * @since 0.1.0
 */
export type Destination = typeof Destination.Type

/**
 * A full address. In that of a received MAD, the LID, the queue pair and the GID are those of the sender, `pathBits` and
 * `gidIndex` say to which address of this port it came, and `qkey` is 0.
 *
 * @category models
 * @since 0.1.0
 */
export interface MadAddress extends Destination {
  readonly qpn: Identifier.Qpn
  readonly qkey: Identifier.QKey
}

/**
 * The Q_Key of QP1 on every port.
 *
 * @category constructors
 * @since 0.1.0
 */
export const generalServicesQKey: Identifier.QKey = Identifier.QKey.make(0x8001_0000)

/**
 * The full address for a MAD of a management class.
 *
 * @category constructors
 * @since 0.1.0
 */
export const complete = (destination: Destination, mgmtClass: number): MadAddress => {
  const qpn = destination.qpn ?? (MadHeader.isSubnetManagement(mgmtClass) ? subnetManagement : generalServices)
  return { ...destination, qpn, qkey: destination.qkey ?? keyOf(qpn) }
}

/**
 * Where the reply to a received MAD goes: back to its sender, with the Q_Key that received addresses lack.
 *
 * @category constructors
 * @since 0.1.0
 */
export const replyTo = (received: MadAddress): MadAddress => ({ ...received, qkey: keyOf(received.qpn) })

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

const subnetManagement = Identifier.Qpn.make(0)
const generalServices = Identifier.Qpn.make(1)
const noKey = Identifier.QKey.make(0)

const keyOf = (qpn: Identifier.Qpn): Identifier.QKey => qpn === subnetManagement ? noKey : generalServicesQKey
