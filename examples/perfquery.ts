/**
 * Prints the counters of a port, as `perfquery(8)` does:
 *
 *     node examples/perfquery.ts              of the own port
 *     node examples/perfquery.ts -x 4 1       of port 1 of LID 4, in 64 bits
 */
import { ClassPortInfo, PerformanceManagement, PortCounters, PortCountersExtended } from "@effect-rdma/umad"
import { Console, Effect } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import {
  anyPort,
  DiagnosticError,
  extendedCountersLines,
  hex,
  openPort,
  portCountersLines,
  portFlags,
  type PortOptions,
  print,
  run
} from "./diagnostics.ts"

export interface Options extends PortOptions {
  readonly lid: number | undefined
  readonly number: number | undefined
  readonly extended: boolean
  readonly reset: boolean
}

const hasExtendedWidth = 0x0200
const hasExtendedWidthWithoutIetf = 0x0400
const waits = 0x1000

export const perfquery = Effect.fnUntraced(function*(options: Options) {
  const { attributes, port } = yield* openPort(options)
  const lid = options.lid ?? attributes.baseLid
  const number = options.number ?? (options.lid === undefined ? attributes.portNum : 0)
  const address = { lid }
  const info = yield* PerformanceManagement.get(port, address, ClassPortInfo.ClassPortInfo, {})
  const select = { portSelect: anyPort(number) }
  const capabilities = `CapMask: ${hex(info.capabilityMask, 1)}`
  if (options.extended) {
    if ((info.capabilityMask & (hasExtendedWidth | hasExtendedWidthWithoutIetf)) === 0) {
      return yield* new DiagnosticError({ problem: `LID ${lid} has no extended counters` })
    }
    const counters = yield* PerformanceManagement.get(
      port,
      address,
      PortCountersExtended.PortCountersExtended,
      select
    )
    const both = `${capabilities} CapMask2: ${hex(info.capabilityMask2, 7)}`
    yield* Console.log(`# Port extended counters: Lid ${lid} port ${number} (${both})`)
    yield* print(extendedCountersLines(counters))
    if (options.reset) {
      yield* PerformanceManagement.set(port, address, PortCountersExtended.PortCountersExtended, {
        ...select,
        counterSelect: 0xffff
      })
    }
    return
  }
  const counters = yield* PerformanceManagement.get(port, address, PortCounters.PortCounters, select)
  // Agents that do not count how long a port waited leave what they like there.
  const waited = (info.capabilityMask & waits) === 0 ? { ...counters, portXmitWait: 0 } : counters
  yield* Console.log(`# Port counters: Lid ${lid} port ${number} (${capabilities})`)
  yield* print(portCountersLines(waited))
  if (options.reset) {
    yield* PerformanceManagement.set(port, address, PortCounters.PortCounters, { ...select, counterSelect: 0xffff })
  }
}, Effect.scoped)

if (import.meta.main) {
  run(Command.make("perfquery", {
    ...portFlags,
    extended: Flag.Boolean("extended").pipe(
      Flag.withAlias("x"),
      Flag.withDefault(false),
      Flag.withDescription("the counters of 64 bits")
    ),
    reset: Flag.Boolean("reset_after_read").pipe(
      Flag.withAlias("r"),
      Flag.withDefault(false),
      Flag.withDescription("reset the counters when they were read")
    ),
    lid: Argument.Int("lid").pipe(Argument.withDefault(undefined), Argument.withDescription("default: the own one")),
    number: Argument.Int("port").pipe(
      Argument.withDefault(undefined),
      Argument.withDescription("the port of that node")
    )
  }, perfquery))
}
