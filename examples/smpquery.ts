/**
 * Asks a node for an attribute of subnet management, as `smpquery(8)` does:
 *
 *     node examples/smpquery.ts portinfo 4 1          by LID, of port 1
 *     node examples/smpquery.ts -D nodeinfo 0,1,8     by directed route
 */
import {
  GuidInfo,
  NodeDescription,
  NodeInfo,
  PKeyTable,
  PortInfo,
  SlToVlMappingTable,
  SubnetManagement,
  SwitchInfo,
  type UmadPort
} from "@effect-rdma/umad"
import { Console, Effect } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import {
  hex,
  nodeInfoLines,
  openPort,
  portFlags,
  portInfoLines,
  type PortOptions,
  print,
  routeOf,
  routeText,
  run,
  switchInfoLines
} from "./diagnostics.ts"

export const operations = ["nodeinfo", "nodedesc", "portinfo", "switchinfo", "pkeys", "sl2vl", "guids"] as const

export interface Options extends PortOptions {
  readonly operation: typeof operations[number]
  readonly address: string
  readonly port: number
  readonly direct: boolean
}

const get = SubnetManagement.get

export const smpquery = Effect.fnUntraced(function*(options: Options) {
  const { port } = yield* openPort(options)
  const route = yield* routeOf(options.address, options.direct)
  yield* shown[options.operation](port, route, options.port)
}, Effect.scoped)

type Show = (port: UmadPort.OpenPort, route: SubnetManagement.Route, number: number) => Effect.Effect<void, unknown>

const shown: { readonly [Operation in Options["operation"]]: Show } = {
  nodeinfo: Effect.fnUntraced(function*(port, route) {
    const info = yield* get(port, route, NodeInfo.NodeInfo)
    yield* Console.log(`# Node info: ${routeText(route)}`)
    yield* print(nodeInfoLines(info))
  }),
  nodedesc: Effect.fnUntraced(function*(port, route) {
    const { nodeDescription } = yield* get(port, route, NodeDescription.NodeDescription)
    const dots = ".".repeat(Math.max(1, 32 - new TextEncoder().encode(nodeDescription).length))
    yield* Console.log(`Node Description:${dots}${nodeDescription}`)
  }),
  portinfo: Effect.fnUntraced(function*(port, route, number) {
    const info = yield* get(port, route, PortInfo.PortInfo, { modifier: number })
    yield* Console.log(`# Port info: ${routeText(route)} port ${number}`)
    yield* print(portInfoLines(info))
  }),
  switchinfo: Effect.fnUntraced(function*(port, route) {
    const info = yield* get(port, route, SwitchInfo.SwitchInfo)
    yield* Console.log(`# Switch info: ${routeText(route)}`)
    yield* print(switchInfoLines(info))
  }),
  pkeys: Effect.fnUntraced(function*(port, route, number) {
    const { nodeType, partitionCap } = yield* get(port, route, NodeInfo.NodeInfo)
    const capacity = nodeType === "switch" && number !== 0
      ? (yield* get(port, route, SwitchInfo.SwitchInfo)).partitionEnforcementCap
      : partitionCap
    for (let block = 0; block * 32 < capacity; block++) {
      const { pKeys } = yield* get(port, route, PKeyTable.PKeyTable, { modifier: number << 16 | block })
      for (let first = 0; first < Math.min(32, capacity - 32 * block); first += 8) {
        const row = pKeys.slice(first, first + 8).map((pKey) => hex(pKey, 4)).join(" ")
        yield* Console.log(`${String(32 * block + first).padStart(4)}: ${row}`)
      }
    }
    yield* Console.log(`${capacity} pkeys capacity for this port`)
  }),
  sl2vl: Effect.fnUntraced(function*(port, route, number) {
    const { nodeType, numPorts } = yield* get(port, route, NodeInfo.NodeInfo)
    yield* Console.log(`# SL2VL table: ${routeText(route)}`)
    yield* Console.log(`#                 SL: ${row(Array.from({ length: 16 }, (_, sl) => sl))}`)
    for (let input = 0; input <= (nodeType === "switch" ? numPorts : 0); input++) {
      const output = nodeType === "switch" ? number : 0
      const { vls } = yield* get(port, route, SlToVlMappingTable.SlToVlMappingTable, { modifier: input << 8 | output })
      yield* Console.log(`ports: in ${String(input).padStart(2)}, out ${String(output).padStart(2)}: ${row(vls)}`)
    }
  }),
  guids: Effect.fnUntraced(function*(port, route) {
    const { guidCap } = yield* get(port, route, PortInfo.PortInfo)
    for (let block = 0; block * 8 < guidCap; block++) {
      const { guids } = yield* get(port, route, GuidInfo.GuidInfo, { modifier: block })
      for (let first = 0; first < Math.min(8, guidCap - 8 * block); first += 2) {
        const pair = guids.slice(first, first + 2).map((guid) => hex(guid, 16)).join(" ")
        yield* Console.log(`${String(8 * block + first).padStart(4)}: ${pair}`)
      }
    }
    yield* Console.log(`${guidCap} guids capacity for this port`)
  })
}

const row = (numbers: ReadonlyArray<number>): string =>
  `|${numbers.map((number) => `${String(number).padStart(2)}|`).join("")}`

if (import.meta.main) {
  run(Command.make("smpquery", {
    ...portFlags,
    direct: Flag.Boolean("Direct").pipe(
      Flag.withAlias("D"),
      Flag.withDefault(false),
      Flag.withDescription("the address is a directed route, such as 0,1,8")
    ),
    operation: Argument.Literals("operation", operations),
    address: Argument.String("address").pipe(Argument.withDescription("a LID or a directed route")),
    port: Argument.Int("port").pipe(
      Argument.withDefault(0),
      Argument.withDescription("the port, where one is asked for")
    )
  }, smpquery))
}
