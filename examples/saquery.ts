/**
 * Asks the subnet manager for records, as `saquery(8)` does:
 *
 *     node examples/saquery.ts NR 4                    the node of LID 4
 *     node examples/saquery.ts PR --slid 2 --dlid 4    the paths between two LIDs
 */
import { Gid, Lid, type Mtu, Mtu as Mtus, StaticRate } from "@effect-rdma/core"
import {
  ClassPortInfo,
  McMemberRecord,
  NodeRecord,
  PathRecord,
  PortInfoRecord,
  ServiceRecord,
  SubnetAdministration
} from "@effect-rdma/umad"
import { Console, Effect } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import {
  hex,
  type Line,
  nodeTypeText,
  openPort,
  portFlags,
  portInfoLines,
  type PortOptions,
  print,
  run
} from "./diagnostics.ts"

export const records = ["NR", "PR", "PIR", "MCMR", "SR", "CPI"] as const

export interface Options extends PortOptions {
  readonly record: typeof records[number]
  readonly lid: number | undefined
  readonly slid: number | undefined
  readonly dlid: number | undefined
}

export const saquery = Effect.fnUntraced(function*(options: Options) {
  const { attributes, port } = yield* openPort(options)
  const manager = yield* SubnetAdministration.of(port, attributes)
  yield* shown[options.record](manager, options)
}, Effect.scoped)

type Show = (manager: SubnetAdministration.SubnetAdministration, options: Options) => Effect.Effect<void, unknown>

const { getTable } = SubnetAdministration

const shown: { readonly [Record in Options["record"]]: Show } = {
  NR: Effect.fnUntraced(function*(manager, { lid }) {
    const query = lid === undefined ? {} : { lid: Lid.Lid.make(lid) }
    for (const record of yield* getTable(manager, NodeRecord.NodeRecord, query)) {
      yield* dump("NodeRecord", nodeLines(record))
    }
  }),
  PR: Effect.fnUntraced(function*(manager, { dlid, slid }) {
    const query = {
      ...(slid === undefined ? {} : { slid: Lid.Lid.make(slid) }),
      ...(dlid === undefined ? {} : { dlid: Lid.Lid.make(dlid) })
    }
    for (const record of yield* getTable(manager, PathRecord.PathRecord, query)) {
      yield* dump("PathRecord", pathLines(record))
    }
  }),
  PIR: Effect.fnUntraced(function*(manager, { lid }) {
    const query = lid === undefined ? {} : { endPortLid: Lid.Lid.make(lid) }
    for (const record of yield* getTable(manager, PortInfoRecord.PortInfoRecord, query)) {
      yield* Console.log("PortInfoRecord dump:\n\tRID")
      yield* Console.log(dotted([
        ["EndPortLid", record.endPortLid],
        ["PortNum", record.portNum],
        ["Options", hex(record.options, 1)]
      ]))
      yield* Console.log("\tPortInfo dump:")
      yield* print(portInfoLines(record), "\t\t")
    }
  }),
  MCMR: Effect.fnUntraced(function*(manager) {
    for (const record of yield* getTable(manager, McMemberRecord.McMemberRecord)) {
      yield* dump("MCMember Record", memberLines(record))
    }
  }),
  SR: Effect.fnUntraced(function*(manager) {
    for (const record of yield* getTable(manager, ServiceRecord.ServiceRecord)) {
      yield* dump("ServiceRecord", serviceLines(record))
    }
  }),
  CPI: Effect.fnUntraced(function*(manager) {
    const info = yield* SubnetAdministration.attribute(manager, "get", ClassPortInfo.ClassPortInfo)
    const lines = classLines(info).map(([name, text]) => `\t\t${name.padEnd(25, ".")}${text}`)
    yield* Console.log(["SA ClassPortInfo:", ...lines].join("\n"))
  })
}

const dump = (title: string, lines: ReadonlyArray<Line>): Effect.Effect<void> =>
  Console.log(`${title} dump:\n${dotted(lines)}`)

const dotted = (lines: ReadonlyArray<Line>): string =>
  lines.map(([name, text]) => `\t\t${name.padEnd(24, ".")}${text}`).join("\n")

const number = (value: number): string => `0x${value.toString(16).toUpperCase()}`

const nodeLines = (record: NodeRecord.NodeRecord): ReadonlyArray<Line> => [
  ["lid", record.lid],
  ["reserved", "0x0"],
  ["base_version", number(record.baseVersion)],
  ["class_version", number(record.classVersion)],
  ["node_type", nodeTypeText(record.nodeType)],
  ["num_ports", record.numPorts],
  ["sys_guid", hex(record.systemImageGuid, 16)],
  ["node_guid", hex(record.nodeGuid, 16)],
  ["port_guid", hex(record.portGuid, 16)],
  ["partition_cap", number(record.partitionCap)],
  ["device_id", number(record.deviceId)],
  ["revision", number(record.revision)],
  ["port_num", record.localPortNum],
  ["vendor_id", number(record.vendorId)],
  ["NodeDescription", record.nodeDescription]
]

const mtuNumber = (mtu: Mtu.Mtu | number): number => isMtu(mtu) ? Mtus.toNative(mtu) : mtu
const isMtu = (mtu: number): mtu is Mtu.Mtu => mtu >= 256
const rateNumber = (rate: PathRecord.PathRecord["rate"]): number =>
  typeof rate === "string" ? StaticRate.toNative(rate) : rate

const pathLines = (record: PathRecord.PathRecord): ReadonlyArray<Line> => [
  ["service_id", hex(record.serviceId, 16)],
  ["dgid", Gid.formatCompressed(record.dgid)],
  ["sgid", Gid.formatCompressed(record.sgid)],
  ["dlid", record.dlid],
  ["slid", record.slid],
  ["hop_flow_raw", number((record.rawTraffic ? 2 ** 31 : 0) + record.flowLabel * 256 + record.hopLimit)],
  ["tclass", number(record.trafficClass)],
  ["num_path_revers", number((record.reversible ? 0x80 : 0) | record.numbPath)],
  ["pkey", number(record.pKey)],
  ["qos_class", number(record.qosClass)],
  ["sl", number(record.sl)],
  ["mtu", number(record.mtuSelector << 6 | mtuNumber(record.mtu))],
  ["rate", number(record.rateSelector << 6 | rateNumber(record.rate))],
  ["pkt_life", number(record.packetLifeTimeSelector << 6 | record.packetLifeTime)],
  ["preference", number(record.preference)],
  // Reserved: what a subnet manager has there does not come this far.
  ["resv2", "0x000000000000"]
]

const memberLines = (record: McMemberRecord.McMemberRecord): ReadonlyArray<Line> => [
  ["MGID", Gid.formatCompressed(record.mgid)],
  ["PortGid", Gid.formatCompressed(record.portGid)],
  ["qkey", hex(record.qKey, 1)],
  ["mlid", hex(record.mlid, 1)],
  ["mtu", number(record.mtuSelector << 6 | mtuNumber(record.mtu))],
  ["TClass", number(record.trafficClass)],
  ["pkey", hex(record.pKey, 1)],
  ["rate", number(record.rateSelector << 6 | rateNumber(record.rate))],
  ["pkt_life", number(record.packetLifeTimeSelector << 6 | record.packetLifeTime)],
  ["SL", number(record.sl)],
  ["FlowLabel", number(record.flowLabel)],
  ["HopLimit", number(record.hopLimit)],
  ["Scope", number(record.scope)],
  ["JoinState", number(record.joinState)],
  ["ProxyJoin", record.proxyJoin ? "0x1" : "0x0"]
]

const serviceLines = (record: ServiceRecord.ServiceRecord): ReadonlyArray<Line> => [
  ["ServiceID", hex(record.serviceId, 16)],
  ["ServiceGID", Gid.formatCompressed(record.serviceGid)],
  ["ServiceP_Key", number(record.servicePKey)],
  ["ServiceLease", number(record.serviceLease)],
  ["ServiceName", record.serviceName]
]

const classLines = (info: ClassPortInfo.ClassPortInfo): ReadonlyArray<Line> => [
  ["Base version", info.baseVersion],
  ["Class version", info.classVersion],
  ["Capability mask", upper(info.capabilityMask, 4)],
  ["Capability mask 2", upper(info.capabilityMask2, 8)],
  ["Response time value", upper(info.respTimeValue, 2)],
  ["Redirect GID", Gid.formatCompressed(info.redirectGid)],
  ["Redirect TC/SL/FL", route(info.redirectTrafficClass, info.redirectSl, info.redirectFlowLabel)],
  ["Redirect LID", info.redirectLid],
  ["Redirect PKey", upper(info.redirectPKey, 4)],
  ["Redirect QP", upper(info.redirectQp, 8)],
  ["Redirect QKey", upper(info.redirectQKey, 8)],
  ["Trap GID", Gid.formatCompressed(info.trapGid)],
  ["Trap TC/SL/FL", route(info.trapTrafficClass, info.trapSl, info.trapFlowLabel)],
  ["Trap LID", info.trapLid],
  ["Trap PKey", upper(info.trapPKey, 4)],
  ["Trap HL/QP", upper(info.trapHopLimit * 2 ** 24 + info.trapQp, 8)],
  ["Trap QKey", upper(info.trapQKey, 8)]
]

const route = (trafficClass: number, sl: number, flowLabel: number): string =>
  upper(trafficClass * 2 ** 24 + (sl << 20) + flowLabel, 8)

const upper = (value: number, digits: number): string => `0x${value.toString(16).toUpperCase().padStart(digits, "0")}`

if (import.meta.main) {
  run(Command.make("saquery", {
    ...portFlags,
    slid: Flag.Int("slid").pipe(Flag.withDefault(undefined), Flag.withDescription("source LID of paths")),
    dlid: Flag.Int("dlid").pipe(Flag.withDefault(undefined), Flag.withDescription("destination LID of paths")),
    record: Argument.Literals("record", records).pipe(Argument.withDefault("NR")),
    lid: Argument.Int("lid").pipe(Argument.withDefault(undefined))
  }, saquery))
}
