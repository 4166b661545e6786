/** The programs named after infiniband-diags on the fabric. */
import { Fabric, LeakCheck, Topology } from "@effect-rdma/testkit"
import { SubnetTopology, Umad, UmadAgent, UmadLibrary, UmadPort } from "@effect-rdma/umad"
import { assert, describe, it } from "@effect/vitest"
import { Console, Effect, Fiber, Layer } from "effect"
import { TestClock, TestConsole } from "effect/testing"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { ibnetdiscover } from "./ibnetdiscover.ts"
import { ibping, openIb, ping, serve } from "./ibping.ts"
import { ibstat } from "./ibstat.ts"
import { perfquery } from "./perfquery.ts"
import { saquery } from "./saquery.ts"
import { smpquery } from "./smpquery.ts"

const text = readFileSync(join(import.meta.dirname, "../packages/testkit/lanes/two-hosts.net"), "utf8")

const fabric = Layer.orDie(Layer.unwrap(Effect.map(Topology.fromText(text), Fabric.layerFrom)))

const anyPort = { ca: undefined, caPort: undefined }
const pingOptions = { ...anyPort, lid: undefined, server: false, count: 1, flood: false, oui: openIb }

const printedBy = Effect.fnUntraced(function*<E, R>(program: Effect.Effect<void, E, R>) {
  const console = yield* TestConsole.make
  yield* LeakCheck.check(Effect.provideService(program, Console.Console, console))
  return (yield* console.logLines).join("\n")
})

const beta = <A, E, R>(program: Effect.Effect<A, E, R>) => Effect.provide(program, Fabric.host("host-beta"))

const lidOfBeta = Effect.gen(function*() {
  const port = yield* UmadPort.get(yield* UmadLibrary.init())
  return port.attributes.baseLid
}).pipe(Effect.scoped, beta)

const alpha = Effect.flatMap(UmadLibrary.init(), (library) => UmadPort.open(library))

describe("programs named after infiniband-diags, on the fabric", () => {
  it.live("ibstat tells of every adapter", () =>
    Effect.gen(function*() {
      const printed = yield* printedBy(
        ibstat({ name: undefined, portNum: undefined, list: false, short: false, ports: false })
      )
      assert.match(printed, /^CA 'mlx5_0'\n\tCA type: /)
      assert.include(printed, "\n\tPort 1:\n\t\tState: Active\n\t\tPhysical state: LinkUp\n")
    }).pipe(Effect.provide(fabric)))

  it.live("ibstat says that there is no such adapter", () =>
    Effect.gen(function*() {
      const options = { name: "nope", portNum: undefined, list: false, short: false, ports: false }
      assert.include((yield* Effect.flip(ibstat(options))).message, "'nope' IB device can't be found")
    }).pipe(Effect.provide(fabric)))

  it.live("ibnetdiscover prints the subnet of the file", () =>
    Effect.gen(function*() {
      const printed = yield* printedBy(ibnetdiscover({ ...anyPort, outstanding: 4 }))
      const read = yield* SubnetTopology.parse(printed)
      const written = yield* SubnetTopology.parse(text)
      assert.deepStrictEqual(
        read.nodes.map(({ guid }) => guid).toSorted(),
        written.nodes.map(({ guid }) => guid).toSorted()
      )
    }).pipe(Effect.provide(fabric)))

  it.live("smpquery, perfquery and saquery answer", () =>
    Effect.gen(function*() {
      const lid = yield* lidOfBeta
      const smp = { ...anyPort, port: 0, direct: false, address: String(lid) }
      assert.include(yield* printedBy(smpquery({ ...smp, operation: "nodedesc" })), "host-beta")
      assert.include(
        yield* printedBy(smpquery({ ...smp, operation: "nodeinfo" })),
        "NodeType:........................Channel Adapter"
      )
      const perf = { ...anyPort, lid, number: 1, extended: false, reset: false }
      assert.include(yield* printedBy(perfquery(perf)), `# Port counters: Lid ${lid} port 1`)
      const records = yield* printedBy(
        saquery({ ...anyPort, record: "NR", lid: undefined, slid: undefined, dlid: undefined })
      )
      assert.strictEqual(records.match(/NodeRecord dump:/g)?.length, 4)
    }).pipe(Effect.provide(fabric)))

  it.live("ibping is answered by ibping -S with the name of its host", () =>
    Effect.gen(function*() {
      const lid = yield* lidOfBeta
      const printed = yield* LeakCheck.check(Effect.gen(function*() {
        const server = yield* Effect.forkChild(
          Effect.scoped(Effect.flatMap(alpha, (port) => serve(port, openIb, "beta.example"))).pipe(beta),
          { startImmediately: true }
        )
        yield* Effect.sleep("20 millis")
        const console = yield* TestConsole.make
        yield* Effect.provideService(ibping({ ...pingOptions, lid, count: 3, flood: true }), Console.Console, console)
        yield* Fiber.interrupt(server)
        return (yield* console.logLines).join("\n")
      }))
      assert.match(
        printed,
        new RegExp(
          `^\\n--- beta.example \\(Lid ${lid}\\) ibping statistics ---\\n` +
            "3 packets transmitted, 3 received, 0% packet loss\\nrtt min/avg/max = [0-9.]+/[0-9.]+/[0-9.]+ ms$"
        )
      )
    }).pipe(Effect.provide(fabric)))

  it.effect("ibping without a server loses every packet, and says so", () =>
    Effect.gen(function*() {
      const lid = yield* lidOfBeta
      const fiber = yield* Effect.forkChild(printedBy(ibping({ ...pingOptions, lid, count: 2 })), {
        startImmediately: true
      })
      yield* TestClock.adjust("1 minute")
      assert.include(yield* Fiber.join(fiber), "2 packets transmitted, 0 received, 100% packet loss")
    }).pipe(Effect.provide(fabric)))

  it.live("a ping is byte for byte that of ibping", () =>
    Effect.scoped(Effect.gen(function*() {
      const lid = yield* lidOfBeta
      const { onMad } = yield* Fabric.Fabric
      let seen = ""
      yield* onMad(({ mad }) => {
        seen = Buffer.from(mad).toString("hex")
        return "lost"
      })
      const agent = yield* UmadAgent.registerOui(yield* alpha, { mgmtClass: 0x32, oui: openIb })
      yield* Effect.timeoutOption(ping(agent, lid, openIb), "50 millis")
      // As `ibping -d -d` of infiniband-diags 44 shows it; the 8 bytes of the transaction id are each side's own.
      assert.strictEqual(
        seen.slice(0, 16) + seen.slice(32),
        `0132010100000000${"00".repeat(21)}001405${"00".repeat(216)}`
      )
    })).pipe(Effect.provide(fabric)))

  it.live("programs leave the seam as they found it when they fail", () =>
    Effect.gen(function*() {
      yield* Umad.Umad
      for (const address of ["x", "1,2", "70000"]) {
        const failed = LeakCheck.check(
          Effect.flip(smpquery({ ...anyPort, operation: "nodeinfo", address, port: 0, direct: address.includes(",") }))
        )
        assert.isDefined(yield* failed)
      }
    }).pipe(Effect.provide(fabric)))
})
