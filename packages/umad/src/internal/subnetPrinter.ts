import * as LinkSpeed from "@effect-rdma/core/LinkSpeed"
import * as LinkWidth from "@effect-rdma/core/LinkWidth"
import * as DateTime from "effect/DateTime"
import type * as SubnetTopology from "../SubnetTopology.ts"

export const canonicalName = ({ guid, kind }: Pick<SubnetTopology.Node, "kind" | "guid">): string =>
  `${letters[kind]}-${digits(guid)}`

export const format = (
  { initiator, nodes }: SubnetTopology.SubnetTopology,
  options?: { readonly generatedAt?: DateTime.DateTime }
): string => {
  const byGuid = new Map(nodes.map((node) => [node.guid, node]))
  const head = options?.generatedAt === undefined ? [] : [
    "#",
    `# Topology file: generated on ${time(options.generatedAt)}`,
    "#"
  ]
  if (initiator !== undefined) {
    head.push(`# Initiated from node ${digits(initiator.node)} port ${digits(initiator.port)}`)
  }
  const lines = nodes
    .toSorted((self, that) => kinds.indexOf(self.kind) - kinds.indexOf(that.kind))
    .flatMap((node) =>
      header(node).concat(
        node.ports.toSorted((self, that) => self.number - that.number).flatMap((port) => portLine(byGuid, node, port))
      )
    )
  return [...head, ...lines, ""].join("\n")
}

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

const kinds = ["switch", "ca", "router"]
const letters = { switch: "S", ca: "H", router: "R" } as const
const words = { switch: ["switchguid", "Switch"], ca: ["caguid", "Ca"], router: ["rtguid", "Rt"] } as const

const digits = (guid: bigint): string => guid.toString(16).padStart(16, "0")
const hexadecimal = (value: number | bigint): string => value.toString(16)

const header = (node: SubnetTopology.Node): ReadonlyArray<string> => {
  const [assignment, word] = words[node.kind]
  const management = node.ports.find((port) => port.number === 0)
  const portGuid = management === undefined ? "" : `(${hexadecimal(management.guid)})`
  const lids = management === undefined
    ? ""
    : ` ${node.enhancedPort0 ? "enhanced" : "base"} port 0 lid ${management.lid} lmc ${management.lmc}`
  return [
    "",
    `vendid=0x${hexadecimal(node.vendorId)}`,
    `devid=0x${hexadecimal(node.deviceId)}`,
    ...(node.systemGuid === 0n ? [] : [`sysimgguid=0x${hexadecimal(node.systemGuid)}`]),
    `${assignment}=0x${hexadecimal(node.guid)}${portGuid}`,
    `${word}\t${node.numPorts} "${canonicalName(node)}"\t\t# "${printable(node.description)}"${lids}`
  ]
}

const portLine = (
  byGuid: ReadonlyMap<bigint, SubnetTopology.Node>,
  node: SubnetTopology.Node,
  { guid, lid, link, lmc, number }: SubnetTopology.Port
): ReadonlyArray<string> => {
  const remote = link === undefined ? undefined : byGuid.get(link.node)
  if (link === undefined || remote === undefined) return []
  const remotePort = remote.ports.find((port) => port.number === (remote.kind === "switch" ? 0 : link.port))
  const far = `"${canonicalName(remote)}"[${link.port}]`
  // As ibnetdiscover spaces them.
  const remoteGuid = remote.kind === "switch" ? "" : `(${hexadecimal(remotePort?.guid ?? 0n)}) `
  const runs = `"${printable(remote.description)}" lid ${remotePort?.lid ?? 0} ${LinkWidth.format(link.width)}${
    LinkSpeed.format(link.speed)
  }`
  return [
    node.kind === "switch"
      ? `[${number}]\t${far}${remoteGuid}\t\t# ${runs}`
      : `[${number}](${hexadecimal(guid)}) \t${far}${remoteGuid && ` ${remoteGuid}`}\t\t# lid ${lid} lmc ${lmc} ${runs}`
  ]
}

// NodeDescription ends at 64 bytes or a NUL, and what is not printable in the locale C becomes a space.
const printable = (description: string): string =>
  Array.from(
    new TextEncoder().encode(description.split("\0", 1)[0]).subarray(0, 64),
    (byte) => byte < 0x20 || byte > 0x7e ? " " : String.fromCharCode(byte)
  ).join("")

const weekdays = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
const months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

/** As ctime(3), such as `Mon Nov 30 02:25:22 2026`. */
const time = (at: DateTime.DateTime): string => {
  const { day, hour, minute, month, second, weekDay, year } = DateTime.toParts(at)
  const clock = [hour, minute, second].map((part) => String(part).padStart(2, "0")).join(":")
  return `${weekdays[weekDay]} ${months[month - 1]} ${String(day).padStart(2)} ${clock} ${year}`
}
