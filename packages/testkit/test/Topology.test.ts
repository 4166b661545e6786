import * as Gid from "@effect-rdma/core/Gid"
import * as Topology from "@effect-rdma/testkit/Topology"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

const decode = Schema.decodeEffect(Topology.Topology)

const oneDevice = (device: Partial<typeof Topology.Device.Encoded>): Topology.Input => ({
  hosts: [{ name: "a", devices: [{ name: "d", guid: 1n, ...device }] }]
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
})
