/**
 * The numbers of RDMA that are no more than a range: each a branded schema, so that a PSN cannot be passed for a QPN.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"

const unsigned = (bits: number) => Schema.isBetween({ minimum: 0, maximum: 2 ** bits - 1 })

/**
 * Schema for a queue pair number: 24 bits; `ibv_qp.qp_num`, `ibv_qp_attr.dest_qp_num`.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Qpn = Schema.Int.check(unsigned(24)).annotate({ identifier: "Qpn" }).pipe(Schema.brand("Qpn"))

/**
 * A queue pair number.
 *
 * @category models
 * @since 0.1.0
 */
export type Qpn = typeof Qpn.Type

/**
 * Schema for a packet sequence number: 24 bits; `ibv_qp_attr.sq_psn` and `rq_psn`.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Psn = Schema.Int.check(unsigned(24)).annotate({ identifier: "Psn" }).pipe(Schema.brand("Psn"))

/**
 * A packet sequence number.
 *
 * @category models
 * @since 0.1.0
 */
export type Psn = typeof Psn.Type

/**
 * Schema for a queue key of datagrams: 32 bits; `ibv_qp_attr.qkey`, `ibv_send_wr.wr.ud.remote_qkey`.
 *
 * @category schemas
 * @since 0.1.0
 */
export const QKey = Schema.Int.check(unsigned(32)).annotate({ identifier: "QKey" }).pipe(Schema.brand("QKey"))

/**
 * A queue key of datagrams.
 *
 * @category models
 * @since 0.1.0
 */
export type QKey = typeof QKey.Type

/**
 * Schema for a service level: 4 bits; `ibv_ah_attr.sl`, `ibv_wc.sl`.
 *
 * @category schemas
 * @since 0.1.0
 */
export const ServiceLevel = Schema.Int.check(unsigned(4)).annotate({ identifier: "ServiceLevel" }).pipe(
  Schema.brand("ServiceLevel")
)

/**
 * A service level.
 *
 * @category models
 * @since 0.1.0
 */
export type ServiceLevel = typeof ServiceLevel.Type

/**
 * Schema for the flow label of a global route: 20 bits; `ibv_global_route.flow_label`.
 *
 * @category schemas
 * @since 0.1.0
 */
export const FlowLabel = Schema.Int.check(unsigned(20)).annotate({ identifier: "FlowLabel" }).pipe(
  Schema.brand("FlowLabel")
)

/**
 * The flow label of a global route.
 *
 * @category models
 * @since 0.1.0
 */
export type FlowLabel = typeof FlowLabel.Type

/**
 * The UDP source port that packets of RoCE v2 carry for a flow label, 0xc000 to 0xffff: `ibv_flow_label_to_udp_sport(3)`.
 * Both ends of a flow must compute it alike, so that its packets take one way through the network.
 *
 * @category getters
 * @since 0.1.0
 */
export const udpSourcePort = (flowLabel: FlowLabel): number => 0xc000 | ((flowLabel ^ (flowLabel >>> 14)) & 0x3fff)

/**
 * Schema for the traffic class of a global route: 8 bits; `ibv_global_route.traffic_class`.
 *
 * @category schemas
 * @since 0.1.0
 */
export const TrafficClass = Schema.Int.check(unsigned(8)).annotate({ identifier: "TrafficClass" }).pipe(
  Schema.brand("TrafficClass")
)

/**
 * The traffic class of a global route.
 *
 * @category models
 * @since 0.1.0
 */
export type TrafficClass = typeof TrafficClass.Type

/**
 * Schema for the hop limit of a global route: 8 bits; `ibv_global_route.hop_limit`.
 *
 * @category schemas
 * @since 0.1.0
 */
export const HopLimit = Schema.Int.check(unsigned(8)).annotate({ identifier: "HopLimit" }).pipe(
  Schema.brand("HopLimit")
)

/**
 * The hop limit of a global route.
 *
 * @category models
 * @since 0.1.0
 */
export type HopLimit = typeof HopLimit.Type

/**
 * Schema for the path bits of a source LID: 7 bits; `ibv_ah_attr.src_path_bits`, `ibv_wc.dlid_path_bits`.
 *
 * @category schemas
 * @since 0.1.0
 */
export const PathBits = Schema.Int.check(unsigned(7)).annotate({ identifier: "PathBits" }).pipe(
  Schema.brand("PathBits")
)

/**
 * The path bits of a source LID.
 *
 * @category models
 * @since 0.1.0
 */
export type PathBits = typeof PathBits.Type

/**
 * Schema for an index into a port's GID table: 8 bits; `ibv_global_route.sgid_index`.
 *
 * @category schemas
 * @since 0.1.0
 */
export const GidIndex = Schema.Int.check(unsigned(8)).annotate({ identifier: "GidIndex" }).pipe(
  Schema.brand("GidIndex")
)

/**
 * An index into a port's GID table.
 *
 * @category models
 * @since 0.1.0
 */
export type GidIndex = typeof GidIndex.Type

/**
 * Schema for an index into a port's P_Key table: 16 bits; `ibv_qp_attr.pkey_index`, `ibv_wc.pkey_index`.
 *
 * @category schemas
 * @since 0.1.0
 */
export const PKeyIndex = Schema.Int.check(unsigned(16)).annotate({ identifier: "PKeyIndex" }).pipe(
  Schema.brand("PKeyIndex")
)

/**
 * An index into a port's P_Key table.
 *
 * @category models
 * @since 0.1.0
 */
export type PKeyIndex = typeof PKeyIndex.Type

/**
 * Schema for a port number, the management port of a switch included: 0 to 255; `umad_port_t.portnum`.
 *
 * @category schemas
 * @since 0.1.0
 */
export const AnyPortNumber = Schema.Int.check(unsigned(8)).annotate({ identifier: "AnyPortNumber" }).pipe(
  Schema.brand("AnyPortNumber")
)

/**
 * A port number, the management port of a switch included.
 *
 * @category models
 * @since 0.1.0
 */
export type AnyPortNumber = typeof AnyPortNumber.Type

/**
 * Schema for the number of a port that carries traffic: 1 to 255; `ibv_ah_attr.port_num`, `ibv_qp_attr.port_num`.
 *
 * @category schemas
 * @since 0.1.0
 */
export const PortNumber = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 255 })).annotate({
  identifier: "PortNumber"
}).pipe(
  // Both brands: wherever any port will do, this one does.
  Schema.brand("AnyPortNumber"),
  Schema.brand("PortNumber")
)

/**
 * The number of a port that carries traffic.
 *
 * @category models
 * @since 0.1.0
 */
export type PortNumber = typeof PortNumber.Type
