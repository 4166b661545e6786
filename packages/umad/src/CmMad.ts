/**
 * A MAD of communication management: `struct umad_cm_packet` of `infiniband/umad_cm.h`.
 *
 * @since 0.1.0
 */
import * as MadField from "./MadField.ts"
import * as MadHeader from "./MadHeader.ts"
import * as MadLayout from "./MadLayout.ts"

/**
 * A packet of communication management: 256 bytes. `attributeId` is which message it is: {@link messages}.
 *
 * @category layouts
 * @since 0.1.0
 */
export const CmMad = MadLayout.make("CMMAD", 256, {
  ...MadHeader.MadHeader.fields,
  /** The message. */
  data: MadField.bytes(192, 232)
})

/**
 * The type of {@link CmMad}.
 *
 * @category models
 * @since 0.1.0
 */
export type CmMad = MadLayout.Type<typeof CmMad>

/**
 * The `attributeId` of each message: the `UMAD_CM_ATTR_` numbers of `infiniband/umad_cm.h`.
 *
 * @category constants
 * @since 0.1.0
 */
export const messages = {
  connectRequest: 0x0010,
  messageReceiptAcknowledgement: 0x0011,
  connectReject: 0x0012,
  connectReply: 0x0013,
  readyToUse: 0x0014,
  disconnectRequest: 0x0015,
  disconnectReply: 0x0016,
  serviceIdResolutionRequest: 0x0017,
  serviceIdResolutionReply: 0x0018,
  loadAlternatePath: 0x0019,
  alternatePathResponse: 0x001a
} as const
