/**
 * The programs on the fabric, with calls that fail, in other orders, and interrupted anywhere: nothing is found. A run keeps the
 * thread, so nothing else is tested here.
 */
import { Fabric } from "@effect-rdma/testkit"
import { type Umad, UmadLibrary, UmadPort } from "@effect-rdma/umad"
import { describe } from "@effect/vitest"
import { Console, Effect } from "effect"
import { TestConsole } from "effect/testing"
import { type Explored, nothingIsFound, together, whileNobodyWaits } from "../packages/testkit/test/explored/program.ts"
import { subnetFabric } from "../packages/testkit/test/lanes/subnet.ts"
import * as Connections from "./connectionsTest.ts"
import { ibnetdiscover } from "./ibnetdiscover.ts"
import { ibping, openIb, serve } from "./ibping.ts"
import { ibstat } from "./ibstat.ts"
import { mckey } from "./mckey.ts"
import { perfquery } from "./perfquery.ts"
import * as PingPong from "./pingpongTest.ts"
import { rping } from "./rping.ts"
import { saquery } from "./saquery.ts"
import { smpquery } from "./smpquery.ts"
import { ucmatose } from "./ucmatose.ts"
import { udaddy } from "./udaddy.ts"

const pingPong = (name: PingPong.Program, mayFail: Explored["mayFail"] = []): Explored => {
  const options = { ...PingPong.options, events: true, iters: 3, rxDepth: 4, numQp: 2, size: 64 }
  return {
    mayFail,
    program: Effect.gen(function*() {
      const { client, server } = yield* PingPong.peers
      yield* Effect.all([
        PingPong.printedBy(PingPong.programs[name], options, server),
        Effect.provide(PingPong.printedBy(PingPong.programs[name], options, client), Fabric.host("host-b"))
      ], together)
    })
  }
}

const connection = <Options, E extends { readonly _tag: string }>(
  program: Connections.Program<Options, E>,
  options: Connections.Case<Options>
): Explored => ({ program: Effect.all(Connections.bothSides(program, options), together) })

const members = Connections.mckey({ count: 2 })

const anyPort = { ca: undefined, caPort: undefined }

/** What a program prints is not looked at. */
const diagnostic = <E>(program: Effect.Effect<void, E, Umad.Umad>): Explored => ({
  mayFail: whileNobodyWaits,
  program: Effect.flatMap(
    TestConsole.make,
    (console) => Effect.provideService(program, Console.Console, console)
  )
})

/** A ping to the own host, as long as somebody answers. */
const pinged = Effect.gen(function*() {
  const library = yield* UmadLibrary.init()
  const { attributes: { baseLid: lid } } = yield* UmadPort.get(library)
  const port = yield* UmadPort.open(library)
  const options = { ...anyPort, lid, server: false, count: 2, flood: false, oui: openIb }
  yield* Effect.raceFirst(serve(port, openIb, "here"), ibping(options))
}).pipe(Effect.scoped)

describe("whatever happens", () => {
  nothingIsFound({
    "rc-pingpong": pingPong("rc"),
    "ud-pingpong": pingPong("ud"),
    // The release looks whether its messages have left places in the shared queue.
    "srq-pingpong": pingPong("srq", ["ibv_poll_cq"]),
    rping: connection(rping, Connections.rping({ count: 2 })),
    ucmatose: connection(ucmatose, Connections.ucmatose({ count: 2, connections: 2 })),
    udaddy: connection(udaddy, Connections.udaddy({ count: 2 })),
    mckey: connection(mckey, { ...members, client: { ...members.client, bind: "10.0.0.2" } })
  }, Fabric.layer)
  nothingIsFound({
    ibstat: diagnostic(ibstat({ name: undefined, portNum: undefined, list: false, short: false, ports: false })),
    smpquery: diagnostic(smpquery({ ...anyPort, operation: "nodeinfo", address: "0,1", port: 0, direct: true })),
    perfquery: diagnostic(perfquery({ ...anyPort, lid: undefined, number: undefined, extended: false, reset: true })),
    saquery: diagnostic(saquery({ ...anyPort, record: "NR", lid: undefined, slid: undefined, dlid: undefined })),
    ibnetdiscover: diagnostic(ibnetdiscover({ ...anyPort, outstanding: 4 })),
    ibping: diagnostic(pinged)
  }, subnetFabric)
})
