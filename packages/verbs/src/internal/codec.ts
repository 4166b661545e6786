/**
 * The structs of libibverbs as values and back: pure, apart from the calls that fill them.
 *
 * @since 0.1.0
 */
import * as Gid from "@effect-rdma/core/Gid"
import * as Guid from "@effect-rdma/core/Guid"
import * as Identifier from "@effect-rdma/core/Identifier"
import * as Lid from "@effect-rdma/core/Lid"
import * as LinkLayer from "@effect-rdma/core/LinkLayer"
import * as Mtu from "@effect-rdma/core/Mtu"
import * as PhysicalState from "@effect-rdma/core/PhysicalState"
import * as PortState from "@effect-rdma/core/PortState"
import * as StaticRate from "@effect-rdma/core/StaticRate"
import type * as AddressHandleAttributes from "../AddressHandleAttributes.ts"
import type * as DeviceAttributes from "../DeviceAttributes.ts"
import type * as GidEntry from "../GidEntry.ts"
import type * as PortAttributes from "../PortAttributes.ts"
import type * as ReceivedDatagram from "../ReceivedDatagram.ts"
import type * as ResourceDomainAttributes from "../ResourceDomainAttributes.ts"
import * as AddressLayout from "./AddressLayout.ts"
import * as CompletionLayout from "./CompletionLayout.ts"
import * as DeviceLayout from "./DeviceLayout.ts"
import * as ExperimentalLayout from "./ExperimentalLayout.ts"

/** `enum ibv_atomic_cap` in its order. */
export const atomicCapabilities: ReadonlyArray<DeviceAttributes.AtomicCapability> = ["none", "hca", "glob"]

export const decodeDeviceAttributes = (view: DataView): DeviceAttributes.DeviceAttributes => {
  const attributes = DeviceLayout.DeviceAttr.read(view)
  return {
    ...attributes,
    nodeGuid: Guid.Guid.make(attributes.nodeGuid),
    sysImageGuid: Guid.Guid.make(attributes.sysImageGuid),
    atomicCap: atomicCapabilities[attributes.atomicCap] ?? "unknown"
  }
}

/** Bytes of `struct ibv_port_attr` in the newest headers; an older library leaves the end at zero. */
export const portAttributesBytes = 56

const activeSpeedExOffset = 52

export const decodePortAttributes = (view: DataView): PortAttributes.PortAttributes => {
  const attributes = DeviceLayout.PortAttr.read(view)
  return {
    ...attributes,
    state: PortState.fromNative(attributes.state),
    maxMtu: Mtu.fromNative(attributes.maxMtu),
    activeMtu: Mtu.fromNative(attributes.activeMtu),
    lid: Lid.Lid.make(attributes.lid),
    smLid: Lid.Lid.make(attributes.smLid),
    physState: PhysicalState.fromNative(attributes.physState),
    linkLayer: LinkLayer.fromNative(attributes.linkLayer),
    activeSpeedEx: view.getUint32(activeSpeedExOffset, true)
  }
}

/** `enum ibv_gid_type` in its order. */
export const gidTypes: ReadonlyArray<GidEntry.GidType> = ["ib", "roceV1", "roceV2"]

export const decodeGidEntry = (view: DataView, offset: number): GidEntry.GidEntry => {
  const entry = DeviceLayout.GidEntry.read(view, offset)
  return {
    gid: Gid.fromBytes(entry.gid),
    gidIndex: entry.gidIndex,
    portNum: Identifier.PortNumber.make(entry.portNum),
    gidType: gidTypes[entry.gidType] ?? "unknown",
    ndevIfindex: entry.ndevIfindex
  }
}

export const encodeAddressHandleAttributes = (
  { grh, staticRate, ...local }: AddressHandleAttributes.AddressHandleAttributes
): DataView => {
  const view = AddressLayout.AhAttr.allocate()
  AddressLayout.AhAttr.write(view, {
    ...local,
    ...grh,
    staticRate: StaticRate.toNative(staticRate),
    isGlobal: grh === undefined ? 0 : 1
  })
  return view
}

export const decodeAddressHandleAttributes = (
  view: DataView
): AddressHandleAttributes.AddressHandleAttributes => {
  const attributes = AddressLayout.AhAttr.read(view)
  const rate = StaticRate.fromNative(attributes.staticRate)
  const local = {
    portNum: Identifier.PortNumber.make(attributes.portNum),
    dlid: Lid.Lid.make(attributes.dlid),
    sl: Identifier.ServiceLevel.make(attributes.sl & 0xf),
    srcPathBits: Identifier.PathBits.make(attributes.srcPathBits & 0x7f),
    staticRate: rate === "unknown" ? "max" : rate
  } as const
  if (attributes.isGlobal === 0) return local
  return {
    ...local,
    grh: {
      dgid: Gid.fromBytes(attributes.dgid),
      flowLabel: Identifier.FlowLabel.make(attributes.flowLabel & 0xfffff),
      sgidIndex: Identifier.GidIndex.make(attributes.sgidIndex),
      hopLimit: Identifier.HopLimit.make(attributes.hopLimit),
      trafficClass: Identifier.TrafficClass.make(attributes.trafficClass)
    }
  }
}

/** `IBV_WC_GRH` of `enum ibv_wc_flags`: a routing header is in front of the payload. */
export const wcWithGrh = 1

export const encodeReceived = ({ grh, ...received }: ReceivedDatagram.ReceivedDatagram): DataView => {
  const view = CompletionLayout.Wc.allocate()
  CompletionLayout.Wc.write(view, { ...received, wcFlags: grh === undefined ? 0 : wcWithGrh })
  return view
}

const threadModels = { safe: 0, unsafe: 1, single: 2 } as const
const messageModels = { default: 0, lowLatency: 1, highBandwidth: 2, forceLowLatency: 3 } as const

export const encodeResourceDomainAttributes = (
  { msgModel, threadModel }: ResourceDomainAttributes.ResourceDomainAttributes
): DataView => {
  const view = ExperimentalLayout.ResDomainInitAttr.allocate()
  const mask = ExperimentalLayout.resDomainInitMask
  ExperimentalLayout.ResDomainInitAttr.write(view, {
    compMask: (threadModel === undefined ? 0 : mask.threadModel) | (msgModel === undefined ? 0 : mask.msgModel),
    threadModel: threadModels[threadModel ?? "safe"],
    msgModel: messageModels[msgModel ?? "default"]
  })
  return view
}
