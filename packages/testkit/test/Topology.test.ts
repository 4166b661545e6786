import * as Gid from "@effect-rdma/core/Gid"
import * as CmId from "@effect-rdma/rdmacm/CmId"
import * as EventChannel from "@effect-rdma/rdmacm/EventChannel"
import * as Fabric from "@effect-rdma/testkit/Fabric"
import * as Topology from "@effect-rdma/testkit/Topology"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { TestClock } from "effect/testing"

const decode = Schema.decodeEffect(Topology.Topology)

const oneDevice = (device: Partial<typeof Topology.Device.Encoded>): Topology.Input => ({
  hosts: [{ name: "a", devices: [{ name: "d", guid: 1n, ...device }] }]
})

const build = (plan: Partial<Topology.Plan>) => () => Topology.build({ hosts: { a: ["mlx5_0"] }, ...plan })

const pass = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.gen(function*() {
    const fiber = yield* Effect.forkChild(effect, { startImmediately: true })
    yield* TestClock.adjust("2 seconds")
    return yield* Fiber.join(fiber)
  })

describe("Topology", () => {
  it.effect("fills in what is left out: a device is like Soft-RoCE", () =>
    Effect.gen(function*() {
      const { hosts } = yield* decode(oneDevice({ ports: [{ number: 1, linkLayer: "ethernet" }] }))
      const device = hosts[0].devices[0]
      assert.deepInclude(device, { provider: "rxe", experimental: false, nodeType: "ca", transport: "ib" })
      assert.deepInclude(device?.attributes, { maxPd: 1048576, maxMrSize: 0xffff_ffff_ffff_ffffn })
      assert.deepInclude(device?.ports[0], { state: "active", physState: "linkUp", gidTblLen: 1024 })
      assert.deepStrictEqual<unknown>(device?.ports[0]?.pkeys, [0xffff])
    }))

  it.effect("takes GIDs and GUIDs as text or as values", () =>
    Effect.gen(function*() {
      const gids = [{ gid: "fe80::1", type: "ib" }, { gid: Gid.zero(), type: "ib", index: 4 }] as const
      const { hosts } = yield* decode(
        oneDevice({ guid: "0x0002c90300a1b2c3", ports: [{ number: 1, linkLayer: "infiniband", gids }] })
      )
      assert.strictEqual<bigint | undefined>(hosts[0].devices[0]?.guid, 0x0002_c903_00a1_b2c3n)
    }))

  const wrong: ReadonlyArray<readonly [string, Topology.Input, RegExp]> = [
    ["two hosts of one name", { hosts: [{ name: "a" }, { name: "a" }] }, /a host is there twice/],
    [
      "two ports of one number",
      oneDevice({ ports: [{ number: 1, linkLayer: "ethernet" }, { number: 1, linkLayer: "ethernet" }] }),
      /a port is there twice/
    ],
    [
      "a GID that is none",
      oneDevice({ ports: [{ number: 1, linkLayer: "ethernet", gids: [{ gid: "x", type: "ib" }] }] }),
      /gid/
    ],
    ["a limit below zero", oneDevice({ attributes: { maxPd: -1 } }), /maxPd/]
  ]
  it.effect.each(wrong)(
    "refuses %s",
    ([, input, problem]) => Effect.map(Effect.flip(decode(input)), (error) => assert.match(String(error), problem))
  )

  it.effect("the default is two hosts that are named and numbered apart", () =>
    Effect.gen(function*() {
      const { hosts } = yield* decode(Topology.twoHosts)
      assert.deepStrictEqual(hosts.map(({ name }) => name), ["host-a", "host-b"])
      const guids = hosts.flatMap(({ devices }) => devices.map(({ guid }) => guid))
      assert.strictEqual(new Set(guids).size, 4)
      assert.deepStrictEqual<unknown>(
        hosts.map(({ devices }) => devices[1]?.ports.map(({ lid, state }) => [lid, state])),
        [[[1, "active"], [0xffff, "down"]], [[2, "active"], [0xffff, "down"]]]
      )
    }))

  it.effect("is built from hosts with their devices, switches and cables", () =>
    Effect.gen(function*() {
      const { hosts, links, subnet } = yield* decode(Topology.build({
        hosts: { client: ["rxe0", "mlx5_0"], server: ["mlx5_0"], idle: ["mlx5_0"] },
        switches: ["leaf", "spine"],
        cables: [
          ["client mlx5_0", "leaf"],
          ["leaf", "spine", { latency: "2 micros", loss: 0.5 }],
          ["server mlx5_0", "spine"],
          ["server mlx5_0", "leaf"]
        ],
        links: [{ node: "client rxe0", bandwidth: 10 }]
      }))
      assert.deepStrictEqual(hosts.map(({ name }) => name), ["client", "server", "idle"])
      const described = hosts.map(({ devices }) =>
        devices.map(({ name, ports }) => [name].concat(ports.map(({ state }) => state)))
      )
      assert.deepStrictEqual<unknown>(described, [
        [["rxe0", "active"], ["mlx5_0", "active", "down"]],
        [["mlx5_0", "active", "active"]],
        [["mlx5_0", "down", "down"]]
      ])
      const nameOf = new Map(subnet?.nodes.map(({ description, guid }) => [guid, description]))
      assert.deepStrictEqual(
        subnet?.nodes.map(({ description, ports }) => {
          const cabled = ports.flatMap(({ link, number }) =>
            link ? [`${number} ${nameOf.get(link.node)} ${link.port}`] : []
          )
          return `${description}: ${cabled.join(", ")}`
        }),
        [
          "leaf: 1 client mlx5_0 1, 2 spine 1, 3 server mlx5_0 2",
          "spine: 1 leaf 2, 2 server mlx5_0 1",
          "client mlx5_0: 1 leaf 1",
          "server mlx5_0: 1 spine 2, 2 leaf 3",
          "idle mlx5_0: "
        ]
      )
      assert.deepStrictEqual(
        links.map(({ bandwidth, loss, node, portNum }) => ({ node, portNum: Number(portNum), bandwidth, loss })),
        [
          { node: "leaf", portNum: 2, bandwidth: undefined, loss: 0.5 },
          { node: "client rxe0", portNum: 1, bandwidth: 10, loss: undefined }
        ]
      )
    }))

  it("is not built from what is not there", () => {
    assert.throws(build({ hosts: {} }), /there is no host/)
    assert.throws(build({ hosts: { a: ["rxe0", "rxe1"] } }), /a has two devices of one kind/)
    assert.throws(
      build({ cables: [["a mlx5_0", "leaf"]] }),
      /the cable between a mlx5_0 and leaf leads to nothing there/
    )
    const many = Object.fromEntries(Array.from({ length: 255 }, (_, index) => [`h${index}`, []]))
    assert.throws(build({ hosts: many }), /more than 254 hosts/)
  })

  it.effect("what was built is reached by IP over its switches; a cut cable ends that", () =>
    Effect.gen(function*() {
      const fabric = yield* Fabric.Fabric
      const reach = Effect.gen(function*() {
        const id = yield* CmId.make(yield* EventChannel.make(), "tcp")
        yield* CmId.resolveAddress(id, { destination: "10.0.1.2:7471", timeout: "100 millis" })
        yield* CmId.resolveRoute(id)
        return id.kind
      }).pipe(Effect.scoped, Effect.timeoutOption("1 second"))
      assert.deepStrictEqual(yield* pass(reach), Option.some("CmId"))
      const { nodes } = yield* fabric.subnet
      assert.deepStrictEqual(nodes.map(({ description }) => description).toSorted(), [
        "client mlx5_0",
        "leaf",
        "server mlx5_0",
        "spine"
      ])
      yield* fabric.setLink("client", "mlx5_0", 1, "down")
      assert.isTrue(Exit.isFailure(yield* Effect.exit(pass(reach))))
    }).pipe(Effect.provide(Fabric.layerFrom(Topology.build({
      hosts: { client: ["mlx5_0"], server: ["mlx5_0"] },
      switches: ["leaf", "spine"],
      cables: [["client mlx5_0", "leaf"], ["leaf", "spine"], ["server mlx5_0", "spine"]]
    })))))

  const pair = `
Switch 2 "leaf"
[1] "host-a"[1]
[2] "host-b"[2]

vendid=0x2c9
devid=0x101b
Ca 1 "host-a" # "a mlx5_0"
[1] "leaf"[1] # lid 5 lmc 0 "leaf" lid 2 4xEDR

Ca 2 "host-b"
[2] "leaf"[2]
`

  it.effect("is made of a subnet: an adapter is a host with its ports and ids", () =>
    Effect.gen(function*() {
      const { hosts, subnet } = yield* Effect.flatMap(Topology.fromText(pair), decode)
      assert.deepStrictEqual(hosts.map(({ name }) => name), ["host-a", "host-b"])
      assert.lengthOf(subnet?.nodes ?? [], 3)
      const [a, b] = hosts.map(({ devices }) => devices[0])
      assert.deepInclude(a, { name: "mlx5_0", provider: "mlx5" })
      assert.deepInclude(a?.attributes, { vendorId: 0x2c9, vendorPartId: 0x101b })
      assert.deepInclude(a?.ports[0], {
        state: "init",
        physState: "linkUp",
        rate: 100,
        activeWidth: 2,
        activeSpeed: 32
      })
      assert.strictEqual(Number(a?.ports[0]?.lid), 5)
      assert.deepStrictEqual(b?.ports.map(({ physState }) => physState), ["polling", "linkUp"])
    }))

  it.effect("tells the line of a text that is no subnet", () =>
    Effect.map(Effect.flip(Topology.fromText("Switch 2 \"leaf\"\n[1] \"nobody\"[1]")), (error) => {
      assert.deepInclude(error, { _tag: "SubnetTopologyError", line: 2 })
    }))

  it.effect("is not made of a subnet without an adapter", () =>
    Effect.map(Effect.exit(Topology.fromText("Switch 2 \"leaf\"")), (exit) => {
      assert.isTrue(Exit.hasDies(exit))
      assert.include(String(exit), "the subnet has no channel adapter")
    }))

  it.effect("refuses a subnet whose links have one end", () =>
    Effect.gen(function*() {
      const topology = yield* Topology.fromText(pair)
      const nodes = topology.subnet?.nodes.slice(1) ?? []
      const error = yield* Effect.flip(decode({ ...topology, subnet: { nodes } }))
      assert.include(String(error), "port 1 of H-0000000000100000 is linked from one end only")
    }))
})
