/**
 * A node as subnet administration knows it: the NodeRecord, one for each port of an adapter.
 *
 * @since 0.1.0
 */
import * as Lid from "@effect-rdma/core/Lid"
import * as MadField from "./MadField.ts"
import * as MadLayout from "./MadLayout.ts"
import * as NodeDescription from "./NodeDescription.ts"
import * as NodeInfo from "./NodeInfo.ts"
import * as SaRecord from "./SaRecord.ts"

/**
 * NodeRecord: 108 bytes, the `NR` of `saquery(8)`. It is a `NodeInfo` and a `NodeDescription` with the LID of the port.
 *
 * @category layouts
 * @since 0.1.0
 */
export const NodeRecord = SaRecord.make("NodeRecord", 0x0011, 108, {
  lid: MadField.branded(0, 16, Lid.Lid),
  ...MadLayout.moved(NodeInfo.NodeInfo.fields, 4),
  ...MadLayout.moved(NodeDescription.NodeDescription.fields, 44)
}, [
  "lid",
  undefined,
  "baseVersion",
  "classVersion",
  "nodeType",
  "numPorts",
  "systemImageGuid",
  "nodeGuid",
  "portGuid",
  "partitionCap",
  "deviceId",
  "revision",
  "localPortNum",
  "vendorId",
  "nodeDescription"
])

/**
 * The type of {@link NodeRecord}.
 *
 * @category models
 * @since 0.1.0
 */
export type NodeRecord = MadLayout.Type<typeof NodeRecord>
