/**
 * What the programs named after infiniband-diags share: how they open a port, and how they print attributes. The text is
 * that of the C programs, character for character.
 */
import { Identifier, type Mtu, PhysicalState } from "@effect-rdma/core"
import type {
  NodeInfo,
  PortCounters,
  PortCountersExtended,
  PortInfo,
  SubnetManagement,
  SwitchInfo
} from "@effect-rdma/umad"
import { Umad, UmadLibrary, UmadPort } from "@effect-rdma/umad"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Console, Effect, Schema } from "effect"
import { Command, type Command as Commands, Flag } from "effect/cli"

/** What ends a program beside the errors of the library. */
export class DiagnosticError extends Schema.TaggedError<DiagnosticError>()("DiagnosticError", {
  problem: Schema.String
}) {
  override get message() {
    return this.problem
  }
}

/** Which port to ask through. */
export const portFlags = {
  ca: Flag.String("Ca").pipe(
    Flag.withAlias("C"),
    Flag.withDefault(undefined),
    Flag.withDescription("the adapter to ask through")
  ),
  caPort: Flag.Int("Port").pipe(
    Flag.withAlias("P"),
    Flag.withDefault(undefined),
    Flag.withDescription("the port of the adapter to ask through")
  )
}

export interface PortOptions {
  readonly ca: string | undefined
  readonly caPort: number | undefined
}

/** The port, open, and what sysfs tells of it. */
export const openPort = Effect.fnUntraced(function*({ ca, caPort }: PortOptions) {
  const filter = {
    ...(ca === undefined ? {} : { caName: ca }),
    ...(caPort === undefined ? {} : { portNum: caPort })
  }
  const library = yield* UmadLibrary.init()
  const { attributes } = yield* UmadPort.get(library, filter)
  return { attributes, port: yield* UmadPort.open(library, filter) }
})

/** Runs a program on the host's libibumad; the process ends with 1 when it fails. */
export const run = <Name extends string, Input, Input2, E>(
  command: Commands.Command<Name, Input, Input2, E, Umad.Umad>
): void =>
  command.pipe(
    Command.run({ version: "0.1.0" }),
    Effect.provide([Umad.Umad.layer, NodeServices.layer]),
    NodeRuntime.runMain
  )

// -----------------------------------------------------------------------------
// Addresses
// -----------------------------------------------------------------------------

/** A LID, or with `direct` the ports of a directed route behind the 0 that they begin with. */
export const routeOf = (text: string, direct: boolean): Effect.Effect<SubnetManagement.Route, DiagnosticError> =>
  Effect.suspend((): Effect.Effect<SubnetManagement.Route, DiagnosticError> => {
    const numbers = text.split(",").map(Number)
    if (!numbers.every(Number.isInteger)) return Effect.fail(new DiagnosticError({ problem: `no address: ${text}` }))
    if (!direct) return Effect.succeed({ lid: Number(text) })
    return numbers[0] === 0
      ? Effect.succeed({ path: numbers.slice(1) })
      : Effect.fail(new DiagnosticError({ problem: `a directed route begins with 0: ${text}` }))
  })

/** As `portid2str` of libibmad says it. */
export const routeText = (route: SubnetManagement.Route): string =>
  "lid" in route ? `Lid ${route.lid}` : `DR path slid 65535; dlid 65535; ${[0, ...route.path].join(",")}`

export const anyPort = (number: number): Identifier.AnyPortNumber => Identifier.AnyPortNumber.make(number)

// -----------------------------------------------------------------------------
// Fields
// -----------------------------------------------------------------------------

/** A name and a value, each line as `mad_dump_field` makes it. */
export type Line = readonly [name: string, text: string | number | bigint]

export const print = (lines: ReadonlyArray<Line>, indent = ""): Effect.Effect<void> =>
  Console.log(lines.map(([name, text]) => `${indent}${`${name}:`.padEnd(33, ".")}${text}`).join("\n"))

export const hex = (value: number | bigint, digits: number): string => `0x${value.toString(16).padStart(digits, "0")}`

const flag = (value: boolean): number => value ? 1 : 0

const nodeTypes: { readonly [type: string]: string } = { ca: "Channel Adapter", switch: "Switch", router: "Router" }

export const nodeTypeText = (type: NodeInfo.NodeInfo["nodeType"]): string => nodeTypes[type] ?? "?(invalid)?"

export const nodeInfoLines = (info: NodeInfo.NodeInfo): ReadonlyArray<Line> => [
  ["BaseVers", info.baseVersion],
  ["ClassVers", info.classVersion],
  ["NodeType", nodeTypeText(info.nodeType)],
  ["NumPorts", info.numPorts],
  ["SystemGuid", hex(info.systemImageGuid, 16)],
  ["Guid", hex(info.nodeGuid, 16)],
  ["PortGuid", hex(info.portGuid, 16)],
  ["PartCap", info.partitionCap],
  ["DevId", hex(info.deviceId, 4)],
  ["Revision", hex(info.revision, 8)],
  ["LocalPort", info.localPortNum],
  ["VendorId", hex(info.vendorId, 6)]
]

const maskText = (mask: number, names: ReadonlyArray<readonly [bit: number, name: string]>): string =>
  names.flatMap(([bit, name]) => (mask & bit) === 0 ? [] : [name]).join(" or ")

// In the order in which libibmad says them.
const widths = [[1, "1X"], [2, "4X"], [4, "8X"], [8, "12X"], [16, "2X"]] as const
const speeds = [[1, "2.5 Gbps"], [2, "5.0 Gbps"], [4, "10.0 Gbps"]] as const
const extendedSpeeds = [[1, "14.0625 Gbps"], [2, "25.78125 Gbps"], [4, "53.125 Gbps"], [8, "106.25 Gbps"]] as const

const states: { readonly [state: string]: string } = {
  nop: "NoChange",
  down: "Down",
  init: "Initialize",
  armed: "Armed",
  active: "Active"
}

const downDefaults: { readonly [state: number]: string } = { 0: "NoChange", 1: "Sleep", 2: "Polling" }

const lanes: { readonly [code: number]: string } = { 1: "VL0", 2: "VL0,1", 3: "VL0-3", 4: "VL0-7", 5: "VL0-14" }

const lanesText = (code: number, none: string): string => code === 0 ? none : lanes[code] ?? `?(${code})`

const mtuText = (mtu: Mtu.Mtu | number): string => mtu >= 256 ? String(mtu) : `?(${mtu})`

const capabilities: ReadonlyArray<readonly [bit: number, name: string]> = [
  [1, "IsSM"],
  [2, "IsNoticeSupported"],
  [3, "IsTrapSupported"],
  [4, "IsOptionalIPDSupported"],
  [5, "IsAutomaticMigrationSupported"],
  [6, "IsSLMappingSupported"],
  [7, "IsMKeyNVRAM"],
  [8, "IsPKeyNVRAM"],
  [9, "IsLedInfoSupported"],
  [10, "IsSMdisabled"],
  [11, "IsSystemImageGUIDsupported"],
  [12, "IsPkeySwitchExternalPortTrapSupported"],
  [14, "IsExtendedSpeedsSupported"],
  [15, "IsCapabilityMask2Supported"],
  [16, "IsCommunicatonManagementSupported"],
  [17, "IsSNMPTunnelingSupported"],
  [18, "IsReinitSupported"],
  [19, "IsDeviceManagementSupported"],
  [20, "IsVendorClassSupported"],
  [21, "IsDRNoticeSupported"],
  [22, "IsCapabilityMaskNoticeSupported"],
  [23, "IsBootManagementSupported"],
  [24, "IsLinkRoundTripLatencySupported"],
  [25, "IsClientRegistrationSupported"],
  [26, "IsOtherLocalChangesNoticeSupported"],
  [27, "IsLinkSpeedWidthPairsTableSupported"],
  [28, "IsVendorSpecificMadsTableSupported"],
  [29, "IsMcastPkeyTrapSuppressionSupported"],
  [30, "IsMulticastFDBTopSupported"],
  [31, "IsHierarchyInfoSupported"]
]

const capabilities2: ReadonlyArray<readonly [bit: number, name: string]> = [
  [0, "IsSetNodeDescriptionSupported"],
  [1, "IsPortInfoExtendedSupported"],
  [2, "IsVirtualizationSupported"],
  [3, "IsSwitchPortStateTableSupported"],
  [4, "IsLinkWidth2xSupported"],
  [5, "IsLinkSpeedHDRSupported"],
  [6, "IsMKeyProtectBitsExtSupported"],
  [7, "IsEnhancedTrap128Supported"],
  [8, "IsPartitionTopSupported"],
  [9, "IsEnhancedQoSArbiterSupported"],
  [10, "IsLinkSpeedNDRSupported"]
]

const capabilityText = (mask: number, names: ReadonlyArray<readonly [bit: number, name: string]>): string =>
  [hex(mask, 1), ...names.flatMap(([bit, name]) => (mask >>> bit & 1) === 0 ? [] : [name])].join("\n\t\t\t\t")

export const portInfoLines = (info: PortInfo.PortInfo): ReadonlyArray<Line> => [
  ["Mkey", "<not displayed>"],
  ["GidPrefix", hex(info.gidPrefix, 16)],
  ["Lid", info.lid],
  ["SMLid", info.masterSmLid],
  ["CapMask", capabilityText(info.capabilityMask, capabilities)],
  ["DiagCode", hex(info.diagCode, 4)],
  ["MkeyLeasePeriod", info.mKeyLeasePeriod],
  ["LocalPort", info.localPortNum],
  ["LinkWidthEnabled", maskText(info.linkWidthEnabled, widths)],
  ["LinkWidthSupported", maskText(info.linkWidthSupported, widths)],
  ["LinkWidthActive", maskText(info.linkWidthActive, widths)],
  ["LinkSpeedSupported", maskText(info.linkSpeedSupported, speeds)],
  ["LinkState", states[info.portState] ?? `?(${info.portState})`],
  [
    "PhysLinkState",
    typeof info.portPhysicalState === "string"
      ? PhysicalState.format(info.portPhysicalState)
      : `?(${info.portPhysicalState})`
  ],
  ["LinkDownDefState", downDefaults[info.linkDownDefaultState] ?? `?(${info.linkDownDefaultState})`],
  ["ProtectBits", info.mKeyProtectBits],
  ["LMC", info.lmc],
  ["LinkSpeedActive", maskText(info.linkSpeedActive, speeds)],
  ["LinkSpeedEnabled", maskText(info.linkSpeedEnabled, speeds)],
  ["NeighborMTU", mtuText(info.neighborMtu)],
  ["SMSL", info.masterSmSl],
  ["VLCap", lanesText(info.vlCap, "VL0")],
  ["InitType", hex(info.initType, 2)],
  ["VLHighLimit", info.vlHighLimit],
  ["VLArbHighCap", info.vlArbitrationHighCap],
  ["VLArbLowCap", info.vlArbitrationLowCap],
  ["InitReply", hex(info.initTypeReply, 2)],
  ["MtuCap", mtuText(info.mtuCap)],
  ["VLStallCount", info.vlStallCount],
  ["HoqLife", info.hoqLife],
  ["OperVLs", lanesText(info.operationalVls, "No change")],
  ["PartEnforceInb", flag(info.partitionEnforcementInbound)],
  ["PartEnforceOutb", flag(info.partitionEnforcementOutbound)],
  ["FilterRawInb", flag(info.filterRawInbound)],
  ["FilterRawOutb", flag(info.filterRawOutbound)],
  ["MkeyViolations", info.mKeyViolations],
  ["PkeyViolations", info.pKeyViolations],
  ["QkeyViolations", info.qKeyViolations],
  ["GuidCap", info.guidCap],
  ["ClientReregister", flag(info.clientReregister)],
  ["McastPkeyTrapSuppressionEnabled", info.multicastPKeyTrapSuppressionEnabled],
  ["SubnetTimeout", info.subnetTimeout],
  ["RespTimeVal", info.respTimeValue],
  ["LocalPhysErr", info.localPhyErrors],
  ["OverrunErr", info.overrunErrors],
  ["MaxCreditHint", info.maxCreditHint],
  ["RoundTrip", info.linkRoundTripLatency],
  ["CapabilityMask2", capabilityText(info.capabilityMask2, capabilities2)],
  [
    "LinkSpeedExtActive",
    info.linkSpeedExtActive === 0 ? "No Extended Speed" : maskText(info.linkSpeedExtActive, extendedSpeeds)
  ],
  [
    "LinkSpeedExtSupported",
    info.linkSpeedExtSupported === 0 ? "0" : maskText(info.linkSpeedExtSupported, extendedSpeeds)
  ],
  ["LinkSpeedExtEnabled", info.linkSpeedExtEnabled === 0 ? "0" : maskText(info.linkSpeedExtEnabled, extendedSpeeds)]
]

export const switchInfoLines = (info: SwitchInfo.SwitchInfo): ReadonlyArray<Line> => [
  ["LinearFdbCap", info.linearFdbCap],
  ["RandomFdbCap", info.randomFdbCap],
  ["McastFdbCap", info.multicastFdbCap],
  ["LinearFdbTop", info.linearFdbTop],
  ["DefPort", info.defaultPort],
  ["DefMcastPrimPort", info.defaultMulticastPrimaryPort],
  ["DefMcastNotPrimPort", info.defaultMulticastNotPrimaryPort],
  ["LifeTime", info.lifeTimeValue],
  ["StateChange", flag(info.portStateChange)],
  ["OptSLtoVLMapping", info.optimizedSlToVlMappingProgramming],
  ["LidsPerPort", info.lidsPerPort],
  ["PartEnforceCap", info.partitionEnforcementCap],
  ["InboundPartEnf", flag(info.inboundEnforcementCap)],
  ["OutboundPartEnf", flag(info.outboundEnforcementCap)],
  ["FilterRawInbound", flag(info.filterRawInboundCap)],
  ["FilterRawOutbound", flag(info.filterRawOutboundCap)],
  ["EnhancedPort0", flag(info.enhancedPort0)],
  ["MulticastFDBTop", hex(info.multicastFdbTop, 4)]
]

export const portCountersLines = (counters: PortCounters.PortCounters): ReadonlyArray<Line> => [
  ["PortSelect", counters.portSelect],
  ["CounterSelect", hex(counters.counterSelect, 4)],
  ["SymbolErrorCounter", counters.symbolErrorCounter],
  ["LinkErrorRecoveryCounter", counters.linkErrorRecoveryCounter],
  ["LinkDownedCounter", counters.linkDownedCounter],
  ["PortRcvErrors", counters.portRcvErrors],
  ["PortRcvRemotePhysicalErrors", counters.portRcvRemotePhysicalErrors],
  ["PortRcvSwitchRelayErrors", counters.portRcvSwitchRelayErrors],
  ["PortXmitDiscards", counters.portXmitDiscards],
  ["PortXmitConstraintErrors", counters.portXmitConstraintErrors],
  ["PortRcvConstraintErrors", counters.portRcvConstraintErrors],
  ["CounterSelect2", hex(counters.counterSelect2, 2)],
  ["LocalLinkIntegrityErrors", counters.localLinkIntegrityErrors],
  ["ExcessiveBufferOverrunErrors", counters.excessiveBufferOverrunErrors],
  ["QP1Dropped", counters.qp1Dropped],
  ["VL15Dropped", counters.vl15Dropped],
  ["PortXmitData", counters.portXmitData],
  ["PortRcvData", counters.portRcvData],
  ["PortXmitPkts", counters.portXmitPkts],
  ["PortRcvPkts", counters.portRcvPkts],
  ["PortXmitWait", counters.portXmitWait]
]

export const extendedCountersLines = (counters: PortCountersExtended.PortCountersExtended): ReadonlyArray<Line> => [
  ["PortSelect", counters.portSelect],
  ["CounterSelect", hex(counters.counterSelect, 4)],
  ["PortXmitData", counters.portXmitData],
  ["PortRcvData", counters.portRcvData],
  ["PortXmitPkts", counters.portXmitPkts],
  ["PortRcvPkts", counters.portRcvPkts],
  ["PortUnicastXmitPkts", counters.portUnicastXmitPkts],
  ["PortUnicastRcvPkts", counters.portUnicastRcvPkts],
  ["PortMulticastXmitPkts", counters.portMulticastXmitPkts],
  ["PortMulticastRcvPkts", counters.portMulticastRcvPkts]
]
