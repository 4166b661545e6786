import * as Guid from "@effect-rdma/core/Guid"
import * as Identifier from "@effect-rdma/core/Identifier"
import * as Lid from "@effect-rdma/core/Lid"
import * as Pointer from "@effect-rdma/core/Pointer"
import * as Fabric from "@effect-rdma/testkit/Fabric"
import * as Topology from "@effect-rdma/testkit/Topology"
import * as CaName from "@effect-rdma/umad/CaName"
import { Umad } from "@effect-rdma/umad/Umad"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { assertMisuse, assertRefused } from "./observe.ts"

const port = (number: number) => Identifier.AnyPortNumber.make(number)
const any = port(0)
const name = (text: string) => CaName.CaName.make(text)

const on = (...devices: ReadonlyArray<typeof Topology.Device.Encoded>) =>
  Effect.provide(Fabric.layerFrom({ hosts: [{ name: "only", devices }] }))

const down = (device: typeof Topology.Device.Encoded, physState: "polling" | "disabled" | "linkUp") => ({
  ...device,
  ports: device.ports?.map((port) => Object.assign({}, port, { state: "down", physState })) ?? []
})

const got = (caName: string | undefined, portNum: number) =>
  Effect.gen(function*() {
    const umad = yield* Umad
    const { attributes, port: pointer } = yield* umad.getPort(
      caName === undefined ? caName : name(caName),
      port(portNum)
    )
    yield* umad.releasePort(pointer)
    return `${attributes.caName}:${attributes.portNum}`
  })

describe("Fabric: libibumad", () => {
  describe("which port", () => {
    it.effect("no filter: the active InfiniBand port, though a RoCE device comes first", () =>
      Effect.gen(function*() {
        assert.strictEqual(yield* got(undefined, 0), "mlx5_0:1")
      }).pipe(Effect.provide(Fabric.layer)))

    it.effect("no filter, RoCE only: the first port that is not disabled", () =>
      Effect.gen(function*() {
        assert.strictEqual(yield* got(undefined, 0), "rxe0:1")
      }).pipe(on(Topology.softRoce("rxe0", 1))))

    it.effect("no filter, no active port: the first adapter that has a linked or at least an enabled one", () =>
      Effect.gen(function*() {
        assert.strictEqual(yield* got(undefined, 0), "mlx5_1:1")
      }).pipe(on(
        down(Topology.connectX("mlx5_0", 1), "disabled"),
        down(Topology.connectX("mlx5_1", 2), "linkUp"),
        down(Topology.connectX("mlx5_2", 3), "polling")
      )))

    it.effect("an active port of a later adapter wins", () =>
      Effect.gen(function*() {
        assert.strictEqual(yield* got(undefined, 0), "mlx5_1:1")
        assert.strictEqual(yield* got(undefined, 2), "mlx5_0:2")
        assert.strictEqual(yield* got("mlx5_0", 0), "mlx5_0:1")
      }).pipe(on(down(Topology.connectX("mlx5_0", 1), "polling"), Topology.connectX("mlx5_1", 2))))

    it.effect("a name and a number are taken at their word: a port that is down is given", () =>
      Effect.gen(function*() {
        assert.strictEqual(yield* got("mlx5_0", 2), "mlx5_0:2")
        assert.strictEqual(yield* got("rxe0", 1), "rxe0:1")
        assert.strictEqual(yield* got("mlx5_0", 0), "mlx5_0:1")
      }).pipe(Effect.provide(Fabric.layer)))

    it.effect("a switch answers on port 0", () =>
      Effect.gen(function*() {
        assert.strictEqual(yield* got(undefined, 0), "switch0:0")
        assert.strictEqual(yield* got("switch0", 0), "switch0:0")
        const { attributes } = yield* (yield* Umad).getCa(name("switch0"))
        assert.deepStrictEqual<unknown>(attributes.ports.map(({ portNum }) => portNum), [0, 1, 2])
      }).pipe(on({
        name: "switch0",
        provider: "mlx5",
        nodeType: "switch",
        guid: 1n,
        ports: [
          { number: 2, linkLayer: "infiniband" },
          { number: 0, linkLayer: "infiniband", state: "down", gids: [{ gid: "fe80::1", type: "ib" }] },
          { number: 1, linkLayer: "infiniband" }
        ]
      })))

    it.effect("a linked InfiniBand port is better than an enabled one, a disabled one is none", () =>
      Effect.gen(function*() {
        assert.strictEqual(yield* got("mixed0", 0), "mixed0:3")
        assert.strictEqual(yield* got(undefined, 2), "mixed0:2")
        yield* assertRefused((yield* Umad).getPort(undefined, port(1)), "umad_get_port", "EIO")
        assert.strictEqual(yield* got("mixed0", 1), "mixed0:1")
      }).pipe(on({
        name: "mixed0",
        guid: 1n,
        ports: [
          { number: 1, linkLayer: "infiniband", state: "down", physState: "disabled" },
          { number: 2, linkLayer: "infiniband", state: "down", physState: "polling" },
          { number: 3, linkLayer: "infiniband", state: "init", physState: "linkUp" }
        ]
      })))
  })

  describe("failures of umad_get_port", () => {
    const call = "umad_get_port"
    it.effect("EIO for a port or an adapter that is not there, ENODEV for an adapter that must choose its port", () =>
      Effect.gen(function*() {
        const umad = yield* Umad
        yield* assertRefused(umad.getPort(name("mlx5_0"), port(3)), call, "EIO")
        yield* assertRefused(umad.getPort(name("nope"), port(1)), call, "EIO")
        yield* assertRefused(umad.getPort(name("nope"), any), call, "ENODEV")
      }).pipe(Effect.provide(Fabric.layer)))

    it.effect("EIO where no port fits: the library then asks for mthca0", () =>
      Effect.gen(function*() {
        const umad = yield* Umad
        yield* assertRefused(umad.getPort(undefined, port(1)), call, "EIO")
      }).pipe(on(Topology.softRoce("rxe0", 1))))

    it.effect("ENODEV without adapters, EIO with a full name", () =>
      Effect.gen(function*() {
        const umad = yield* Umad
        yield* assertRefused(umad.getPort(undefined, any), call, "ENODEV")
        yield* assertRefused(umad.getPort(name("rxe0"), port(1)), call, "EIO")
      }).pipe(Effect.provide(Fabric.layerFrom({ hosts: [{ name: "empty", devices: [] }] }))))

    it.effect("RdmaUnavailable on a kernel without RDMA", () =>
      Effect.gen(function*() {
        const umad = yield* Umad
        const error = yield* Effect.flip(umad.getPort(undefined, any))
        assert.deepStrictEqual([error.reason._tag, error.reason.errno], ["RdmaUnavailable", 19])
      }).pipe(Effect.provide(Fabric.layerFrom({ hosts: [{ name: "bare", rdma: false }] }))))

    it.effect("EIO for an adapter with more ports than umad_ca_t has room for; its ports can be got", () =>
      Effect.gen(function*() {
        const umad = yield* Umad
        yield* assertRefused(umad.getCa(name("wide")), "umad_get_ca", "EIO")
        assert.strictEqual(yield* got("wide", 10), "wide:10")
      }).pipe(on({ name: "wide", guid: 1n, ports: [{ number: 10, linkLayer: "infiniband" }] })))

    it.effect("EIO for a port without P_Keys", () =>
      Effect.gen(function*() {
        const umad = yield* Umad
        yield* assertRefused(umad.getPort(name("odd"), port(1)), call, "EIO")
        yield* assertRefused(umad.getCa(name("odd")), "umad_get_ca", "EIO")
      }).pipe(on({ name: "odd", guid: 1n, ports: [{ number: 1, linkLayer: "infiniband", pkeys: [] }] })))
  })

  it.effect("umad_get_ca: the adapter with its ports; ENOENT for a name, ENODEV for none", () =>
    Effect.gen(function*() {
      const umad = yield* Umad
      const { attributes, ca } = yield* umad.getCa(undefined)
      assert.deepInclude(attributes, { caName: "mlx5_0", numports: 2, caType: "MT4123", fwVer: "20.31.1014" })
      assert.deepInclude(attributes.ports[0], {
        portNum: port(1),
        baseLid: Lid.Lid.make(1),
        smLid: Lid.Lid.make(1),
        rate: 200,
        gidPrefix: 0xfe80_0000_0000_0000n,
        portGuid: Guid.Guid.make(0x0002_c903_00a0_0101n),
        linkLayer: "InfiniBand"
      })
      yield* umad.releaseCa(ca)
      yield* assertMisuse(umad.releaseCa(ca), "umad_release_ca", /was a UmadCa until umad_release_ca/)
      yield* assertRefused(umad.getCa(name("nope")), "umad_get_ca", "ENOENT")
    }).pipe(Effect.provide(Fabric.layer)))

  it.effect("umad_get_ca without adapters: ENODEV", () =>
    Effect.gen(function*() {
      yield* assertRefused((yield* Umad).getCa(undefined), "umad_get_ca", "ENODEV")
    }).pipe(Effect.provide(Fabric.layerFrom({ hosts: [{ name: "empty" }] }))))

  describe("names", () => {
    it.effect("sorted by umad_get_cas_names, as they come by umad_get_ca_device_list", () =>
      Effect.gen(function*() {
        const umad = yield* Umad
        assert.deepStrictEqual(yield* umad.getCasNames, ["mlx5_0", "rxe0"])
        const { list, names } = yield* umad.getCaDeviceList
        assert.deepStrictEqual(names, ["rxe0", "mlx5_0"])
        assert(list !== undefined)
        yield* umad.freeCaDeviceList(list)
        yield* assertMisuse(umad.freeCaDeviceList(list), "umad_free_ca_device_list", /was a CaDeviceList until/)
      }).pipe(Effect.provide(Fabric.layer)))

    it.effect("names of 20 bytes are left out of the names and not of the list; iWARP is in neither", () =>
      Effect.gen(function*() {
        const umad = yield* Umad
        assert.deepStrictEqual(yield* umad.getCasNames, ["a234567890123456789"])
        assert.deepStrictEqual((yield* umad.getCaDeviceList).names, ["a2345678901234567890", "a234567890123456789"])
      }).pipe(on(
        { name: "a2345678901234567890", guid: 1n },
        { name: "a234567890123456789", guid: 2n },
        { name: "iwarp0", guid: 3n, nodeType: "rnic", transport: "iwarp" }
      )))

    it.effect.each(["rdma", "no rdma"])(
      "no adapters, %s: no names and no list, never mthca0",
      (kernel) =>
        Effect.gen(function*() {
          const umad = yield* Umad
          assert.deepStrictEqual(yield* umad.getCasNames, [])
          assert.deepStrictEqual(yield* umad.getCaDeviceList, { list: undefined, names: [] })
        }).pipe(Effect.provide(Fabric.layerFrom({ hosts: [{ name: "empty", rdma: kernel === "rdma" }] })))
    )
  })

  it.effect("umad_done wants an umad_init; a port is released once", () =>
    Effect.gen(function*() {
      const umad = yield* Umad
      yield* umad.init
      yield* umad.done
      yield* assertMisuse(umad.done, "umad_done", /umad_init was not called/)
      const got = yield* umad.getPort(undefined, any)
      yield* umad.releasePort(got.port)
      yield* assertMisuse(umad.releasePort(got.port), "umad_release_port", /was a UmadPort until/)
      yield* assertMisuse(umad.releasePort(Pointer.make(1n)), "umad_release_port", /was never given out/)
    }).pipe(Effect.provide(Fabric.layer)))
})
