/**
 * What a trap tells: the Notice attribute of subnet management and of the other classes.
 *
 * @since 0.1.0
 */
import * as Lid from "@effect-rdma/core/Lid"
import * as MadAttribute from "./MadAttribute.ts"
import * as MadField from "./MadField.ts"
import type * as MadLayout from "./MadLayout.ts"

/**
 * The bytes of a notice in an SMP.
 *
 * @category constants
 * @since 0.1.0
 */
export const smpSize = 64

/**
 * Notice: 80 bytes. The 16 of `issuerGid` are not there in an SMP, whose data ends before: {@link smpSize}. Of a generic
 * notice `producerType` is a node type and `trapNumber` a trap of the specification; otherwise they are a vendor's OUI and
 * the number of its device.
 *
 * @category layouts
 * @since 0.1.0
 */
export const Notice = MadAttribute.make("Notice", 0x0002, 80, {
  isGeneric: MadField.flag(0),
  /** 0 is fatal, 1 urgent, 2 security, 3 subnet management, 4 informational, 0x7f empty. */
  type: MadField.unsigned(1, 7),
  producerType: MadField.unsigned(8, 24),
  trapNumber: MadField.unsigned(32, 16),
  issuerLid: MadField.branded(48, 16, Lid.Lid),
  noticeToggle: MadField.flag(64),
  noticeCount: MadField.unsigned(65, 15),
  /** 54 bytes; what they mean depends on `trapNumber`. */
  dataDetails: MadField.bytes(80, 54),
  issuerGid: MadField.gid(512)
})

/**
 * The type of {@link Notice}.
 *
 * @category models
 * @since 0.1.0
 */
export type Notice = MadLayout.Type<typeof Notice>
