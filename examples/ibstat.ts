/**
 * Shows the adapters of this host and their ports, as `ibstat(8)` does:
 *
 *     node examples/ibstat.ts              every adapter
 *     node examples/ibstat.ts mlx5_0 1     one port
 *     node examples/ibstat.ts -l           the names of the adapters
 */
import { Guid, PhysicalState, type PortState } from "@effect-rdma/core"
import { type PortAttributes, UmadCa, UmadLibrary } from "@effect-rdma/umad"
import { Array, Console, Effect } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { DiagnosticError, hex, run } from "./diagnostics.ts"

export interface Options {
  readonly name: string | undefined
  readonly portNum: number | undefined
  readonly list: boolean
  readonly short: boolean
  readonly ports: boolean
}

const kinds: { readonly [type: string]: string } = { ca: "CA", switch: "Switch", router: "Router", rnic: "iWARP RNIC" }

const states: { readonly [state in PortState.PortState]?: string } = {
  down: "Down",
  init: "Initializing",
  armed: "Armed",
  active: "Active"
}

const portLines = (port: PortAttributes.PortAttributes): ReadonlyArray<string> => [
  `State: ${states[port.state] ?? "???"}`,
  `Physical state: ${port.physState === "nop" ? "No state change" : PhysicalState.format(port.physState)}`,
  `Rate: ${port.rate === 2 ? "2.5" : port.rate}`,
  `Base lid: ${port.baseLid}`,
  `LMC: ${port.lmc}`,
  `SM lid: ${port.smLid}`,
  `Capability mask: ${hex(port.capmask, 8)}`,
  `Port GUID: ${Guid.format(port.portGuid)}`,
  `Link layer: ${port.linkLayer}`
]

export const ibstat = Effect.fnUntraced(function*({ list, name, portNum, ports, short }: Options) {
  const library = yield* UmadLibrary.init()
  const names = (yield* UmadLibrary.caNames(library)).toSorted()
  if (name !== undefined && !names.includes(name)) {
    return yield* new DiagnosticError({ problem: `'${name}' IB device can't be found` })
  }
  for (const each of name === undefined ? names : [name]) {
    const { attributes: ca } = yield* UmadCa.get(library, each)
    const kind = kinds[ca.nodeType] ?? "???"
    if (list) yield* Console.log(ca.caName)
    else if (ports) {
      for (const port of ca.ports) yield* Console.log(Guid.format(port.portGuid))
    } else if (portNum !== undefined) {
      const port = ca.ports.find((port) => port.portNum === portNum)
      if (port === undefined) {
        return yield* new DiagnosticError({
          problem: `${kind}: '${ca.caName}' has no port number ${portNum} - max (${ca.numports})`
        })
      }
      yield* Console.log([`${kind}: '${ca.caName}'`, `Port ${portNum}:`, ...portLines(port)].join("\n"))
    } else {
      yield* Console.log([
        `${kind} '${ca.caName}'`,
        `\t${kind} type: ${ca.caType}`,
        `\tNumber of ports: ${ca.numports}`,
        `\tFirmware version: ${ca.fwVer}`,
        `\tHardware version: ${ca.hwVer}`,
        `\tNode GUID: ${Guid.format(ca.nodeGuid)}`,
        `\tSystem image GUID: ${Guid.format(ca.systemGuid)}`,
        ...short ? [] : Array.flatMap(ca.ports, (port) => [
          `\tPort ${port.portNum}:`,
          ...portLines(port).map((line) => `\t\t${line}`)
        ])
      ].join("\n"))
    }
  }
}, Effect.scoped)

if (import.meta.main) {
  run(Command.make("ibstat", {
    list: Flag.Boolean("list_of_cas").pipe(Flag.withAlias("l"), Flag.withDefault(false)),
    short: Flag.Boolean("short").pipe(Flag.withAlias("s"), Flag.withDefault(false)),
    ports: Flag.Boolean("port_list").pipe(Flag.withAlias("p"), Flag.withDefault(false)),
    name: Argument.String("ca_name").pipe(Argument.withDefault(undefined)),
    portNum: Argument.Int("portnum").pipe(Argument.withDefault(undefined))
  }, ibstat))
}
