/**
 * A multicast group and a member of it: the MCMemberRecord of subnet administration.
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
 * MCMemberRecord: 52 bytes, the `MCMR` of `saquery(8)`. A selector says what a query means by the field behind it: 0 greater
 * than, 1 less than, 2 exactly, 3 the largest. The life time is an exponent of 4.096 µs.
 *
 * @category layouts
 * @since 0.1.0
 */
export const McMemberRecord = SaRecord.make("MCMemberRecord", 0x0038, 52, {
  mgid: MadField.gid(0),
  portGid: MadField.gid(128),
  qKey: MadField.branded(256, 32, Identifier.QKey),
  mlid: MadField.branded(288, 16, Lid.Lid),
  mtuSelector: MadField.unsigned(304, 2),
  mtu: MadField.enumerated(306, 6, Mtu.enumeration),
  trafficClass: MadField.branded(312, 8, Identifier.TrafficClass),
  pKey: MadField.branded(320, 16, PKey.PKey),
  rateSelector: MadField.unsigned(336, 2),
  rate: MadField.enumerated(338, 6, StaticRate.enumeration),
  packetLifeTimeSelector: MadField.unsigned(344, 2),
  packetLifeTime: MadField.unsigned(346, 6),
  sl: MadField.branded(352, 4, Identifier.ServiceLevel),
  flowLabel: MadField.branded(356, 20, Identifier.FlowLabel),
  hopLimit: MadField.branded(376, 8, Identifier.HopLimit),
  /** 2 is link-local, 5 site-local, 8 organization-local, 14 global. */
  scope: MadField.unsigned(384, 4),
  /** A mask: 1 is a full member, 2 a non-member, 4 a send-only one. */
  joinState: MadField.unsigned(388, 4),
  proxyJoin: MadField.flag(392)
}, [
  "mgid",
  "portGid",
  "qKey",
  "mlid",
  "mtuSelector",
  "mtu",
  "trafficClass",
  "pKey",
  "rateSelector",
  "rate",
  "packetLifeTimeSelector",
  "packetLifeTime",
  "sl",
  "flowLabel",
  "hopLimit",
  "scope",
  "joinState",
  "proxyJoin"
])

/**
 * The type of {@link McMemberRecord}.
 *
 * @category models
 * @since 0.1.0
 */
export type McMemberRecord = MadLayout.Type<typeof McMemberRecord>
