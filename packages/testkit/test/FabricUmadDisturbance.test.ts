import { Fabric } from "@effect-rdma/testkit"
import * as Discovery from "@effect-rdma/umad/Discovery"
import * as SubnetTopology from "@effect-rdma/umad/SubnetTopology"
import * as UmadLibrary from "@effect-rdma/umad/UmadLibrary"
import * as UmadPort from "@effect-rdma/umad/UmadPort"
import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect, Exit } from "effect"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { on, passing, twoHosts } from "./subnetFiles.ts"
import { ask, directedAgent } from "./subnetWalk.ts"

const topologies = join(import.meta.dirname, "../../umad/test/topologies")
const file = (name: string) => readFileSync(join(topologies, name), "utf8")

const nodeInfo = { attributeId: 0x11 }
const openPort = Effect.flatMap(UmadLibrary.init(), (library) => UmadPort.open(library))
const names = ({ nodes }: SubnetTopology.SubnetTopology) => nodes.map(({ description }) => description).toSorted()

/** In an order that depends on no walk. */
const printed = ({ nodes }: SubnetTopology.SubnetTopology) =>
  SubnetTopology.format({ nodes: nodes.toSorted((self, that) => self.guid < that.guid ? -1 : 1) })

describe("the subnet of a fabric, disturbed", () => {
  for (const name of ["two-hosts", "two-paths", "speeds"]) {
    it.effect(`is ${name} as ibnetdiscover saw it on ibsim`, () =>
      Effect.gen(function*() {
        const text = name === "two-hosts" ? twoHosts : file(`${name}.net`)
        const subnet = yield* on(text)(Effect.flatMap(Fabric.Fabric, (fabric) => fabric.subnet))
        const seen = yield* SubnetTopology.parse(file(`${name}.ibnetdiscover.txt`))
        assert.strictEqual(printed(subnet), printed(seen))
      }))
  }

  it.effect("is found by a walk as it is", () =>
    on(file("two-paths.net"))(Effect.gen(function*() {
      const fabric = yield* Fabric.Fabric
      const subnet = yield* fabric.subnet
      const { topology, unanswered } = yield* Discovery.walk(yield* openPort)
      assert.deepStrictEqual(unanswered, [])
      assert.strictEqual(printed(topology), printed(subnet))
    })))

  it.effect("takes as long as its cables, there and back", () =>
    on(twoHosts)(Effect.gen(function*() {
      const fabric = yield* Fabric.Fabric
      const agent = yield* directedAgent
      yield* fabric.disturb("switch-one", 8, { latency: "10 millis" })
      yield* fabric.disturb("host-beta", 1, { latency: "5 millis" })
      const took = (path: ReadonlyArray<number>) =>
        passing(Effect.gen(function*() {
          const before = yield* Clock.currentTimeMillis
          assert.isDefined(yield* ask(agent, path, nodeInfo))
          return (yield* Clock.currentTimeMillis) - before
        }))
      // Without a cable that is slow nothing is waited for, and the clock stands.
      assert.isDefined(yield* ask(agent, [1], nodeInfo))
      assert.strictEqual(yield* took([1, 8]), 20)
      assert.strictEqual(yield* took([1, 8, 1]), 30)
      yield* fabric.disturb("switch-one", 8, {})
      assert.strictEqual(yield* took([1, 8, 1]), 10)
    })))

  it.effect("loses what a cable drops, and the sender repeats it", () =>
    on(twoHosts)(Effect.gen(function*() {
      const fabric = yield* Fabric.Fabric
      const agent = yield* directedAgent
      const seen: Array<number> = []
      yield* fabric.disturb("switch-one", 8, {
        drops: ({ bytes, count }) => {
          seen.push(bytes[3] ?? 0)
          return count <= 2
        }
      })
      assert.isUndefined(yield* passing(ask(agent, [1, 8], nodeInfo)))
      // The second request is lost, the third one gets through, and so does its answer.
      assert.isDefined(yield* passing(ask(agent, [1, 8], nodeInfo, 1)))
      assert.deepStrictEqual(seen, [0x01, 0x01, 0x01, 0x81])
      yield* fabric.disturb("switch-one", 8, { drops: ({ bytes }) => (bytes[3] ?? 0) === 0x81 })
      assert.isUndefined(yield* passing(ask(agent, [1, 8], nodeInfo, 3)))
    })))

  it.effect("goes around a dead switch, and comes back to it", () =>
    on(diamond)(Effect.gen(function*() {
      const fabric = yield* Fabric.Fabric
      const reaches = Effect.gen(function*() {
        const { topology } = yield* Discovery.walk(yield* openPort)
        return names(topology)
      })
      const all = ["bottom", "host-a", "host-b", "left", "right", "top"]
      assert.deepStrictEqual(yield* reaches, all)
      yield* fabric.setNode("left", "dead")
      assert.deepStrictEqual(yield* reaches, all.filter((name) => name !== "left"))
      assert.deepStrictEqual(names(yield* fabric.subnet), all.filter((name) => name !== "left"))
      yield* fabric.setNode("right", "dead")
      assert.deepStrictEqual(yield* reaches, ["host-a", "top"])
      yield* fabric.setNode("left", "alive")
      assert.deepStrictEqual(yield* reaches, all.filter((name) => name !== "right"))
      yield* fabric.setNode("right", "alive")
      assert.deepStrictEqual(yield* reaches, all)
    })))

  it.effect("of a host is down with its switch", () =>
    on(twoHosts)(Effect.gen(function*() {
      const fabric = yield* Fabric.Fabric
      const state = Effect.gen(function*() {
        const port = yield* UmadPort.get(yield* UmadLibrary.init())
        return [port.attributes.state, port.attributes.physState]
      })
      yield* fabric.setNode("switch-one", "dead")
      assert.deepStrictEqual(yield* state, ["down", "polling"])
      yield* fabric.setNode("switch-one", "alive")
      assert.deepStrictEqual(yield* state, ["active", "linkUp"])
    })))

  it.effect("is one switch where no file says more", () =>
    Effect.gen(function*() {
      const fabric = yield* Fabric.Fabric
      assert.deepStrictEqual(names(yield* fabric.subnet), ["host-a mlx5_0", "host-b mlx5_0", "switch-1"])
      const { topology } = yield* Discovery.walk(yield* openPort)
      assert.deepStrictEqual(names(topology), ["host-a mlx5_0", "host-b mlx5_0", "switch-1"])
      yield* fabric.disturb("host-b mlx5_0", 1, { drops: () => true })
      const agent = yield* directedAgent
      assert.isDefined(yield* ask(agent, [1], nodeInfo))
      const hostB = topology.nodes.find(({ description }) => description === "host-b mlx5_0")
      const link = hostB?.ports.find(({ link }) => link !== undefined)?.link
      assert.isUndefined(yield* passing(ask(agent, [1, link?.port ?? 0], nodeInfo)))
    }).pipe(Effect.scoped, Effect.provide(Fabric.layer)))

  it.effect("leaves ports as a topology without a file describes them, until something happens", () =>
    Effect.gen(function*() {
      const described = Effect.gen(function*() {
        const library = yield* UmadLibrary.init()
        return yield* Effect.forEach(
          [1, 2],
          (portNum) => Effect.map(UmadPort.get(library, { caName: "mlx5_0", portNum }), ({ attributes }) => attributes)
        )
      })
      const before = yield* described
      const fabric = yield* Fabric.Fabric
      yield* fabric.subnet
      assert.deepStrictEqual(yield* described, before)
      assert.deepStrictEqual(before.map(({ physState, state }) => [state, physState]), [
        ["active", "linkUp"],
        ["down", "polling"]
      ])
      yield* fabric.setLink("host-a", "mlx5_0", 1, "down")
      yield* fabric.setLink("host-a", "mlx5_0", 1, "up")
      assert.deepStrictEqual(yield* described, before)
      // A port that gets its first cable gets a LID of its own.
      yield* fabric.setLink("host-a", "mlx5_0", 2, "up")
      const [, second] = yield* described
      assert.deepInclude(second, { state: "active", physState: "linkUp", baseLid: 4 })
    }).pipe(Effect.scoped, Effect.provide(Fabric.layer)))

  it.effect("has no other nodes and cables than it has", () =>
    on(twoHosts)(Effect.gen(function*() {
      const fabric = yield* Fabric.Fabric
      const misuses = [
        [fabric.setNode("nobody", "dead"), "the subnet has no node nobody"],
        [fabric.disturb("nobody", 1, {}), "the subnet has no node nobody"],
        [fabric.disturb("switch-one", 7, {}), "port 7 of switch-one has no cable"],
        [fabric.disturb("switch-one", 99, {}), "port 99 of switch-one has no cable"]
      ] as const
      for (const [misuse, problem] of misuses) {
        const exit = yield* Effect.exit(misuse)
        assert.isTrue(Exit.hasDies(exit))
        assert.include(String(exit), problem)
      }
    })))
})

/** Two ways from one host to the other. */
const diamond = `
Switch 4 "top"
[1] "host-a"[1]
[2] "left"[1]
[3] "right"[1]

Switch 4 "left"
[1] "top"[2]
[2] "bottom"[2]

Switch 4 "right"
[1] "top"[3]
[2] "bottom"[3]

Switch 4 "bottom"
[1] "host-b"[1]
[2] "left"[2]
[3] "right"[2]

Ca 1 "host-a"
[1] "top"[1]

Ca 1 "host-b"
[1] "bottom"[1]
`
