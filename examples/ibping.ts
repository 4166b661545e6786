/**
 * Tells whether a node answers, as `ibping(8)` does, which can be the other side:
 *
 *     node examples/ibping.ts -S      the server
 *     node examples/ibping.ts 4       the client of the server at LID 4
 */
import { MadAddress, MadMethod, UmadAgent, type UmadPort, VendorMad } from "@effect-rdma/umad"
import { Console, Duration, Effect, Result } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { hostname } from "node:os"
import { DiagnosticError, openPort, portFlags, type PortOptions, run } from "./diagnostics.ts"

export interface Options extends PortOptions {
  readonly lid: number | undefined
  readonly server: boolean
  readonly count: number
  readonly flood: boolean
  readonly oui: number
}

/** The class of pings among those of vendors, and the OUI of OpenIB. */
const pingClass = 0x32
export const openIb = 0x1405

const getMethod = MadMethod.enumeration.toNative("get")

const textOf = (data: Uint8Array): string => {
  const end = data.indexOf(0)
  return new TextDecoder().decode(end === -1 ? data : data.subarray(0, end))
}

const encode = (fields: Parameters<typeof VendorMad.VendorMad.encode>[0]) =>
  Effect.fromResult(VendorMad.VendorMad.encode({ baseVersion: 1, classVersion: 1, mgmtClass: pingClass, ...fields }))

/** Answers every ping with the name of the host, until it is interrupted. */
export const serve = Effect.fnUntraced(function*(port: UmadPort.OpenPort, oui: number, name: string) {
  const agent = yield* UmadAgent.registerOui(port, { mgmtClass: pingClass, oui, methods: [getMethod] })
  const data = new Uint8Array(216)
  new TextEncoder().encodeInto(name, data.subarray(0, -1))
  while (true) {
    const { address, mad } = yield* UmadAgent.next(agent)
    const { attributeId, attributeModifier, transactionId } = yield* Effect.fromResult(VendorMad.VendorMad.decode(mad))
    const pong = yield* encode({ method: "getResp", transactionId, attributeId, attributeModifier, oui, data })
    yield* UmadAgent.send(agent, { address: MadAddress.replyTo(address), mad: pong })
  }
})

/** One ping: the name that the server gives, and how long it took. */
export const ping = Effect.fnUntraced(function*(agent: UmadAgent.UmadAgent, lid: number, oui: number) {
  const mad = yield* encode({ method: "get", oui })
  const [took, answer] = yield* Effect.timed(
    UmadAgent.request(agent, { address: { lid }, mad, timeout: "1 second", retries: 0 })
  )
  return { took: Duration.toMillis(took), name: textOf(Result.getOrThrow(VendorMad.VendorMad.decode(answer.mad)).data) }
})

const millis = (time: number): string => time.toFixed(3)

const client = Effect.fnUntraced(function*(port: UmadPort.OpenPort, { count, flood, oui }: Options, lid: number) {
  const agent = yield* UmadAgent.registerOui(port, { mgmtClass: pingClass, oui })
  const times: Array<number> = []
  let host = ""
  let sent = 0
  const report = Effect.suspend(() => {
    const average = times.length === 0 ? 0 : times.reduce((sum, time) => sum + time, 0) / times.length
    const lost = sent - times.length
    return Console.log([
      "",
      `--- ${host} (Lid ${lid}) ibping statistics ---`,
      `${sent} packets transmitted, ${times.length} received, ${
        sent === 0 ? 0 : Math.floor(lost * 100 / sent)
      }% packet loss`,
      `rtt min/avg/max = ${millis(Math.min(...times, Infinity) === Infinity ? 0 : Math.min(...times))}/${
        millis(average)
      }/${millis(Math.max(0, ...times))} ms`
    ].join("\n"))
  })
  yield* Effect.ensuring(
    Effect.gen(function*() {
      for (; sent < count;) {
        sent++
        const pong = yield* Effect.result(ping(agent, lid, oui))
        if (pong._tag === "Success") {
          host = pong.success.name
          times.push(pong.success.took)
          if (!flood) yield* Console.log(`Pong from ${host} (Lid ${lid}): time ${millis(pong.success.took)} ms`)
        } else if (pong.failure._tag !== "MadTimeout") return yield* pong.failure
        if (!flood && sent < count) yield* Effect.sleep("1 second")
      }
    }),
    report
  )
})

export const ibping = Effect.fnUntraced(function*(options: Options) {
  const { port } = yield* openPort(options)
  if (options.server) return yield* serve(port, options.oui, hostname())
  if (options.lid === undefined) return yield* new DiagnosticError({ problem: "the LID of a server is needed, or -S" })
  yield* client(port, options, options.lid)
}, Effect.scoped)

if (import.meta.main) {
  run(Command.make("ibping", {
    ...portFlags,
    server: Flag.Boolean("Server").pipe(Flag.withAlias("S"), Flag.withDefault(false)),
    count: Flag.Int("count").pipe(Flag.withAlias("c"), Flag.withDefault(0xffff_ffff)),
    flood: Flag.Boolean("flood").pipe(Flag.withAlias("f"), Flag.withDefault(false)),
    oui: Flag.Int("oui").pipe(Flag.withAlias("o"), Flag.withDefault(openIb)),
    lid: Argument.Int("lid").pipe(Argument.withDefault(undefined))
  }, ibping))
}
