/** What the tests of the programs of the connection manager share: their options, and what they print. */
import type { RdmaCm } from "@effect-rdma/rdmacm"
import { Fabric } from "@effect-rdma/testkit"
import type { Verbs } from "@effect-rdma/verbs"
import { Console, Effect, Schedule } from "effect"
import type { Scope } from "effect"
import { TestConsole } from "effect/testing"
import * as Mckey from "./mckey.ts"
import * as Rping from "./rping.ts"
import * as Ucmatose from "./ucmatose.ts"
import * as Udaddy from "./udaddy.ts"

export const address = "10.0.0.1"

/** Runs a program to its end, and gives the lines that it printed. */
export const printedBy = <E>(program: Effect.Effect<void, E, RdmaCm.RdmaCm | Verbs.Verbs | Scope.Scope>) =>
  Effect.gen(function*() {
    const console = yield* TestConsole.make
    yield* program.pipe(Effect.scoped, Effect.provideService(Console.Console, console))
    return (yield* console.logLines).map(String)
  })

/** A run of a program in both roles: the options of each, and what each prints. */
export interface Case<Options> {
  readonly server: Options
  readonly client: Options
  readonly printed: { readonly server: ReadonlyArray<string>; readonly client: ReadonlyArray<string> }
}

/** A program of the connection manager, whichever side its options make it. */
export type Program<Options, E> = (
  options: Options
) => Effect.Effect<void, E, RdmaCm.RdmaCm | Verbs.Verbs | Scope.Scope>

/** Both sides on the fabric, of which the one that connects tries again until the other one listens. */
export const bothSides = <Options, E extends { readonly _tag: string }>(
  program: Program<Options, E>,
  { client, server }: Case<Options>
) =>
  [
    printedBy(program(server)),
    printedBy(program(client)).pipe(
      Effect.retry({
        while: ({ _tag }) => _tag === "ConnectionRejected" || _tag === "PeerUnreachable",
        schedule: Schedule.spaced("10 millis"),
        times: 500
      }),
      Effect.provide(Fabric.host("host-b"))
    )
  ] as const

// -----------------------------------------------------------------------------
// rping
// -----------------------------------------------------------------------------

const text = (round: number, size: number) => {
  const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`abcdefghijklmnopqrstuvwxyz"
  const start = `rdma-ping-${round}: `
  return start + letters.repeat(size).slice(round % letters.length).slice(0, size - 1 - start.length)
}

export const rping = (given: Partial<Rping.Options> = {}): Case<Rping.Options> => {
  const both = { port: 7174, persistent: false, size: 64, count: 60, verbose: true, validate: true, ...given }
  const texts = Array.from({ length: both.count }, (_, round) => text(round, both.size))
  return {
    server: { ...both, server: true, client: false, address, source: undefined },
    client: { ...both, server: false, client: true, address, source: undefined },
    printed: {
      server: texts.map((text) => `server ping data: ${text}`),
      client: texts.map((text) => `ping data: ${text}`)
    }
  }
}

// -----------------------------------------------------------------------------
// ucmatose, udaddy and mckey
// -----------------------------------------------------------------------------

export const ucmatose = (given: Partial<Ucmatose.Options> = {}): Case<Ucmatose.Options> => {
  const both = { bind: undefined, connections: 1, count: 10, size: 100, port: 7471, ...given }
  return {
    server: { ...both, server: undefined },
    client: { ...both, server: address },
    printed: {
      server: [
        "cmatose: starting server",
        "initiating data transfers",
        "completing sends",
        "receiving data transfers",
        "data transfers complete",
        "cmatose: disconnecting",
        "disconnected",
        "test complete"
      ],
      client: [
        "cmatose: starting client",
        "cmatose: connecting",
        "receiving data transfers",
        "sending replies",
        "data transfers complete",
        "test complete"
      ]
    }
  }
}

export const udaddy = (given: Partial<Udaddy.Options> = {}): Case<Udaddy.Options> => {
  const both = { bind: undefined, connections: 1, count: 10, size: 100, port: 7174, ...given }
  return {
    server: { ...both, server: undefined },
    client: { ...both, server: address },
    printed: {
      server: [
        "udaddy: starting server",
        "receiving data transfers",
        "sending replies",
        "data transfers complete",
        "test complete"
      ],
      client: [
        "udaddy: starting client",
        "udaddy: connecting",
        "initiating data transfers",
        "receiving data transfers",
        "data transfers complete",
        "test complete"
      ]
    }
  }
}

const group = "239.1.2.3"

export const mckey = (given: Partial<Mckey.Options> = {}): Case<Mckey.Options> => {
  const both = { group, bind: address, count: 10, size: 100, sendOnly: false, ...given }
  const printed = (role: string, transfers: string) => [
    `mckey: starting ${role}`,
    "mckey: joining",
    `mckey: joined dgid: ::ffff:${group} mlid 0x0 sl 0`,
    transfers,
    "data transfers complete",
    "test complete"
  ]
  return {
    server: { ...both, sender: false, sendOnly: false },
    client: { ...both, sender: true },
    printed: {
      server: printed("server", "receiving data transfers"),
      client: printed("client", "initiating data transfers")
    }
  }
}

export const programs = { rping: Rping.rping, ucmatose: Ucmatose.ucmatose, udaddy: Udaddy.udaddy, mckey: Mckey.mckey }
