import { GuidInfo } from "@effect-rdma/umad/GuidInfo"
import { LinearForwardingTable } from "@effect-rdma/umad/LinearForwardingTable"
import { MulticastForwardingTable } from "@effect-rdma/umad/MulticastForwardingTable"
import { NodeDescription } from "@effect-rdma/umad/NodeDescription"
import { NodeInfo } from "@effect-rdma/umad/NodeInfo"
import { PKeyTable } from "@effect-rdma/umad/PKeyTable"
import { PortInfo } from "@effect-rdma/umad/PortInfo"
import { SlToVlMappingTable } from "@effect-rdma/umad/SlToVlMappingTable"
import { SwitchInfo } from "@effect-rdma/umad/SwitchInfo"
import { VlArbitrationTable } from "@effect-rdma/umad/VlArbitrationTable"
import * as Result from "effect/Result"
import * as SetPortInfo from "./setPortInfo.ts"
import * as Smp from "./smp.ts"
import * as Subnet from "./subnet.ts"

/** What the firmware does with an SMP: it replies, drops it, or leaves it to the agents of the port. */
export type Reaction = Uint8Array | "dropped" | "forAgents"

/** The subnet management agent of a port. */
export const react = (subnet: Subnet.SubnetState, port: Subnet.PortState, mad: Uint8Array): Reaction => {
  const method = Smp.methodOf(mad)
  const attribute = attributes[Smp.attributeOf(mad)]
  if (mad[0] !== 1 || method === Smp.method.trapRepress) return "dropped"
  if (Smp.isResponse(mad) || method === Smp.method.trap || method === Smp.method.report) return "forAgents"
  if (Smp.attributeOf(mad) === smInfo) return "forAgents"

  const data = mad.slice(dataOffset, dataOffset + dataSize)
  const reply = (status: number) => Smp.response(mad, status, data, dataOffset)
  if (mad[2] !== 1) return reply(Smp.status.version)
  if (method !== Smp.method.get && method !== Smp.method.set) return reply(Smp.status.method)
  if (!mayAccess(port, mad)) return "dropped"
  const answer = method === Smp.method.set ? attribute?.set : attribute?.get
  if (answer === undefined) return reply(Smp.status.attribute)
  return reply(answer({ subnet, port, modifier: Smp.modifierOf(mad), data, mad }))
}

/** The NodeInfo of a port, as it tells it and as subnet administration has it. */
export const nodeInfoOf = ({ guid, node, number }: Subnet.PortState): NodeInfo => {
  const { description, kind, partitionCap, revision } = node
  return {
    baseVersion: 1,
    classVersion: 1,
    nodeType: kind,
    numPorts: description.numPorts,
    systemImageGuid: description.systemGuid,
    nodeGuid: node.guid,
    portGuid: guid,
    partitionCap,
    deviceId: description.deviceId,
    revision,
    localPortNum: number,
    vendorId: description.vendorId
  }
}

/** The NodeDescription, cut to what fits. */
export const descriptionOf = ({ node }: Subnet.PortState): string => {
  const [text = ""] = node.description.description.toWellFormed().split("\0", 1)
  const { read } = new TextEncoder().encodeInto(text, new Uint8Array(dataSize))
  return text.slice(0, read)
}

export const bytesOf = <A>(layout: { readonly encode: (value: A) => Result.Result<Uint8Array, unknown> }, value: A) =>
  Result.getOrThrow(layout.encode(value))

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

const dataOffset = 64
const dataSize = 64
const smInfo = 0x0020

interface Request {
  readonly subnet: Subnet.SubnetState
  /** At which the packet came in. */
  readonly port: Subnet.PortState
  readonly modifier: number
  /** Of the request; the answer is written over it. */
  readonly data: Uint8Array
  readonly mad: Uint8Array
}

/** Answers into the data of the request, and tells the status. */
type Answer = (request: Request) => number

const fill = <A>(
  layout: { readonly encode: (value: A) => Result.Result<Uint8Array, unknown> },
  data: Uint8Array,
  value: A
): number => {
  data.fill(0)
  data.set(bytesOf(layout, value))
  return Smp.status.ok
}

/** Any 64 bytes can be decoded. */
const decode = <A>(
  layout: { readonly decode: (bytes: Uint8Array) => Result.Result<A, unknown> },
  data: Uint8Array
): A => Result.getOrThrow(layout.decode(data))

// mKeyProtectBits: from 2 on reading needs the key too.
const mayAccess = (port: Subnet.PortState, mad: Uint8Array): boolean => {
  const { info } = Subnet.endPortOf(port)
  if (info.mKey === 0n || info.mKey === Smp.viewOf(mad).getBigUint64(24)) return true
  if (Smp.methodOf(mad) === Smp.method.get && info.mKeyProtectBits < 2) return true
  Subnet.update(Subnet.endPortOf(port), { mKeyViolations: Math.min(info.mKeyViolations + 1, 0xffff) })
  return false
}

const describe: Answer = ({ data, port }) => fill(NodeDescription, data, { nodeDescription: descriptionOf(port) })

const getNodeInfo: Answer = ({ data, port }) => fill(NodeInfo, data, nodeInfoOf(port))

const getSwitchInfo: Answer = ({ data, port: { node: { forwarding } } }) =>
  forwarding === undefined ? Smp.status.attribute : fill(SwitchInfo, data, forwarding.info)

const setSwitchInfo: Answer = (request) => {
  const { forwarding } = request.port.node
  if (forwarding === undefined) return Smp.status.attribute
  const wanted = decode(SwitchInfo, request.data)
  const { linearFdbCap } = forwarding.info
  if (wanted.linearFdbTop >= linearFdbCap) return Smp.status.field
  forwarding.info = {
    ...forwarding.info,
    linearFdbTop: wanted.linearFdbTop,
    defaultPort: wanted.defaultPort,
    defaultMulticastPrimaryPort: wanted.defaultMulticastPrimaryPort,
    defaultMulticastNotPrimaryPort: wanted.defaultMulticastNotPrimaryPort,
    lifeTimeValue: wanted.lifeTimeValue,
    multicastFdbTop: wanted.multicastFdbTop,
    // Writing a one clears it.
    portStateChange: forwarding.info.portStateChange && !wanted.portStateChange
  }
  return getSwitchInfo(request)
}

const portWanted = ({ modifier, port }: Request): Subnet.PortState | undefined => {
  // The highest bit asks for extended speeds.
  const number = modifier & 0x7fff_ffff
  return number === 0 && port.node.kind !== "switch" ? port : Subnet.portOf(port.node, number)
}

const getPortInfo: Answer = (request) => {
  const port = portWanted(request)
  if (port === undefined) return Smp.status.field
  const hidden = port.info.mKeyProtectBits > 0 && Smp.viewOf(request.mad).getBigUint64(24) !== port.info.mKey
  return fill(PortInfo, request.data, {
    ...port.info,
    mKey: hidden ? 0n : port.info.mKey,
    localPortNum: request.port.number
  })
}

const setPortInfo: Answer = (request) => {
  const port = portWanted(request)
  if (port === undefined || (port.node.kind !== "switch" && port !== request.port)) return Smp.status.field
  const status = SetPortInfo.set(request.subnet, port, decode(PortInfo, request.data))
  return status === Smp.status.ok ? getPortInfo(request) : status
}

const guidBlock = 8

const getGuidInfo: Answer = ({ data, modifier, port }) => {
  const { guids, info } = Subnet.endPortOf(port)
  if (modifier * guidBlock >= Math.max(info.guidCap, 1)) return Smp.status.field
  data.fill(0)
  for (let index = 0; index < guidBlock; index++) {
    Smp.viewOf(data).setBigUint64(8 * index, guids.get(modifier * guidBlock + index) ?? 0n)
  }
  return Smp.status.ok
}

const setGuidInfo: Answer = (request) => {
  const port = Subnet.endPortOf(request.port)
  const { guids, info } = port
  const { guids: wanted } = decode(GuidInfo, request.data)
  for (const [index, guid] of wanted.entries()) {
    const place = request.modifier * guidBlock + index
    // The first one is the port's own.
    if (place > 0 && place < info.guidCap && (guid !== 0n || guids.has(place))) guids.set(place, guid)
  }
  Subnet.tableChanged(port, "gidChange")
  return getGuidInfo(request)
}

const pKeyBlock = 32

const pKeyPort = ({ modifier, port }: Request): Subnet.PortState | undefined =>
  port.node.kind === "switch" ? Subnet.portOf(port.node, modifier >>> 16) : port

const getPKeyTable: Answer = (request) => {
  const pKeys = pKeyPort(request)?.pKeys
  const first = (request.modifier & 0xffff) * pKeyBlock
  if (pKeys === undefined || first >= pKeys.length) return Smp.status.field
  request.data.fill(0)
  for (let index = 0; index < pKeyBlock; index++) {
    Smp.viewOf(request.data).setUint16(2 * index, pKeys[first + index] ?? 0)
  }
  return Smp.status.ok
}

const setPKeyTable: Answer = (request) => {
  const port = pKeyPort(request)
  const first = (request.modifier & 0xffff) * pKeyBlock
  if (port === undefined || first >= port.pKeys.length) return Smp.status.field
  for (const [index, pKey] of decode(PKeyTable, request.data).pKeys.entries()) {
    if (first + index < port.pKeys.length) port.pKeys[first + index] = pKey
  }
  Subnet.tableChanged(port, "pkeyChange")
  return getPKeyTable(request)
}

const defaultSlToVl = Uint8Array.of(0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xe7)

const slToVl = (write: boolean): Answer => ({ data, modifier, port }) => {
  const isSwitch = port.node.kind === "switch"
  const out = isSwitch ? Subnet.portOf(port.node, modifier & 0xff) : port
  const into = isSwitch ? (modifier >>> 8) & 0xff : 0
  if (out === undefined || (isSwitch && Subnet.portOf(port.node, into) === undefined)) return Smp.status.field
  if (write) out.slToVl.set(into, bytesOf(SlToVlMappingTable, decode(SlToVlMappingTable, data)))
  data.fill(0)
  data.set(out.slToVl.get(into) ?? defaultSlToVl)
  return Smp.status.ok
}

const lanes = Array.from({ length: 15 }, (_, vl) => vl)
const defaultHigh = Uint8Array.from(lanes.flatMap((vl) => [vl, vl === 0 ? 4 : 0]))
const defaultLow = Uint8Array.from(lanes.flatMap((vl) => [vl, vl === 0 ? 0 : 4]))
const vlBlock = 32

/** Blocks 1 and 2 are the low table, 3 and 4 the high one; each has as many entries as the port tells. */
const vlArbitration = (write: boolean): Answer => ({ data, modifier, port: from }) => {
  const port = from.node.kind === "switch" ? Subnet.portOf(from.node, modifier & 0xffff) : from
  const block = modifier >>> 16
  if (port === undefined || block < 1 || block > 4) return Smp.status.field
  const isHigh = block > 2
  const cap = isHigh ? port.info.vlArbitrationHighCap : port.info.vlArbitrationLowCap
  const entries = Math.min(cap - (block % 2 === 0 ? vlBlock : 0), vlBlock)
  if (entries <= 0) return Smp.status.field
  if (write) port.vlArbitration.set(block, bytesOf(VlArbitrationTable, decode(VlArbitrationTable, data)))
  const table = port.vlArbitration.get(block) ?? (block % 2 === 0 ? undefined : isHigh ? defaultHigh : defaultLow)
  data.fill(0)
  data.set(table?.subarray(0, 2 * entries) ?? [])
  return Smp.status.ok
}

const linearBlock = 64

const linearForwarding = (write: boolean): Answer => ({ data, modifier, port: { node: { forwarding } } }) => {
  if (forwarding === undefined) return Smp.status.attribute
  const first = modifier * linearBlock
  if (first >= forwarding.linear.length) return Smp.status.field
  const room = forwarding.linear.subarray(first, first + linearBlock)
  if (write) room.set(data)
  data.set(room)
  return Smp.status.ok
}

const multicastBlock = 32

const multicastForwarding = (write: boolean): Answer => ({ data, modifier, port: { node: { forwarding } } }) => {
  if (forwarding === undefined) return Smp.status.attribute
  const { multicast, positions } = forwarding
  const position = modifier >>> 28
  const first = (modifier & 0x1ff) * multicastBlock
  if (position >= positions || first * positions >= multicast.length) {
    data.fill(0)
    return Smp.status.ok
  }
  const view = Smp.viewOf(data)
  for (let index = 0; index < multicastBlock; index++) {
    const at = (first + index) * positions + position
    if (write) multicast[at] = view.getUint16(2 * index)
    view.setUint16(2 * index, multicast[at] ?? 0)
  }
  return Smp.status.ok
}

const attributes: { readonly [id: number]: { readonly get: Answer; readonly set?: Answer } } = {
  [NodeDescription.attributeId]: { get: describe },
  [NodeInfo.attributeId]: { get: getNodeInfo },
  [SwitchInfo.attributeId]: { get: getSwitchInfo, set: setSwitchInfo },
  [GuidInfo.attributeId]: { get: getGuidInfo, set: setGuidInfo },
  [PortInfo.attributeId]: { get: getPortInfo, set: setPortInfo },
  [PKeyTable.attributeId]: { get: getPKeyTable, set: setPKeyTable },
  [SlToVlMappingTable.attributeId]: { get: slToVl(false), set: slToVl(true) },
  [VlArbitrationTable.attributeId]: { get: vlArbitration(false), set: vlArbitration(true) },
  [LinearForwardingTable.attributeId]: { get: linearForwarding(false), set: linearForwarding(true) },
  [MulticastForwardingTable.attributeId]: { get: multicastForwarding(false), set: multicastForwarding(true) }
}
