/**
 * What a node is: the NodeInfo attribute of subnet management.
 *
 * @since 0.1.0
 */
import * as Guid from "@effect-rdma/core/Guid"
import * as Identifier from "@effect-rdma/core/Identifier"
import * as NodeType from "@effect-rdma/core/NodeType"
import * as MadAttribute from "./MadAttribute.ts"
import * as MadField from "./MadField.ts"
import type * as MadLayout from "./MadLayout.ts"

/**
 * NodeInfo: 40 bytes, the `NODE INFO` of `smpquery(8)`. Of an adapter `portGuid` and `localPortNum` are those of the port
 * that answered.
 *
 * @category layouts
 * @since 0.1.0
 */
export const NodeInfo = MadAttribute.make("NodeInfo", 0x0011, 40, {
  baseVersion: MadField.unsigned(0, 8),
  classVersion: MadField.unsigned(8, 8),
  nodeType: MadField.enumerated(16, 8, NodeType.enumeration),
  numPorts: MadField.unsigned(24, 8),
  systemImageGuid: MadField.unsigned64(32, Guid.Guid),
  nodeGuid: MadField.unsigned64(96, Guid.Guid),
  portGuid: MadField.unsigned64(160, Guid.Guid),
  /** Entries of the P_Key table of each port. */
  partitionCap: MadField.unsigned(224, 16),
  deviceId: MadField.unsigned(240, 16),
  revision: MadField.unsigned(256, 32),
  /** The port that answered. */
  localPortNum: MadField.branded(288, 8, Identifier.AnyPortNumber),
  /** An OUI of the IEEE. */
  vendorId: MadField.unsigned(296, 24)
})

/**
 * The type of {@link NodeInfo}.
 *
 * @category models
 * @since 0.1.0
 */
export type NodeInfo = MadLayout.Type<typeof NodeInfo>
