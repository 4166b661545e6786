/**
 * A port as subnet administration knows it: the PortInfoRecord.
 *
 * @since 0.1.0
 */
import * as Identifier from "@effect-rdma/core/Identifier"
import * as Lid from "@effect-rdma/core/Lid"
import * as MadField from "./MadField.ts"
import * as MadLayout from "./MadLayout.ts"
import * as PortInfo from "./PortInfo.ts"
import * as SaRecord from "./SaRecord.ts"

/**
 * PortInfoRecord: 68 bytes, the `PIR` of `saquery(8)`. It is a `PortInfo` with the LID and the number of the port.
 *
 * @category layouts
 * @since 0.1.0
 */
export const PortInfoRecord = SaRecord.make("PortInfoRecord", 0x0012, 68, {
  endPortLid: MadField.branded(0, 16, Lid.Lid),
  portNum: MadField.branded(16, 8, Identifier.AnyPortNumber),
  /** 0x80 asks for extended link speeds. */
  options: MadField.unsigned(24, 8),
  ...MadLayout.moved(PortInfo.PortInfo.fields, 4)
}, [
  "endPortLid",
  "portNum",
  "options",
  "mKey",
  "gidPrefix",
  "lid",
  "masterSmLid",
  "capabilityMask",
  "diagCode",
  "mKeyLeasePeriod",
  "localPortNum",
  "linkWidthEnabled",
  "linkWidthSupported",
  "linkWidthActive",
  "linkSpeedSupported",
  "portState",
  "portPhysicalState",
  "linkDownDefaultState",
  "mKeyProtectBits",
  undefined,
  "lmc",
  "linkSpeedActive",
  "linkSpeedEnabled",
  "neighborMtu",
  "masterSmSl",
  "vlCap",
  "initType",
  "vlHighLimit",
  "vlArbitrationHighCap",
  "vlArbitrationLowCap",
  "initTypeReply",
  "mtuCap",
  "vlStallCount",
  "hoqLife",
  "operationalVls",
  "partitionEnforcementInbound",
  "partitionEnforcementOutbound",
  "filterRawInbound",
  "filterRawOutbound",
  "mKeyViolations",
  "pKeyViolations",
  "qKeyViolations",
  "guidCap",
  "clientReregister",
  "multicastPKeyTrapSuppressionEnabled",
  "subnetTimeout",
  undefined,
  "respTimeValue",
  "localPhyErrors",
  "overrunErrors",
  "maxCreditHint",
  undefined,
  "linkRoundTripLatency",
  "capabilityMask2",
  "linkSpeedExtActive",
  "linkSpeedExtSupported",
  undefined,
  "linkSpeedExtEnabled"
])

/**
 * The type of {@link PortInfoRecord}.
 *
 * @category models
 * @since 0.1.0
 */
export type PortInfoRecord = MadLayout.Type<typeof PortInfoRecord>
