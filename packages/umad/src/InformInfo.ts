/**
 * A subscription to traps: the InformInfo attribute of subnet administration.
 *
 * @since 0.1.0
 */
import * as Identifier from "@effect-rdma/core/Identifier"
import * as Lid from "@effect-rdma/core/Lid"
import * as MadAttribute from "./MadAttribute.ts"
import * as MadField from "./MadField.ts"
import type * as MadLayout from "./MadLayout.ts"

/**
 * InformInfo: 36 bytes. `gid` is what it is about, all zero for a range of LIDs; 0xffff as the beginning of the range is every
 * LID. Of a generic subscription `producerType` is a node type and `trapNumber` a trap of the specification, 0xffff any;
 * otherwise they are a vendor's OUI and the number of its device.
 *
 * @category layouts
 * @since 0.1.0
 */
export const InformInfo = MadAttribute.make("InformInfo", 0x0003, 36, {
  gid: MadField.gid(0),
  lidRangeBegin: MadField.branded(128, 16, Lid.Lid),
  lidRangeEnd: MadField.branded(144, 16, Lid.Lid),
  /** 1 is generic, 0 a vendor's. */
  isGeneric: MadField.unsigned(176, 8),
  /** 1 subscribes, 0 unsubscribes. */
  subscribe: MadField.unsigned(184, 8),
  /** As of a `Notice`; 0xffff is any. */
  type: MadField.unsigned(192, 16),
  trapNumber: MadField.unsigned(208, 16),
  qpn: MadField.branded(224, 24, Identifier.Qpn),
  /** How long an answer may take: the exponent of 4.096 µs. */
  respTimeValue: MadField.unsigned(251, 5),
  producerType: MadField.unsigned(264, 24)
})

/**
 * The type of {@link InformInfo}.
 *
 * @category models
 * @since 0.1.0
 */
export type InformInfo = MadLayout.Type<typeof InformInfo>
