import * as Guid from "@effect-rdma/core/Guid"
import * as Identifier from "@effect-rdma/core/Identifier"
import * as NodeType from "@effect-rdma/core/NodeType"
import * as PhysicalState from "@effect-rdma/core/PhysicalState"
import * as PKey from "@effect-rdma/core/PKey"
import * as PortState from "@effect-rdma/core/PortState"
import { assert, describe, it, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { execFileSync } from "node:child_process"
import { readdirSync, readFileSync } from "node:fs"
import * as CaName from "../src/CaName.ts"
import * as Umad from "../src/Umad.ts"
import type { UmadError } from "../src/UmadError.ts"
import { heapGrowth } from "./heapGrowth.ts"

const anyPort = Identifier.AnyPortNumber.make(0)
const port = (number: number) => Identifier.AnyPortNumber.make(number)
const name = (text: string) => CaName.CaName.make(text)

const lines = (text: string) =>
  Object.fromEntries(Array.from(text.matchAll(/^\t+(.+?): (.+)$/gm), ([, key = "", value = ""]) => [key, value]))

/** What `ibstat` prints, adapter by adapter; `ports[n]` has the lines of port n. */
const ibstat = () =>
  execFileSync("ibstat", { encoding: "utf8" }).split(/^CA '/m).slice(1).map((text) => {
    const [head = "", ...ports] = text.split(/^\tPort \d+:\n/m)
    return { name: head.slice(0, head.indexOf("'")), ca: lines(head), ports: ports.map(lines) }
  })

/** The sysfs that the simulator shows to this process. */
const sysfs = (path: string) => readFileSync(`sys-${process.pid}/sys/class/infiniband/${path}`, "utf8").trim()

const gotPort = (caName: CaName.CaName | undefined, portNum: Identifier.AnyPortNumber) =>
  Effect.flatMap(Umad.Umad, (umad) =>
    Effect.acquireUseRelease(
      umad.getPort(caName, portNum),
      ({ attributes }) => Effect.succeed(attributes),
      ({ port }) => umad.releasePort(port)
    ))

const gotCa = (caName: CaName.CaName | undefined) =>
  Effect.flatMap(Umad.Umad, (umad) =>
    Effect.acquireUseRelease(
      umad.getCa(caName),
      ({ attributes }) => Effect.succeed(attributes),
      ({ ca }) => umad.releaseCa(ca)
    ))

describe("libibumad on a simulated fabric", { concurrent: false }, () => {
  layer(Umad.Umad.layer)((it) => {
    it.effect("lists the adapters in both ways", () =>
      Effect.gen(function*() {
        const umad = yield* Umad.Umad
        yield* umad.init
        const names = ibstat().map(({ name }) => name)
        assert.isNotEmpty(names)
        assert.deepStrictEqual(yield* umad.getCasNames, names)
        const nodes = yield* umad.getCaDeviceList
        assert.deepStrictEqual([...nodes.names].toSorted(), names)
        assert.isDefined(nodes.list)
        if (nodes.list !== undefined) yield* umad.freeCaDeviceList(nodes.list)
        yield* umad.done
      }))

    it.effect("shows each adapter and port as ibstat and sysfs do", () =>
      Effect.gen(function*() {
        for (const shown of ibstat()) {
          const ca = yield* gotCa(name(shown.name))
          assert.deepStrictEqual(
            {
              "CA type": ca.caType,
              "Number of ports": String(ca.numports),
              "Firmware version": ca.fwVer,
              "Hardware version": ca.hwVer,
              "Node GUID": Guid.format(ca.nodeGuid),
              "System image GUID": Guid.format(ca.systemGuid)
            },
            shown.ca
          )
          assert.strictEqual(ca.caName, shown.name)
          assert.strictEqual(String(NodeType.toNative(ca.nodeType)), sysfs(`${shown.name}/node_type`).split(":")[0])
          assert.strictEqual(ca.ports.length, shown.ports.length)
          for (const port of ca.ports) {
            const lines = shown.ports[port.portNum - 1]
            assert.deepStrictEqual(
              {
                "State": PortState.format(port.state).replace(/^./, (letter) => letter.toUpperCase()),
                "Physical state": PhysicalState.format(port.physState),
                "Rate": String(port.rate),
                "Base lid": String(port.baseLid),
                "LMC": String(port.lmc),
                "SM lid": String(port.smLid),
                "Capability mask": `0x${port.capmask.toString(16).padStart(8, "0")}`,
                "Port GUID": Guid.format(port.portGuid),
                "Link layer": port.linkLayer
              },
              lines
            )
            const files = `${shown.name}/ports/${port.portNum}`
            const gid = (port.gidPrefix << 64n | port.portGuid).toString(16).padStart(32, "0")
            assert.strictEqual(gid, sysfs(`${files}/gids/0`).replaceAll(":", ""))
            assert.strictEqual(String(port.smSl), sysfs(`${files}/sm_sl`))
            const keys = readdirSync(`sys-${process.pid}/sys/class/infiniband/${files}/pkeys`)
            assert.deepStrictEqual(
              port.pkeys.map(PKey.format),
              Array.from(keys, (_, index) => sysfs(`${files}/pkeys/${index}`))
            )
            assert.deepStrictEqual(yield* gotPort(name(shown.name), port.portNum), port)
          }
        }
      }))

    it.effect("chooses the active port where the filter leaves it open", () =>
      Effect.gen(function*() {
        const chosen = yield* gotPort(undefined, anyPort)
        assert.strictEqual(chosen.state, "active")
        assert.deepStrictEqual(yield* gotPort(name(chosen.caName), anyPort), chosen)
        assert.deepStrictEqual(yield* gotPort(undefined, chosen.portNum), chosen)
        const ca = yield* gotCa(undefined)
        assert.deepStrictEqual(ca.ports.find(({ portNum }) => portNum === chosen.portNum), chosen)
      }))

    it.effect("fails for what is not there, with the errno of the library", () =>
      Effect.gen(function*() {
        const umad = yield* Umad.Umad
        const { caName } = yield* gotPort(undefined, anyPort)
        const failures = [
          [umad.getCa(name("nope")), "ENOENT"],
          [umad.getPort(name("nope"), anyPort), "ENODEV"],
          [umad.getPort(name("nope"), port(1)), "EIO"],
          [umad.getPort(name(caName), port(9)), "EIO"]
        ] as const
        for (const [call, reason] of failures) {
          const error = yield* Effect.flip<unknown, UmadError, never>(call)
          assert.strictEqual(error.reason._tag, reason)
          assert.include(error.hint, "ibstat")
        }
      }))
  })
  it("gives back what it took", { timeout: 60_000 }, () => {
    const grown = heapGrowth(`
      const { port } = yield* umad.getPort(undefined, 0)
      yield* umad.releasePort(port)
      const { ca } = yield* umad.getCa(undefined)
      yield* umad.releaseCa(ca)
      const { list } = yield* umad.getCaDeviceList
      yield* umad.freeCaDeviceList(list)`)
    // Measured: 15 to 30 kB. The smallest thing to forget, the P_Keys of one port, makes 95 kB of it.
    assert.isBelow(grown, 60_000)
  })
})
