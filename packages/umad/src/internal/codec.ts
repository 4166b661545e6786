/**
 * From the structs of libibumad to the values of this package.
 *
 * @since 0.1.0
 */
import type * as Guid from "@effect-rdma/core/Guid"
import type * as Identifier from "@effect-rdma/core/Identifier"
import * as NodeType from "@effect-rdma/core/NodeType"
import * as PhysicalState from "@effect-rdma/core/PhysicalState"
import type * as PKey from "@effect-rdma/core/PKey"
import * as PortState from "@effect-rdma/core/PortState"
import type * as Struct from "@effect-rdma/core/Struct"
import * as Brand from "effect/Brand"
import type * as CaAttributes from "../CaAttributes.ts"
import type * as PortAttributes from "../PortAttributes.ts"
import type * as Layout from "./Layout.ts"

// Unchecked: each fits by the width of its C field.
const guid = Brand.nominal<Guid.Guid>()
const pkey = Brand.nominal<PKey.PKey>()
const portNumber = Brand.nominal<Identifier.AnyPortNumber>()

export const portAttributes = (
  port: Struct.Type<typeof Layout.Port>,
  pkeys: ReadonlyArray<number>
): PortAttributes.PortAttributes => ({
  caName: port.caName,
  portNum: portNumber(port.portnum),
  baseLid: port.baseLid,
  lmc: port.lmc,
  smLid: port.smLid,
  smSl: port.smSl,
  state: PortState.fromNative(port.state),
  physState: PhysicalState.fromNative(port.physState),
  rate: port.rate,
  capmask: port.capmask,
  gidPrefix: port.gidPrefix,
  portGuid: guid(port.portGuid),
  pkeys: pkeys.map((key) => pkey(key)),
  linkLayer: port.linkLayer
})

export const caAttributes = (
  ca: Struct.Type<typeof Layout.Ca>,
  ports: ReadonlyArray<PortAttributes.PortAttributes>
): CaAttributes.CaAttributes => ({
  caName: ca.caName,
  nodeType: NodeType.fromNative(ca.nodeType),
  numports: ca.numports,
  fwVer: ca.fwVer,
  caType: ca.caType,
  hwVer: ca.hwVer,
  nodeGuid: guid(ca.nodeGuid),
  systemGuid: guid(ca.systemGuid),
  ports
})
