/**
 * A way between two ports: the PathRecord of subnet administration.
 *
 * @since 0.1.0
 */
import * as Identifier from "@effect-rdma/core/Identifier"
import * as Lid from "@effect-rdma/core/Lid"
import * as Mtu from "@effect-rdma/core/Mtu"
import * as PKey from "@effect-rdma/core/PKey"
import * as StaticRate from "@effect-rdma/core/StaticRate"
import * as MadField from "./MadField.ts"
import type * as MadLayout from "./MadLayout.ts"
import * as SaRecord from "./SaRecord.ts"

/**
 * PathRecord: 64 bytes, the `PR` of `saquery(8)`. A selector says what a query means by the field behind it: 0 greater than,
 * 1 less than, 2 exactly, 3 the largest. The life time is an exponent of 4.096 µs.
 *
 * @category layouts
 * @since 0.1.0
 */
export const PathRecord = SaRecord.make("PathRecord", 0x0035, 64, {
  serviceId: MadField.unsigned64(0),
  dgid: MadField.gid(64),
  sgid: MadField.gid(192),
  dlid: MadField.branded(320, 16, Lid.Lid),
  slid: MadField.branded(336, 16, Lid.Lid),
  rawTraffic: MadField.flag(352),
  flowLabel: MadField.branded(356, 20, Identifier.FlowLabel),
  hopLimit: MadField.branded(376, 8, Identifier.HopLimit),
  trafficClass: MadField.branded(384, 8, Identifier.TrafficClass),
  reversible: MadField.flag(392),
  /** Of a query: how many paths at most. */
  numbPath: MadField.unsigned(393, 7),
  pKey: MadField.branded(400, 16, PKey.PKey),
  qosClass: MadField.unsigned(416, 12),
  sl: MadField.branded(428, 4, Identifier.ServiceLevel),
  mtuSelector: MadField.unsigned(432, 2),
  mtu: MadField.enumerated(434, 6, Mtu.enumeration),
  rateSelector: MadField.unsigned(440, 2),
  rate: MadField.enumerated(442, 6, StaticRate.enumeration),
  packetLifeTimeSelector: MadField.unsigned(448, 2),
  packetLifeTime: MadField.unsigned(450, 6),
  preference: MadField.unsigned(456, 8)
}, [
  "serviceId",
  "serviceId",
  "dgid",
  "sgid",
  "dlid",
  "slid",
  "rawTraffic",
  undefined,
  "flowLabel",
  "hopLimit",
  "trafficClass",
  "reversible",
  "numbPath",
  "pKey",
  "qosClass",
  "sl",
  "mtuSelector",
  "mtu",
  "rateSelector",
  "rate",
  "packetLifeTimeSelector",
  "packetLifeTime",
  "preference"
])

/**
 * The type of {@link PathRecord}.
 *
 * @category models
 * @since 0.1.0
 */
export type PathRecord = MadLayout.Type<typeof PathRecord>
