/**
 * libibumad on the echo provider: every field that C receives and gives back, and every way in which it fails, most of which
 * no simulator shows.
 */
import * as Errno from "@effect-rdma/core/Errno"
import * as Gid from "@effect-rdma/core/Gid"
import * as Identifier from "@effect-rdma/core/Identifier"
import * as Lid from "@effect-rdma/core/Lid"
import * as PKey from "@effect-rdma/core/PKey"
import * as Lane from "@effect-rdma/testkit/conformance/Lane"
import * as CaName from "@effect-rdma/umad/CaName"
import type * as MadAddress from "@effect-rdma/umad/MadAddress"
import * as MadBuffer from "@effect-rdma/umad/MadBuffer"
import { type AgentId, type PortId, Umad } from "@effect-rdma/umad/Umad"
import * as UmadAgent from "@effect-rdma/umad/UmadAgent"
import type { UmadError } from "@effect-rdma/umad/UmadError"
import * as UmadLibrary from "@effect-rdma/umad/UmadLibrary"
import * as UmadPort from "@effect-rdma/umad/UmadPort"
import { assert, describe, it } from "@effect/vitest"
import * as Brand from "effect/Brand"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Compiler from "./Compiler.ts"
import * as Echo from "./Echo.ts"

const name = CaName.CaName.make("mlx5_1")
const port = (number: number) => Identifier.AnyPortNumber.make(number)
const agentId = Brand.nominal<AgentId>()
const portId = Brand.nominal<PortId>()
const gidHex = "c0c1c2c3c4c5c6c7c8c9cacbcccdcecf"
const gid = Gid.fromBytes(Uint8Array.from({ length: 16 }, (_, index) => 0xc0 + index))

const address: MadAddress.MadAddress = {
  lid: Lid.Lid.make(0x1234),
  qpn: Identifier.Qpn.make(0xabcdef),
  qkey: Identifier.QKey.make(0x8001_0000),
  sl: Identifier.ServiceLevel.make(15),
  pathBits: Identifier.PathBits.make(127),
  pkeyIndex: Identifier.PKeyIndex.make(0x1234),
  grh: {
    gid,
    gidIndex: Identifier.GidIndex.make(253),
    hopLimit: Identifier.HopLimit.make(64),
    trafficClass: Identifier.TrafficClass.make(0x5a),
    flowLabel: Identifier.FlowLabel.make(0xfedcb)
  }
}
const reportedAddress = {
  qpn: String(0xabcdef),
  qkey: String(0x8001_0000),
  lid: String(0x1234),
  sl: "15",
  path_bits: "127",
  grh_present: "1",
  gid_index: "253",
  hop_limit: "64",
  traffic_class: String(0x5a),
  gid: gidHex,
  flow_label: String(0xfedcb),
  pkey_index: String(0x1234)
}

const attributes = (portnum: number) => ({
  caName: "mlx5_1",
  portNum: portnum,
  baseLid: 0x12345,
  lmc: 3,
  smLid: 0x4321,
  smSl: 5,
  state: "active",
  physState: "linkUp",
  rate: 200,
  capmask: 0x01020304,
  gidPrefix: 0xfe80_0000_0000_0001n,
  portGuid: 0x0002_c903_00a1_b2c3n,
  pkeys: [PKey.PKey.make(0xffff), PKey.PKey.make(0x8001)],
  linkLayer: "InfiniBand"
})

const pair = { smiName: "smi0", smiPreferredPort: 0x01020304, gsiName: "mlx5_1", gsiPreferredPort: 0x05060708 }

const negative = (errno: Errno.ErrnoName) => ({ result: -Errno.numberOf(errno) })
const errnoOf = (errno: Errno.ErrnoName) => Errno.numberOf(errno)

const fails = (effect: Effect.Effect<unknown, UmadError>, call: string, errno: Errno.ErrnoName) =>
  Effect.map(Effect.flip(effect), (error) => {
    assert.deepStrictEqual([error.call, error.reason.errno], [call, Errno.numberOf(errno)], error.message)
    return error
  })

describe.skipIf(Compiler.missing !== undefined)("libibumad", () => {
  const { echo } = Echo.lane()
  const test = <E>(title: string, program: (umad: Umad["Service"]) => Effect.Effect<void, E, Umad>) =>
    it.live(title, () =>
      Effect.provide(
        Effect.flatMap(Umad, program),
        Layer.unwrap(Effect.sync(() => Umad.layerFromPath(echo().path)))
      ))
  const opened = (umad: Umad["Service"]) =>
    Effect.tap(umad.openPort(name, port(1)), () => Effect.sync(() => echo().calls()))

  test("adapters and their lists", (umad) =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* umad.getCasNames, ["mlx5_1", "nineteen_characters"])
      const nodes = yield* umad.getCaDeviceList
      assert.deepStrictEqual(nodes.names, ["mlx5_1", "mlx5_0"])
      if (nodes.list === undefined) return assert.fail("no list")
      echo().script("sort_ca_device_list", { result: errnoOf("ENOMEM") })
      yield* fails(umad.sortCaDeviceList(nodes.list), "umad_sort_ca_device_list", "ENOMEM")
      const sorted = yield* umad.sortCaDeviceList(nodes.list)
      assert.deepStrictEqual(sorted.names, ["mlx5_0", "mlx5_1"])
      assert.notStrictEqual(sorted.list, nodes.list)
      if (sorted.list !== undefined) yield* umad.freeCaDeviceList(sorted.list)
      assert.deepStrictEqual(echo().last(), { op: "free_ca_device_list", first: "mlx5_0" })
      echo().script("get_ca_device_list", { errno: errnoOf("ENOMEM") })
      yield* fails(umad.getCaDeviceList, "umad_get_ca_device_list", "ENOMEM")
    }))

  test("an adapter and a port: every field of their structs", (umad) =>
    Effect.gen(function*() {
      const { attributes: got, ca } = yield* umad.getCa(name)
      assert.deepStrictEqual(got as unknown, {
        caName: "mlx5_1",
        nodeType: "ca",
        numports: 2,
        fwVer: "20.31.1014",
        caType: "MT4123",
        hwVer: "0",
        nodeGuid: 0x0002_c903_00a1_b2c0n,
        systemGuid: 0x0002_c903_00a1_b2c1n,
        ports: [attributes(2)]
      })
      yield* umad.releaseCa(ca)
      const { attributes: alone, port: pointer } = yield* umad.getPort(undefined, port(200))
      assert.deepStrictEqual(alone as unknown, attributes(200))
      assert.deepStrictEqual(echo().last(), { op: "get_port", ca_name: "NULL", portnum: "200" })
      yield* umad.releasePort(pointer)
    }))

  test("GUIDs, paths, pairs and the debug level", (umad) =>
    Effect.gen(function*() {
      assert.deepStrictEqual((yield* umad.getCaPortguids(name)).map(BigInt), [0n, 0x0002_c903_00a1_b2c3n])
      assert.deepStrictEqual(echo().last(), { op: "get_ca_portguids", ca_name: "mlx5_1", max: "256" })
      echo().script("get_ca_portguids", { result: -1, errno: errnoOf("ENOENT") })
      yield* fails(umad.getCaPortguids(name), "umad_get_ca_portguids", "ENOENT")
      echo().script("get_ca_portguids", negative("ENOMEM"))
      yield* fails(umad.getCaPortguids(undefined), "umad_get_ca_portguids", "ENOMEM")

      assert.strictEqual(yield* umad.getIssmPath(name, port(2)), "/dev/infiniband/issm17")
      assert.deepStrictEqual(echo().last(), { op: "get_issm_path", ca_name: "mlx5_1", portnum: "2" })
      echo().script("get_issm_path", negative("EINVAL"))
      yield* fails(umad.getIssmPath(undefined, port(0)), "umad_get_issm_path", "EINVAL")

      assert.deepStrictEqual(yield* umad.getSmiGsiPairs, [pair])
      assert.deepStrictEqual(yield* umad.getSmiGsiPairByCaName(name, port(3), true), pair)
      assert.deepInclude(echo().last(), { ca_name: "mlx5_1", portnum: "3", enforce_smi: "1" })
      echo().script("get_smi_gsi_pairs", { result: -1, errno: errnoOf("ENODEV") })
      yield* fails(umad.getSmiGsiPairs, "umad_get_smi_gsi_pairs", "ENODEV")
      echo().script("get_smi_gsi_pair_by_ca_name", negative("ENODEV"))
      yield* fails(umad.getSmiGsiPairByCaName(name, port(0), false), "umad_get_smi_gsi_pair_by_ca_name", "ENODEV")

      assert.strictEqual(yield* umad.debug(1), 2)
    }))

  for (
    const [call, operation, open] of [
      ["umad_open_port", "open_port", (umad: Umad["Service"]) => umad.openPort],
      ["umad_open_smi_port", "open_smi_port", (umad: Umad["Service"]) => umad.openSmiPort]
    ] as const
  ) {
    test(`${call}: the descriptor, and the errno behind the constant EIO`, (umad) =>
      Effect.gen(function*() {
        const opened = yield* open(umad)(name, port(2))
        assert.strictEqual(Number(opened), 1000)
        assert.deepInclude(echo().calls(), { op: operation, ca_name: "mlx5_1", portnum: "2" })
        assert.strictEqual(yield* umad.getFd(opened), 1001)
        yield* umad.closePort(opened)
        assert.deepStrictEqual(echo().last(), { op: "close_port", portid: "1000" })

        echo().script(operation, { ...negative("EIO"), errno: errnoOf("EACCES") })
        const refused = yield* fails(open(umad)(undefined, port(0)), call, "EACCES")
        assert.include(refused.message, "/dev/infiniband/umad17")
        echo().script(operation, { ...negative("EIO"), errno: errnoOf("EMFILE") })
        yield* fails(open(umad)(undefined, port(0)), call, "EMFILE")
        // What the variable has from before says nothing beside another errno.
        echo().script(operation, { ...negative("EOPNOTSUPP"), errno: errnoOf("ENOENT") })
        assert.include((yield* fails(open(umad)(undefined, port(0)), call, "EOPNOTSUPP")).message, "modprobe ib_umad")
        for (const errno of ["ENODEV", "EINVAL"] as const) {
          echo().script(operation, { ...negative(errno), errno: errnoOf("ENOENT") })
          yield* fails(open(umad)(undefined, port(0)), call, errno)
        }
      }))
  }

  // No library of a lane has the newer call: its pair is seen here.
  Lane.test({
    name: "echo",
    layer: Layer.unwrap(Effect.sync(() => Umad.layerFromPath(echo().path))),
    snapshot: Effect.sync(() => echo().live())
  })(
    "a port for subnet management alone, its agents of all three calls, and a buffer are released in order",
    () =>
      Effect.gen(function*() {
        echo().calls()
        yield* Effect.scoped(Effect.gen(function*() {
          const port = yield* UmadPort.openSmi(yield* UmadLibrary.init(), { caName: "mlx5_1" })
          yield* UmadAgent.register(port, { mgmtClass: 0x81 })
          yield* UmadAgent.registerOui(port, { mgmtClass: 0x30, oui: 1 })
          yield* UmadAgent.register2(port, { mgmtClass: 4 })
          yield* MadBuffer.alloc(port, 256)
        }))
        assert.deepStrictEqual(
          echo().calls().filter(({ op }) => /open|regi|close/.test(op)).map(({ agentid, op }) => [op, agentid]),
          [
            ["open_smi_port", undefined],
            ["register", undefined],
            ["register_oui", undefined],
            ["register2", undefined],
            ["unregister", "29"],
            ["unregister", "30"],
            ["unregister", "31"],
            ["close_port", undefined]
          ]
        )
      })
  )

  test("a library whose header of a MAD is the old one is refused, and the port closed", (umad) =>
    Effect.gen(function*() {
      echo().script("size", { result: 56 })
      yield* fails(umad.openPort(name, port(1)), "umad_open_port", "EOPNOTSUPP")
      assert.strictEqual(echo().last().op, "close_port")
    }))

  test("agents: every argument, 128 methods, and the errno behind the constant EPERM", (umad) =>
    Effect.gen(function*() {
      const portId = yield* opened(umad)
      const methodMask = 1n | (1n << 63n) | (1n << 64n) | (1n << 127n)
      const mask = "01000000000000800100000000000080"
      assert.strictEqual(
        Number(yield* umad.register(portId, { mgmtClass: 0x81, mgmtVersion: 2, rmppVersion: 1, methodMask })),
        31
      )
      assert.deepStrictEqual(echo().last(), {
        op: "register",
        portid: "1000",
        mgmt_class: String(0x81),
        mgmt_version: "2",
        rmpp_version: "1",
        method_mask: mask
      })
      assert.strictEqual(
        Number(yield* umad.registerOui(portId, { mgmtClass: 0x4f, oui: 0x123456, rmppVersion: 1, methodMask: 2n })),
        30
      )
      assert.deepStrictEqual(echo().last(), {
        op: "register_oui",
        portid: "1000",
        mgmt_class: String(0x4f),
        rmpp_version: "1",
        oui: "123456",
        method_mask: "0200000000000000".padEnd(32, "0")
      })
      const registration = { mgmtClass: 0x31, mgmtClassVersion: 3, flags: 1, oui: 0xabcdef, rmppVersion: 1, methodMask }
      assert.strictEqual(Number(yield* umad.register2(portId, registration)), 29)
      assert.deepStrictEqual(echo().last(), {
        op: "register2",
        port_fd: "1000",
        mgmt_class: String(0x31),
        mgmt_class_version: "3",
        flags: "1",
        method_mask: mask,
        oui: String(0xabcdef),
        rmpp_version: "1"
      })
      for (const id of [29, 30, 31]) {
        yield* umad.unregister(portId, agentId(id))
        assert.deepStrictEqual(echo().last(), { op: "unregister", portid: "1000", agentid: String(id) })
      }

      const wanted = { mgmtClass: 4, mgmtVersion: 1, rmppVersion: 0, methodMask: 0n, oui: 1 }
      for (const errno of ["EINVAL", "ENOMEM", "EPROTONOSUPPORT", "EPIPE", "EPERM"] as const) {
        echo().script("register", { ...negative("EPERM"), errno: errnoOf(errno) })
        assert.include((yield* fails(umad.register(portId, wanted), "umad_register", errno)).message, "0x04")
        echo().script("register_oui", { ...negative("EPERM"), errno: errnoOf(errno) })
        yield* fails(umad.registerOui(portId, wanted), "umad_register_oui", errno)
        echo().script("register2", { result: errnoOf(errno) })
        yield* fails(umad.register2(portId, registration), "umad_register2", errno)
        echo().script("unregister", { result: -1, errno: errnoOf(errno) })
        yield* fails(umad.unregister(portId, agentId(1)), "umad_unregister", errno)
      }
      yield* umad.closePort(portId)
    }))

  test("sending: every field of the header, the bytes, and the errno behind the constant EIO", (umad) =>
    Effect.gen(function*() {
      const portId = yield* opened(umad)
      const buffer = yield* umad.alloc(256)
      const mad = Uint8Array.from({ length: 36 }, (_, index) => index + 1)
      yield* umad.send(portId, agentId(5), buffer, { address, mad }, 1000, 3)
      const report = {
        op: "send",
        portid: "1000",
        agentid: "5",
        length: "36",
        timeout_ms: "1000",
        retries: "3",
        data: Buffer.from(mad).toString("hex")
      }
      assert.deepStrictEqual(echo().last(), { ...report, ...reportedAddress })
      const { grh: _, ...without } = address
      yield* umad.send(portId, agentId(5), buffer, { address: without, mad }, 1000, 3)
      assert.deepInclude(echo().last(), {
        grh_present: "0",
        gid_index: "0",
        hop_limit: "0",
        traffic_class: "0",
        gid: "".padEnd(32, "0"),
        flow_label: "0"
      })
      for (const errno of ["EBADF", "EINVAL", "ENOMEM", "EAGAIN", "EIO"] as const) {
        echo().script("send", { ...negative("EIO"), errno: errnoOf(errno) })
        yield* fails(umad.send(portId, agentId(5), buffer, { address, mad }, 0, 0), "umad_send", errno)
      }
      yield* umad.dump(buffer)
      assert.deepStrictEqual(echo().last(), { op: "dump", umad: String(buffer) })
      yield* umad.addrDump(buffer)
      assert.deepStrictEqual(echo().last(), { op: "addr_dump", addr: String(buffer + 20n) })
      yield* umad.free(buffer)
      yield* umad.closePort(portId)
    }))

  test("receiving: every field, a message that does not fit, and every errno", (umad) =>
    Effect.gen(function*() {
      const portId = yield* opened(umad)
      const buffer = yield* umad.alloc(256)
      assert.deepStrictEqual(yield* umad.recv(portId, buffer, 256), {
        agentId: agentId(7),
        status: errnoOf("ETIMEDOUT"),
        address,
        mad: Uint8Array.from({ length: 40 }, (_, index) => index + 1)
      })
      assert.deepStrictEqual(echo().last(), { op: "recv", portid: "1000", length: "256", timeout_ms: "0" })
      // The library tells more than the buffer takes: no byte behind it is read.
      const short = yield* umad.recv(portId, buffer, 24)
      assert.strictEqual("mad" in short ? short.mad.length : short.needed, 24)
      echo().script("recv", negative("ENOSPC"))
      assert.deepStrictEqual(yield* umad.recv(portId, buffer, 256), { needed: 5000 })
      // EINVAL leaves anything in the length.
      for (const errno of ["EINVAL", "EIO", "EAGAIN", "EBADF"] as const) {
        echo().script("recv", { ...negative(errno), errno: errnoOf(errno) })
        yield* fails(umad.recv(portId, buffer, 256), "umad_recv", errno)
      }
      yield* umad.free(buffer)
      yield* umad.closePort(portId)
    }))

  test("waiting where the event loop cannot: it looks again and again, and never in C", (umad) =>
    Effect.gen(function*() {
      const portId = yield* opened(umad)
      assert.isTrue(yield* umad.poll(portId))
      assert.deepStrictEqual(echo().last(), { op: "poll", portid: "1000", timeout_ms: "0" })
      echo().calls()
      for (const after of [0, 0, 0]) echo().script("poll", { ...negative("ETIMEDOUT"), after })
      yield* umad.awaitMad(portId)
      assert.strictEqual(echo().calls().length, 4)
      echo().script("poll", negative("ETIMEDOUT"))
      assert.isFalse(yield* umad.poll(portId))
      echo().script("poll", { ...negative("EIO"), errno: errnoOf("EINTR") })
      yield* fails(umad.poll(portId), "umad_poll", "EINTR")
      echo().script("poll", negative("EIO"))
      yield* fails(umad.awaitMad(portId), "umad_poll", "EIO")
      yield* umad.closePort(portId)
    }))

  test("the descriptor that waiting needs is looked at, not taken for granted", (umad) =>
    Effect.gen(function*() {
      yield* umad.awaitMad(portId(2 ** 31 - 1))
      assert.strictEqual(echo().last().op, "poll")
    }))
})
