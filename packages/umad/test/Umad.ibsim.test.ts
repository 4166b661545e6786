import * as Guid from "@effect-rdma/core/Guid"
import * as Identifier from "@effect-rdma/core/Identifier"
import * as Library from "@effect-rdma/core/Library"
import * as NativeMemory from "@effect-rdma/core/NativeMemory"
import * as NodeType from "@effect-rdma/core/NodeType"
import * as PhysicalState from "@effect-rdma/core/PhysicalState"
import * as PKey from "@effect-rdma/core/PKey"
import * as PortState from "@effect-rdma/core/PortState"
import { assert, describe, it, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { execFileSync } from "node:child_process"
import { readdirSync, readFileSync } from "node:fs"
import * as CaName from "../src/CaName.ts"
import * as UserMad from "../src/internal/userMadCodec.ts"
import * as MadAddress from "../src/MadAddress.ts"
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
  layer(Umad.Umad.layer)((it) => {
    it.effect("writes and reads the header of a MAD as the accessors of the library do", () =>
      Effect.gen(function*() {
        const umad = yield* Umad.Umad
        // They know of P_Key indexes once a port was opened.
        const portId = yield* umad.openPort(undefined, anyPort)
        const c = yield* Library.open({
          name: "libibumad",
          soname: ["libibumad.so.3"],
          environment: "UNUSED",
          debianPackage: "libibumad3"
        })
        const setAddr = c.bind("umad_set_addr", ["buffer", "int", "int", "int", "int"], "int")
        const setGrh = c.bind("umad_set_grh", ["buffer", "buffer"], "int")
        const setPkey = c.bind("umad_set_pkey", ["buffer", "int"], "int")
        const getPkey = c.bind("umad_get_pkey", ["buffer"], "int")
        const status = c.bind("umad_status", ["buffer"], "int")
        const getMad = c.bind("umad_get_mad", ["buffer"], "pointer")
        const size = c.bind("umad_size", [], "size")

        const mad = Uint8Array.from({ length: 256 }, (_, index) => index)
        const address = MadAddress.complete(
          yield* Schema.decodeEffect(MadAddress.Destination)({
            lid: 0x1234,
            qpn: 0xabcdef,
            qkey: 0x8001_0000,
            sl: 5,
            pkeyIndex: 0x4321,
            grh: { gid: "fe80::1:2", gidIndex: 0, hopLimit: 63, trafficClass: 7, flowLabel: 0xfedcb }
          }),
          4
        )
        const ours = new DataView(new ArrayBuffer(64 + 256))
        UserMad.write(ours, { address, mad })

        const theirs = new DataView(new ArrayBuffer(64 + 256))
        // The GRH is given as one of an address in host byte order.
        const grh = new DataView(new ArrayBuffer(44))
        grh.setUint8(14, 63)
        grh.setUint8(15, 7)
        new Uint8Array(grh.buffer, 16, 16).set(address.grh?.gid ?? [])
        new Uint32Array(grh.buffer, 32, 1)[0] = 0xfedcb
        setAddr(theirs, 0x1234, 0xabcdef, 5, 0x8001_0000 | 0)
        setGrh(theirs, grh)
        setPkey(theirs, 0x4321)
        const at = Number(BigInt(getMad(theirs) ?? 0n) - NativeMemory.addressOf(new Uint8Array(theirs.buffer)))
        new Uint8Array(theirs.buffer, at).set(mad)

        assert.deepStrictEqual(new Uint8Array(ours.buffer), new Uint8Array(theirs.buffer))
        assert.strictEqual(Number(size()), at)
        assert.strictEqual(getPkey(ours), 0x4321)
        new Uint32Array(ours.buffer, 4, 1)[0] = 110
        assert.strictEqual(status(ours), 110)
        assert.strictEqual(UserMad.read(ours, 256).status, 110)
        assert.deepStrictEqual(UserMad.read(theirs, 256).address, address)
        yield* umad.closePort(portId)
      }))
  })

  it("gives back what it took", { timeout: 60_000 }, () => {
    const grown = heapGrowth(`
      const { port } = yield* umad.getPort(undefined, 0)
      yield* umad.releasePort(port)
      const { ca } = yield* umad.getCa(undefined)
      yield* umad.releaseCa(ca)
      const { list } = yield* umad.getCaDeviceList
      yield* umad.freeCaDeviceList(list)
      const portId = yield* umad.openPort(undefined, 0)
      const agentId = yield* umad.register(portId, { mgmtClass: 4, mgmtVersion: 1, rmppVersion: 0, methodMask: 0n })
      yield* umad.unregister(portId, agentId)
      const buffer = yield* umad.alloc(256)
      yield* umad.free(buffer)
      yield* umad.closePort(portId)`)
    // Measured: 15 to 30 kB. The smallest thing to forget, the P_Keys of one port, makes 95 kB of it.
    assert.isBelow(grown, 60_000)
  })
})
