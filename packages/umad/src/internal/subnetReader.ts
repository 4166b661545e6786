import * as Guid from "@effect-rdma/core/Guid"
import * as Identifier from "@effect-rdma/core/Identifier"
import * as Lid from "@effect-rdma/core/Lid"
import * as LinkSpeed from "@effect-rdma/core/LinkSpeed"
import * as LinkWidth from "@effect-rdma/core/LinkWidth"
import * as Effect from "effect/Effect"
import type * as SubnetTopology from "../SubnetTopology.ts"
import { SubnetTopologyError } from "../SubnetTopologyError.ts"
import { canonicalName } from "./subnetPrinter.ts"

export const parse = Effect.fnUntraced(function*(
  text: string
): Effect.fn.Return<SubnetTopology.SubnetTopology, SubnetTopologyError> {
  const nodes = new Map<string, WrittenNode>()
  const guids = new Set<bigint>()
  const file = fileState()
  let initiator: SubnetTopology.SubnetTopology["initiator"]
  let current: WrittenNode | undefined

  for (const [index, content] of text.split(/\r?\n/).entries()) {
    const line = index + 1
    if (content.startsWith("[")) {
      if (current === undefined) return yield* wrong(line, "a port outside of a node")
      const port = yield* readPort(line, content, current, file)
      if (current.ports.has(port.number)) return yield* wrong(line, `port ${port.number} is there twice`)
      current.ports.set(port.number, port)
      continue
    }
    const found = initiated.exec(content)
    if (found !== null) {
      initiator = { node: yield* guidOf(line, `0x${found[1]}`), port: yield* guidOf(line, `0x${found[2]}`) }
    }
    if (content.startsWith("#")) continue
    current = undefined
    if (content.trim() === "" || heading.test(content)) continue
    const node = yield* nodeHeader.test(content) ? readNode(line, content, file) : Effect.undefined
    if (node === undefined) {
      yield* assign(line, content, file)
      continue
    }
    if (nodes.has(node.name)) return yield* wrong(line, `the node "${node.name}" is there twice`)
    if (guids.has(node.guid)) return yield* wrong(line, `the GUID ${Guid.format(node.guid)} is there twice`)
    nodes.set(node.name, node)
    guids.add(node.guid)
    current = node
  }
  return {
    ...(initiator === undefined ? undefined : { initiator }),
    nodes: yield* Effect.forEach(nodes.values(), (node) => resolve(nodes, node))
  }
})

export const enabledFor = ({ speed, width }: Pick<SubnetTopology.Link, "width" | "speed">): SubnetTopology.Enabled => ({
  width: widthsUpTo[width],
  ...speedsUpTo[speed]
})

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

const wrong = (line: number, problem: string): Effect.Effect<never, SubnetTopologyError> =>
  Effect.fail(new SubnetTopologyError({ line, problem }))

const initiated = /^# Initiated from node ([0-9a-f]{1,16}) port ([0-9a-f]{1,16})/
// What `ibnetdiscover -g` puts between nodes.
const heading = /^(?:Chassis \d|Non-Chassis Nodes|Hostname: )/
const nodeHeader = /^(?:Switch|Hca|Ca|Rt)\b/

interface WrittenPort {
  readonly line: number
  readonly number: number
  readonly guid: Guid.Guid
  readonly lid: Lid.Lid
  readonly lmc: number
  readonly remote: string
  readonly remotePort: number
  /** What the link runs at, where the line tells. */
  readonly runs: Pick<SubnetTopology.Link, "width" | "speed"> | undefined
  readonly enabled: SubnetTopology.Enabled
}

interface WrittenNode extends Omit<SubnetTopology.Node, "name" | "ports"> {
  readonly line: number
  readonly name: string
  readonly management: SubnetTopology.Port | undefined
  /** What its ports may run at that have no link, where the file says so. */
  readonly enabled: SubnetTopology.Enabled | undefined
  readonly ports: Map<number, WrittenPort>
}

// ibsim: 4x, single data rate.
const usuallyEnabled: SubnetTopology.Enabled = { width: 2, speed: 1, extendedSpeed: 0 }

const isSame = (self: SubnetTopology.Enabled, that: SubnetTopology.Enabled): boolean =>
  self.width === that.width && self.speed === that.speed && self.extendedSpeed === that.extendedSpeed

/** What assignments leave behind for the nodes after them. */
const fileState = () => ({
  module: "",
  base: { ca: 0x10_0000n, switch: 0x20_0000n, router: 0n },
  next: { ca: 0x10_0000n, switch: 0x20_0000n, router: 0n },
  portGuid: undefined as Guid.Guid | undefined,
  vendorId: 0,
  deviceId: 0,
  systemGuid: 0n,
  ...usuallyEnabled
})
type FileState = ReturnType<typeof fileState>

const assignment = /^([a-z]+)\s*([=+])\s*(\S.*)$/
const kinds = { switchguid: "switch", hcaguids: "ca", caguid: "ca", rtguid: "router" } as const
const integer = /^(?:0x[0-9a-f]+|[0-9]+)/i

/** As strtoul(3) with base 0: 0x is hexadecimal, a leading 0 is octal. */
const number = (line: number, text: string, maximum: bigint) => {
  const [digits] = integer.exec(text) ?? []
  if (digits === undefined || /^0[0-9]*[89]/.test(digits)) return wrong(line, `no number: ${text}`)
  const value = BigInt(/^0[0-7]/.test(digits) ? `0o${digits}` : digits)
  return value > maximum ? wrong(line, `${digits} is more than 0x${maximum.toString(16)}`) : Effect.succeed(value)
}

const guidOf = (line: number, text: string) =>
  Effect.map(number(line, text, 0xffff_ffff_ffff_ffffn), (guid) => Guid.Guid.make(guid))
const mask = (line: number, text: string, maximum: bigint) => Effect.map(number(line, text, maximum), Number)

const assign = Effect.fnUntraced(function*(line: number, content: string, file: FileState) {
  const [, name = "", sign, value = ""] = assignment.exec(content) ?? []
  switch (name) {
    case "switchguid":
    case "hcaguids":
    case "caguid":
    case "rtguid": {
      const kind = kinds[name]
      const guid = yield* guidOf(line, value)
      if (sign === "=") file.base[kind] = guid
      file.next[kind] = sign === "=" ? guid : file.base[kind] + guid
      const [, portGuid] = /\(([0-9a-f]{1,16})\)/.exec(value) ?? []
      file.portGuid = portGuid === undefined ? undefined : yield* guidOf(line, `0x${portGuid}`)
      return
    }
    case "vendid":
      file.vendorId = yield* mask(line, value, 0xff_ffffn)
      return
    case "devid":
      file.deviceId = yield* mask(line, value, 0xffffn)
      return
    case "sysimgguid":
      file.systemGuid = yield* guidOf(line, value)
      return
    case "width":
      file.width = yield* mask(line, value, 31n)
      return
    case "speed":
      file.speed = yield* mask(line, value, 7n)
      return
    case "extspeed":
      file.extendedSpeed = yield* mask(line, value, 15n)
      return
    case "module":
      file.module = `${/"([^"]*)"/.exec(value)?.[1] ?? ""}#`
      return
    case "pdebug":
      return
    default:
      return yield* wrong(line, `neither a node, a port nor an assignment: ${content}`)
  }
})

const nodeLine = /^(Switch|Hca|Ca|Rt)\s+(\d+)\s*"([^"#@]+)"(.*)$/
const nodeKinds = { Switch: "switch", Hca: "ca", Ca: "ca", Rt: "router" } as const
const isNodeWord = (word: string): word is keyof typeof nodeKinds => Object.hasOwn(nodeKinds, word)
const quoted = /#\s*"(.*)"(?=[^"]*$)/
const unquoted = /#\s*([^"]*?)(?=(?: enhanced port | base port | lid | lmc |$))/

const readNode = Effect.fnUntraced(function*(
  line: number,
  content: string,
  file: FileState
): Effect.fn.Return<WrittenNode, SubnetTopologyError> {
  const [, word = "", count, written, rest = ""] = nodeLine.exec(content) ?? []
  if (!isNodeWord(word)) return yield* wrong(line, `expected a node such as: Switch 8 "name", found: ${content}`)
  const kind = nodeKinds[word]
  const numPorts = Number(count)
  if (numPorts < 1 || numPorts > 255) return yield* wrong(line, `a node has 1 to 255 ports, not ${numPorts}`)

  const name = `${file.module}${written}`
  const guid = yield* guidOf(line, `0x${file.next[kind].toString(16)}`)
  const description = (quoted.exec(rest) ?? unquoted.exec(rest))?.[1] || name
  const { lid, lmc } = yield* lidAndLmc(line, rest.replace(quoted, "#"))
  const { extendedSpeed, speed, width } = file
  const enabled = isSame(file, usuallyEnabled) ? undefined : { width, speed, extendedSpeed }
  const node: WrittenNode = {
    line,
    kind,
    name,
    guid,
    systemGuid: Guid.Guid.make(file.systemGuid || guid),
    description,
    vendorId: file.vendorId,
    deviceId: file.deviceId,
    numPorts,
    enhancedPort0: kind === "switch" && /enhanced port 0/.test(rest),
    management: kind === "switch"
      ? {
        number: Identifier.AnyPortNumber.make(0),
        guid: file.portGuid ?? guid,
        lid,
        lmc,
        ...(enabled === undefined ? undefined : { enabled })
      }
      : undefined,
    enabled,
    ports: new Map()
  }
  // As ibsim: an adapter takes a GUID for each port too. The device id stays for the nodes that follow.
  file.next[kind] += kind === "switch" ? 1n : BigInt(numPorts + 1)
  file.portGuid = undefined
  file.vendorId = 0
  file.systemGuid = 0n
  return node
})

const lidAndLmc = Effect.fnUntraced(function*(line: number, text: string) {
  const [, lid = "0"] = /\blid (\w+)/.exec(text) ?? []
  const [, lmc = "0"] = /\blmc (\w+)/.exec(text) ?? []
  return {
    lid: Lid.Lid.make(yield* mask(line, lid, 0xffffn)),
    lmc: yield* mask(line, lmc, 7n)
  }
})

const portLine = /^\[(\d+)\](?:\[ext \d+\])?\s*(?:\(([0-9a-f]{1,16})\))?\s*"([^"]+)"(?:\[(\d+)\])?(.*)$/
// After the last quote: what runs on the link is there, and nothing that a description says is taken for it.
const runsAt = /lid \d+ (\d+x|\?\?)(\?\?\?|\w+)[^"]*$/

const readPort = Effect.fnUntraced(function*(
  line: number,
  content: string,
  node: WrittenNode,
  file: FileState
): Effect.fn.Return<WrittenPort, SubnetTopologyError> {
  const [, digits, ownGuid, remote, remotePort = "1", rest = ""] = portLine.exec(content) ?? []
  if (remote === undefined) return yield* wrong(line, `expected a port such as: [1] "name"[1], found: ${content}`)
  if (remote.includes("@")) return yield* wrong(line, "aliases are not supported")
  const number = Number(digits)
  if (number < 1 || number > node.numPorts) {
    return yield* wrong(line, `"${node.name}" has ports 1 to ${node.numPorts}, not ${number}`)
  }
  const guid = ownGuid === undefined
    ? node.management?.guid ?? Guid.Guid.make(node.guid + BigInt(number))
    : yield* guidOf(line, `0x${ownGuid}`)
  const [, width, speed] = runsAt.exec(rest) ?? []
  const runs = width === undefined || speed === undefined
    ? undefined
    : { width: LinkWidth.fromText(width), speed: LinkSpeed.fromText(speed) }
  const options = rest.replace(/"[^"]*"/g, "")
  const { lid, lmc } = node.management === undefined && runs !== undefined
    ? yield* lidAndLmc(line, options)
    : { lid: noLid, lmc: 0 }
  const enabled = { width: file.width, speed: file.speed, extendedSpeed: file.extendedSpeed }
  if (runs === undefined) {
    for (const [, option = "", value = ""] of options.matchAll(/\b([wse])\w*\s*=\s*(\w+)/g)) {
      if (option === "w") enabled.width = yield* mask(line, value, 31n)
      if (option === "s") enabled.speed = yield* mask(line, value, 7n)
      if (option === "e") enabled.extendedSpeed = yield* mask(line, value, 15n)
    }
  }
  return {
    line,
    number,
    guid,
    lid,
    lmc,
    remote: remote.includes("#") ? remote : `${file.module}${remote}`,
    remotePort: Number(remotePort),
    runs,
    enabled: runs === undefined ? enabled : enabledFor(runs)
  }
})

const noLid = Lid.Lid.make(0)

const resolve = Effect.fnUntraced(function*(
  nodes: ReadonlyMap<string, WrittenNode>,
  { enabled, line: _line, management, name, ports, ...node }: WrittenNode
): Effect.fn.Return<SubnetTopology.Node, SubnetTopologyError> {
  const linked = yield* Effect.forEach(ports.values(), (port) => connect(nodes, name, port))
  const unlinked = enabled === undefined ? [] : Array.from({ length: node.numPorts }, (_, index) => index + 1)
    .filter((number) => !ports.has(number))
    .map((number): SubnetTopology.Port => ({
      number: Identifier.AnyPortNumber.make(number),
      guid: management?.guid ?? Guid.Guid.make(node.guid + BigInt(number)),
      lid: noLid,
      lmc: 0,
      enabled
    }))
  const named = name === canonicalName(node) ? undefined : { name }
  return { ...node, ...named, ports: [...(management === undefined ? [] : [management]), ...linked, ...unlinked] }
})

const connect = Effect.fnUntraced(function*(
  nodes: ReadonlyMap<string, WrittenNode>,
  name: string,
  { enabled, guid, lid, line, lmc, number, remote, remotePort, runs }: WrittenPort
): Effect.fn.Return<SubnetTopology.Port, SubnetTopologyError> {
  const far = nodes.get(remote)
  if (far === undefined) return yield* wrong(line, `there is no node "${remote}"`)
  const farPort = far.ports.get(remotePort)
  if (farPort === undefined || farPort.remote !== name || farPort.remotePort !== number) {
    return yield* wrong(line, `"${remote}" does not tell of this link at its port ${remotePort}`)
  }
  const runsAt = runs ?? farPort.runs ?? common(enabled, farPort.enabled)
  if (runsAt === undefined) {
    return yield* wrong(line, `this port and port ${remotePort} of "${remote}" have no speed or width in common`)
  }
  return {
    number: Identifier.AnyPortNumber.make(number),
    guid,
    lid,
    lmc,
    ...(isSame(enabled, enabledFor(runsAt)) ? undefined : { enabled }),
    link: { node: far.guid, port: Identifier.PortNumber.make(remotePort), ...runsAt }
  }
})

const widthsUpTo: { readonly [Width in LinkWidth.LinkWidth]: number } = {
  "1x": 1,
  "2x": 16,
  "4x": 3,
  "8x": 4,
  "12x": 11,
  unknown: 2
}

const speedsUpTo: { readonly [Speed in LinkSpeed.LinkSpeed]: Omit<SubnetTopology.Enabled, "width"> } = {
  sdr: { speed: 1, extendedSpeed: 0 },
  ddr: { speed: 3, extendedSpeed: 0 },
  qdr: { speed: 7, extendedSpeed: 0 },
  fdr10: { speed: 7, extendedSpeed: 0 },
  fdr: { speed: 7, extendedSpeed: 1 },
  edr: { speed: 7, extendedSpeed: 3 },
  hdr: { speed: 7, extendedSpeed: 7 },
  ndr: { speed: 7, extendedSpeed: 15 },
  unknown: { speed: 1, extendedSpeed: 0 }
}

/** The most that both ends have. Extended speeds come first, as on a real link. */
const common = (
  self: SubnetTopology.Enabled,
  that: SubnetTopology.Enabled
): Pick<SubnetTopology.Link, "width" | "speed"> | undefined => {
  const width = best(widths, self.width & that.width)
  const speed = best(extendedSpeeds, self.extendedSpeed & that.extendedSpeed) ?? best(speeds, self.speed & that.speed)
  return width === undefined || speed === undefined ? undefined : { width, speed }
}

const best = <A>(order: ReadonlyArray<readonly [number, A]>, bits: number): A | undefined =>
  order.find(([bit]) => (bits & bit) !== 0)?.[1]

const widths = [[8, "12x"], [4, "8x"], [2, "4x"], [16, "2x"], [1, "1x"]] as const
const extendedSpeeds = [[8, "ndr"], [4, "hdr"], [2, "edr"], [1, "fdr"]] as const
const speeds = [[4, "qdr"], [2, "ddr"], [1, "sdr"]] as const
