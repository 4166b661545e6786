/**
 * Runs the programs named after infiniband-diags and their namesakes in C on the subnet of this process, and prints as JSON what
 * they print differently.
 */
import { Discovery, SubnetTopology, Umad, UmadLibrary, UmadPort } from "@effect-rdma/umad"
import { Console, Effect } from "effect"
import { TestConsole } from "effect/testing"
import { execFileSync } from "node:child_process"
import { ibnetdiscover } from "./ibnetdiscover.ts"
import { ibstat } from "./ibstat.ts"
import { perfquery } from "./perfquery.ts"
import { saquery } from "./saquery.ts"
import { smpquery } from "./smpquery.ts"

export interface Comparison {
  readonly nodes: number
  readonly links: number
  readonly compared: number
  readonly differences: ReadonlyArray<{ readonly command: string; readonly theirs: string; readonly ours: string }>
}

const printedBy = Effect.fnUntraced(function*<E, R>(program: Effect.Effect<void, E, R>) {
  const console = yield* TestConsole.make
  yield* Effect.provideService(program, Console.Console, console)
  return `${(yield* console.logLines).join("\n")}\n`
})

/** Without the time, and without the counters that the MADs of the comparison themselves move on. */
const comparable = (text: string): string =>
  text.replace(/generated on .*/, "generated on …").replaceAll(
    /^(Port(?:Xmit|Rcv)(?:Data|Pkts):\.+)[1-9]\d*$/gm,
    "$1counting"
  )

const anyPort = { ca: undefined, caPort: undefined }

const compare = Effect.gen(function*() {
  const library = yield* UmadLibrary.init()
  const { attributes } = yield* UmadPort.get(library)
  const port = yield* UmadPort.open(library)
  const { topology } = yield* Discovery.walk(port)
  const { nodes } = topology
  const switches = nodes.filter(({ kind }) => kind === "switch")
  const some = new Set([nodes[0], switches[0], switches.at(-1), nodes.at(-1)].filter((node) => node !== undefined))

  const commands: Array<readonly [command: string, ours: Effect.Effect<void, unknown, Umad.Umad>]> = []
  const smp = (operation: Parameters<typeof smpquery>[0]["operation"], address: string, port: number) => {
    const direct = address.includes(",") || address === "0"
    commands.push([
      `smpquery ${direct ? "-D " : ""}${operation} ${address} ${port}`,
      smpquery({ ...anyPort, operation, address, port, direct })
    ])
  }
  const perf = (extended: boolean, lid: number, number: number) =>
    commands.push([
      `perfquery ${extended ? "-x " : ""}${lid} ${number}`,
      perfquery({ ...anyPort, lid, number, extended, reset: false })
    ])
  const sa = (record: Parameters<typeof saquery>[0]["record"], lid?: number, dlid?: number) => {
    const slid = dlid === undefined ? undefined : attributes.baseLid
    commands.push([
      `saquery ${record}${lid === undefined ? "" : ` ${lid}`}${
        slid === undefined ? "" : ` --slid ${slid} --dlid ${dlid}`
      }`,
      saquery({ ...anyPort, record, lid, slid, dlid })
    ])
  }

  for (const node of some) {
    const isSwitch = node.kind === "switch"
    const linked = node.ports.find(({ link }) => link !== undefined)?.number ?? 1
    const lid = node.ports.find(({ lid }) => lid !== 0)?.lid ?? 0
    for (const operation of ["nodeinfo", "nodedesc", "pkeys"] as const) smp(operation, String(lid), 0)
    smp("portinfo", String(lid), isSwitch ? 0 : linked)
    smp("portinfo", String(lid), linked)
    smp("sl2vl", String(lid), isSwitch ? linked : 0)
    if (isSwitch) smp("switchinfo", String(lid), 0)
    perf(false, lid, linked)
    perf(true, lid, linked)
    sa("NR", lid)
    sa("PIR", isSwitch ? undefined : lid)
    sa("PR", undefined, lid)
  }
  smp("nodeinfo", "0", 0)
  smp("portinfo", "0", attributes.portNum)
  smp("nodeinfo", `0,${attributes.portNum}`, 0)
  smp("portinfo", `0,${attributes.portNum}`, 1)
  smp("switchinfo", `0,${attributes.portNum}`, 0)
  sa("MCMR")
  sa("CPI")
  const shown = { name: undefined, portNum: undefined, list: false, short: false, ports: false }
  commands.push(
    ["ibstat", ibstat(shown)],
    ["ibstat -l", ibstat({ ...shown, list: true })],
    ["ibstat -p", ibstat({ ...shown, ports: true })],
    ["ibnetdiscover", ibnetdiscover({ ...anyPort, outstanding: 8 })]
  )

  const outputs = yield* Effect.forEach(commands, ([command, program]) =>
    Effect.gen(function*() {
      const [name = "", ...args] = command.split(" ")
      const theirs = comparable(execFileSync(name, args, { encoding: "utf8" }))
      return { command, theirs, ours: comparable(yield* printedBy(program)) }
    }))
  const comparison: Comparison = {
    nodes: nodes.length,
    links: nodes.flatMap(({ ports }) => ports.filter(({ link }) => link !== undefined)).length / 2,
    compared: outputs.length,
    differences: outputs.filter(({ ours, theirs }) => ours !== theirs)
  }
  // Through the text form and back nothing is lost either.
  const text = SubnetTopology.format(topology)
  const again = SubnetTopology.format(yield* SubnetTopology.parse(text))
  return again === text ? comparison : {
    ...comparison,
    differences: [...comparison.differences, { command: "parse", theirs: text, ours: again }]
  }
}).pipe(Effect.scoped, Effect.provide(Umad.Umad.layer))

process.stdout.write(JSON.stringify(await Effect.runPromise(compare)))
