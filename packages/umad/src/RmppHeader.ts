/**
 * How a message of many MADs is cut up: the RMPP header, `struct umad_rmpp_hdr` of `infiniband/umad_types.h`.
 *
 * @since 0.1.0
 */
import * as MadField from "./MadField.ts"
import * as MadLayout from "./MadLayout.ts"

/**
 * The 12 bytes behind the MAD header of the classes that know RMPP; its bits count from the beginning of the MAD.
 *
 * @category layouts
 * @since 0.1.0
 */
export const RmppHeader = MadLayout.make("RMPPHeader", 36, {
  rmppVersion: MadField.unsigned(192, 8),
  /** 0 is no RMPP, 1 data, 2 an acknowledgement, 3 stop, 4 abort. */
  rmppType: MadField.unsigned(200, 8),
  rmppResponseTime: MadField.unsigned(208, 5),
  /** A mask: 1 is active, 2 the first segment, 4 the last one. */
  rmppFlags: MadField.unsigned(213, 3),
  rmppStatus: MadField.unsigned(216, 8),
  /** Of data and acknowledgements the number of the segment. */
  rmppData1: MadField.unsigned(224, 32),
  /** Of data the length of the payload, of acknowledgements the last segment of the window. */
  rmppData2: MadField.unsigned(256, 32)
})

/**
 * The type of {@link RmppHeader}.
 *
 * @category models
 * @since 0.1.0
 */
export type RmppHeader = MadLayout.Type<typeof RmppHeader>
