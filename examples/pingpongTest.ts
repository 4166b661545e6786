/** What the tests of the ping-pong programs share. */
import type { Verbs } from "@effect-rdma/verbs"
import { assert } from "@effect/vitest"
import { Console, Effect, Queue } from "effect"
import type { Scope } from "effect"
import { TestConsole } from "effect/testing"
import type { Peer } from "./pingpong.ts"
import { rcPingpong } from "./rc-pingpong.ts"
import { srqPingpong } from "./srq-pingpong.ts"
import { udPingpong } from "./ud-pingpong.ts"

/** The options of all three. */
export type AllOptions = Parameters<typeof srqPingpong>[0]

export const programs = { rc: rcPingpong, ud: udPingpong, srq: srqPingpong }

export type Program = keyof typeof programs

export const options: AllOptions = {
  host: undefined,
  port: 18515,
  ibDev: undefined,
  ibPort: 1,
  size: 1024,
  rxDepth: 20,
  iters: 30,
  sl: 0,
  gidIdx: undefined,
  events: false,
  chk: true,
  mtu: 1024,
  numQp: 4
}

const peer = (role: Peer["role"], to: Queue.Queue<string>, from: Queue.Queue<string>): Peer => ({
  role,
  open: Effect.sync(() => {
    let received = ""
    return {
      send: (text) => Queue.offer(to, text),
      receive: Effect.fnUntraced(function*(length) {
        while (received.length < length) received += yield* Queue.take(from)
        const text = received.slice(0, length)
        received = received.slice(length)
        return text
      })
    }
  })
})

/** Two programs in one process, with queues in the place of the TCP connection. */
export const peers = Effect.map(
  Effect.all([Queue.unbounded<string>(), Queue.unbounded<string>()]),
  ([toServer, toClient]) => ({
    server: peer("server", toClient, toServer),
    client: peer("client", toServer, toClient)
  })
)

/** Runs a program to its end, and gives what it printed. */
export const printedBy = Effect.fnUntraced(function*<E>(
  program: (options: AllOptions, peer: Peer) => Effect.Effect<void, E, Verbs.Verbs | Scope.Scope>,
  options: AllOptions,
  peer: Peer
) {
  const console = yield* TestConsole.make
  yield* program(options, peer).pipe(Effect.scoped, Effect.provideService(Console.Console, console))
  return (yield* console.logLines).join("\n")
})

const address = "LID 0x[0-9a-f]{4}, QPN 0x[0-9a-f]{6}, PSN 0x[0-9a-f]{6}[,:] GID [0-9a-f:.]+\n"

/** The lines of a program, ours or that of C, must be those of a run with these options. */
export const assertPrinted = (output: string, { iters, size }: AllOptions, queuePairs: number): void =>
  assert.match(
    output,
    new RegExp(
      `^(  local address:  ${address}){${queuePairs}}(  remote address: ${address}){${queuePairs}}` +
        `${2 * size * iters} bytes in \\d+\\.\\d\\d seconds = \\d+\\.\\d\\d Mbit/sec\n` +
        `${iters} iters in \\d+\\.\\d\\d seconds = \\d+\\.\\d\\d usec/iter\n?$`
    )
  )
