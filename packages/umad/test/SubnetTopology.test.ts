import * as Guid from "@effect-rdma/core/Guid"
import * as Identifier from "@effect-rdma/core/Identifier"
import * as Lid from "@effect-rdma/core/Lid"
import * as LinkSpeed from "@effect-rdma/core/LinkSpeed"
import * as LinkWidth from "@effect-rdma/core/LinkWidth"
import * as SubnetTopology from "@effect-rdma/umad/SubnetTopology"
import { SubnetTopologyError } from "@effect-rdma/umad/SubnetTopologyError"
import { assert, describe, it } from "@effect/vitest"
import { DateTime, Effect, Result, Schema } from "effect"
import { readFileSync } from "node:fs"
import { join } from "node:path"

// What C prints of each was taken with: pnpm ibsim FILE.net -- ibnetdiscover
const folder = join(import.meta.dirname, "topologies")
const printed = (name: string) => readFileSync(join(folder, `${name}.ibnetdiscover.txt`), "utf8")
const written = (name: string) =>
  readFileSync(
    name === "two-hosts"
      ? join(import.meta.dirname, "../../testkit/lanes/two-hosts.net")
      : join(folder, `${name}.net`),
    "utf8"
  )
const names = ["two-hosts", "two-paths", "back-to-back", "speeds"] as const

const generatedAt = (text: string) => {
  const [, date] = /generated on (.*)$/m.exec(text) ?? []
  return DateTime.fromDateUnsafe(new Date(`${date} UTC`))
}

const isSubnet = Schema.is(SubnetTopology.SubnetTopology)

/** What both forms have, in one order. */
const comparable = ({ nodes }: SubnetTopology.SubnetTopology, withLids: boolean) =>
  nodes
    .toSorted((self, that) => self.guid < that.guid ? -1 : 1)
    .map(({ description, deviceId, enhancedPort0, guid, kind, numPorts, ports, systemGuid, vendorId }) => ({
      description,
      deviceId,
      enhancedPort0,
      guid,
      kind,
      numPorts,
      systemGuid,
      vendorId,
      ports: ports.filter(({ link, number }) => link !== undefined || number === 0).map((
        { guid, lid, link, lmc, number }
      ) => ({
        guid,
        lid: withLids ? lid : undefined,
        link,
        lmc,
        number
      }))
    }))

const problem = (nodes: ReadonlyArray<unknown>) => {
  const result = Schema.decodeUnknownResult(SubnetTopology.SubnetTopology)({ nodes })
  return Result.isFailure(result) ? result.failure.message : "accepted"
}

const failure = (text: string) =>
  Effect.map(Effect.flip(SubnetTopology.parse(text)), (error) => {
    assert.instanceOf(error, SubnetTopologyError)
    return error.message
  })

describe("SubnetTopology", () => {
  for (const name of names) {
    it.effect(`prints ${name} byte for byte as ibnetdiscover did`, () =>
      Effect.gen(function*() {
        const text = printed(name)
        const subnet = yield* SubnetTopology.parse(text)
        assert.isTrue(isSubnet(subnet))
        assert.strictEqual(SubnetTopology.format(subnet, { generatedAt: generatedAt(text) }), text)
      }))

    it.effect(`reads ${name} as ibsim did`, () =>
      Effect.gen(function*() {
        const subnet = yield* SubnetTopology.parse(written(name))
        assert.isTrue(isSubnet(subnet))
        // Where the file has no LIDs the subnet manager gave some.
        const withLids = name === "speeds"
        const seen = yield* SubnetTopology.parse(printed(name))
        assert.deepStrictEqual(comparable(subnet, withLids), comparable(seen, withLids))
      }))
  }

  it.effect("keeps the names of a file, and has those of ibnetdiscover for the rest", () =>
    Effect.gen(function*() {
      const { nodes } = yield* SubnetTopology.parse(written("two-hosts"))
      assert.deepStrictEqual(nodes.map(SubnetTopology.nameOf), ["switch-one", "switch-two", "host-alpha", "host-beta"])
      assert.deepStrictEqual(nodes.map(SubnetTopology.canonicalName), [
        "S-0000000000200000",
        "S-0000000000200001",
        "H-0000000000100000",
        "H-0000000000100002"
      ])
      const seen = yield* SubnetTopology.parse(printed("two-hosts"))
      assert.deepStrictEqual(seen.nodes.map(SubnetTopology.nameOf), seen.nodes.map(SubnetTopology.canonicalName))
      assert.deepStrictEqual(seen.initiator, { node: Guid.Guid.make(0x10_0000n), port: Guid.Guid.make(0x10_0001n) })
    }))

  it.effect("tells what a port may run at only where that does not follow from its link", () =>
    Effect.gen(function*() {
      const { nodes: [plain] } = yield* SubnetTopology.parse(written("two-hosts"))
      assert.deepStrictEqual(plain?.ports[1]?.enabled, { width: 2, speed: 1, extendedSpeed: 0 })
      assert.strictEqual(plain?.ports[1]?.link?.width, "4x")
      const { nodes: [leaf] } = yield* SubnetTopology.parse(written("speeds"))
      assert.isUndefined(leaf?.ports.find(({ number }) => number === 1)?.enabled)
    }))

  it.effect("negotiates the most that both ends have", () =>
    Effect.gen(function*() {
      const { nodes } = yield* SubnetTopology.parse(`
extspeed=7
Ca 1 "a"
[1] "b"[1] w=31 s=7

extspeed=3
Ca 1 "b"
[1] "a" w=19 s=7
`)
      assert.deepInclude(nodes[0]?.ports[0]?.link, { width: "4x", speed: "edr" })
      assert.deepStrictEqual(nodes[0]?.ports[0]?.enabled, { width: 31, speed: 7, extendedSpeed: 7 })
    }))

  it.effect("reads what ibnetdiscover -g and -f put between", () =>
    Effect.gen(function*() {
      const text = `
Chassis 1 (guid 0x2c90300a1)

# Spine Nodes
vendid=0x2c9
devid=0xbd36
sysimgguid=0x2c90300a1		# Chassis 1
switchguid=0x2(2)	# ISR2012 Spine 1 Chip 1
Switch	24 "S-0000000000000002"		# "spine" base port 0 lid 1 lmc 0
[1][ext 5]	"H-0000000000000010"[1](11) 		# "node w=9" lid 2 4xDDR s=2 w=2 v=4

Non-Chassis Nodes

vendid=0x2c9
devid=0x1
sysimgguid=0x10
caguid=0x10
Ca	1 "H-0000000000000010"		# "node w=9"
[1](11) 	"S-0000000000000002"[1][ext 5]		# lid 2 lmc 1 "spine" lid 1 4xDDR s=2 w=2 v=4
`
      const { nodes } = yield* SubnetTopology.parse(text)
      assert.deepStrictEqual(nodes.map(({ description }) => description), ["spine", "node w=9"])
      assert.strictEqual(nodes[0]?.ports[1]?.link?.speed, "ddr")
      assert.deepInclude(nodes[1]?.ports[0], { lid: Lid.Lid.make(2), lmc: 1, guid: Guid.Guid.make(0x11n) })
    }))

  it.effect("gives GUIDs as ibsim does: counted on, or from a base", () =>
    Effect.gen(function*() {
      const { nodes } = yield* SubnetTopology.parse(`
hcaguids=0x5000
Ca 2 "a"

Ca 1 "b"

hcaguids+0x100
Ca 1 "c"
Rt 3 "r"
Switch 4 "s"

module="m"
devid=010
vendid=12
Ca 1 "a"
[1] "d"[2]

Ca 2 "d"
[2] "a"[1]
`)
      assert.deepStrictEqual(
        nodes.map((node) => [SubnetTopology.nameOf(node), node.guid, node.vendorId, node.deviceId]),
        [
          ["a", 0x5000n, 0, 0],
          ["b", 0x5003n, 0, 0],
          ["c", 0x5100n, 0, 0],
          ["r", 0n, 0, 0],
          ["s", 0x20_0000n, 0, 0],
          ["m#a", 0x5102n, 12, 8],
          ["m#d", 0x5104n, 0, 8]
        ]
      )
    }))

  it.effect("names the line that is wrong", () =>
    Effect.gen(function*() {
      const head = "# a comment\n\nSwitch 8 \"s\"\n"
      const failures = [
        ["Swtich 8 \"s\"", "line 1: neither a node, a port nor an assignment: Swtich 8 \"s\""],
        ["include \"other.net\"", "line 1: neither a node, a port nor an assignment: include \"other.net\""],
        ["vendid=abc", "line 1: no number: abc"],
        ["vendid=08", "line 1: no number: 08"],
        ["devid=0x10000", "line 1: 0x10000 is more than 0xffff"],
        ["switchguid=0x12345678123456781", "line 1: 0x12345678123456781 is more than 0xffffffffffffffff"],
        ["Switch 8 s", "line 1: expected a node such as: Switch 8 \"name\", found: Switch 8 s"],
        ["Switch 0 \"s\"", "line 1: a node has 1 to 255 ports, not 0"],
        ["Ca 256 \"s\"", "line 1: a node has 1 to 255 ports, not 256"],
        ["[1] \"s\"[1]", "line 1: a port outside of a node"],
        [`${head}[1] s`, "line 4: expected a port such as: [1] \"name\"[1], found: [1] s"],
        [`${head}[9] "s"[1]`, "line 4: \"s\" has ports 1 to 8, not 9"],
        [`${head}[0] "s"[1]`, "line 4: \"s\" has ports 1 to 8, not 0"],
        [`${head}[1] "@alias"`, "line 4: aliases are not supported"],
        [`${head}[1] "t"[1]`, "line 4: there is no node \"t\""],
        [`${head}[1] "s"[2]\n[1] "s"[2]`, "line 5: port 1 is there twice"],
        [`${head}\nSwitch 8 "s"`, "line 5: the node \"s\" is there twice"],
        [`${head}\nswitchguid=0x200000\nSwitch 8 "t"`, "line 6: the GUID 0x0000000000200000 is there twice"],
        [`${head}[1] "t"[1]\n\nCa 1 "t"`, "line 4: \"t\" does not tell of this link at its port 1"],
        [`${head}[1] "t"[1]\n\nCa 2 "t"\n[1] "s"[2]`, "line 4: \"t\" does not tell of this link at its port 1"],
        [
          `${head}[1] "t"[1] w=1\n\nCa 1 "t"\n[1] "s"[1] w=2`,
          "line 4: this port and port 1 of \"t\" have no speed or width in common"
        ],
        [`${head}[1] "t"[1] w=32`, "line 4: 32 is more than 0x1f"],
        [`Switch 8 "s" # "s" base port 0 lid 65536 lmc 0`, "line 1: 65536 is more than 0xffff"],
        [`Switch 8 "s" # "s" base port 0 lid 1 lmc 8`, "line 1: 8 is more than 0x7"]
      ] as const
      for (const [text, message] of failures) assert.strictEqual(yield* failure(text), message)
    }))

  it.effect("reads lines that end as on Windows, and nothing as an empty subnet", () =>
    Effect.gen(function*() {
      const text = written("two-hosts")
      assert.deepStrictEqual(
        yield* SubnetTopology.parse(text.replaceAll("\n", "\r\n")),
        yield* SubnetTopology.parse(text)
      )
      assert.deepStrictEqual(yield* SubnetTopology.parse(""), { nodes: [] })
    }))

  it("prints what is no ASCII as C does", () => {
    const description = `é\u0007${"x".repeat(70)}`
    const text = SubnetTopology.format({ nodes: [{ ...bare, description }] })
    assert.include(text, `# "   ${"x".repeat(61)}"`)
    assert.notInclude(text, "x".repeat(62))
  })

  it("refuses what is no subnet", () => {
    const port = { number: 1, guid: 1n, lid: 0, lmc: 0, link: { node: 2n, port: 1, width: "4x", speed: "sdr" } }
    assert.strictEqual(problem([bare]), "accepted")
    assert.include(problem([bare, bare]), "a GUID is there twice")
    assert.include(problem([{ ...bare, kind: "switch" }]), "port 0 belongs to switches")
    assert.include(problem([{ ...bare, ports: [port] }]), "port 1 of H-0000000000000001 is linked from one end only")
    assert.include(problem([{ ...bare, ports: [{ ...port, number: 3 }] }]), "H-0000000000000001 has no port 3")
    assert.include(problem([{ ...bare, ports: [port, port] }]), "H-0000000000000001 has a port twice")
  })

  it.effect.prop("round trips", [Plan], ([plan]) =>
    Effect.gen(function*() {
      const subnet = build(plan)
      assert.isTrue(isSubnet(subnet))
      const text = SubnetTopology.format(subnet)
      const read = yield* SubnetTopology.parse(text)
      assert.deepStrictEqual(read, subnet)
      assert.strictEqual(SubnetTopology.format(read), text)
    }), { arbitrary: { runs: 200 } })
})

const bare: SubnetTopology.Node = {
  kind: "ca",
  guid: Guid.Guid.make(1n),
  systemGuid: Guid.Guid.make(1n),
  description: "bare",
  vendorId: 0,
  deviceId: 0,
  numPorts: 2,
  enhancedPort0: false,
  ports: []
}

const below = (limit: number) => Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: limit - 1 }))
const systemGuid = Schema.BigInt.check(Schema.isBetweenBigInt({ minimum: 1n, maximum: 0xffff_ffff_ffff_ffffn }))

/** Anything from which {@link build} makes a subnet that the text can hold. */
const Plan = Schema.Struct({
  nodes: Schema.Array(Schema.Struct({
    kind: Schema.Literals(["ca", "switch", "router"]),
    systemGuid,
    description: Schema.String.check(Schema.isPattern(/^[ -~]{1,64}$/)),
    vendorId: below(1 << 24),
    deviceId: below(1 << 16),
    numPorts: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 255 })),
    enhancedPort0: Schema.Boolean,
    lid: Lid.Lid,
    lmc: below(8)
  })).check(Schema.isMaxLength(12)),
  links: Schema.Array(Schema.Struct({
    from: below(12),
    to: below(12),
    width: LinkWidth.LinkWidth,
    speed: LinkSpeed.LinkSpeed,
    portGuid: Guid.Guid,
    lid: Lid.Lid,
    lmc: below(8)
  })).check(Schema.isMaxLength(40))
})

const build = (plan: typeof Plan.Type): SubnetTopology.SubnetTopology => {
  const nodes = plan.nodes
    // As they are printed.
    .toSorted((self, that) => order.indexOf(self.kind) - order.indexOf(that.kind))
    .map(({ lid, lmc, ...node }, index) => {
      const guid = Guid.Guid.make((BigInt(index) << 40n) + 0x77n)
      const isSwitch = node.kind === "switch"
      const ports: Array<SubnetTopology.Port> = isSwitch
        ? [{ number: Identifier.AnyPortNumber.make(0), guid: Guid.Guid.make(guid ^ 1n), lid, lmc }]
        : []
      return Object.assign(node, {
        guid,
        enhancedPort0: node.enhancedPort0 && isSwitch,
        systemGuid: Guid.Guid.make(node.systemGuid),
        ports
      })
    })
  const next = nodes.map(() => 1)
  const attach = (at: number, to: number, remotePort: number, link: typeof Plan.Type["links"][number]) => {
    const node = nodes[at]
    const remote = nodes[to]
    if (node === undefined || remote === undefined) return
    const isSwitch = node.kind === "switch"
    node.ports.push({
      number: Identifier.AnyPortNumber.make(next[at] ?? 0),
      guid: isSwitch ? node.ports[0]?.guid ?? node.guid : link.portGuid,
      lid: isSwitch ? Lid.Lid.make(0) : link.lid,
      lmc: isSwitch ? 0 : link.lmc,
      link: {
        node: remote.guid,
        port: Identifier.PortNumber.make(remotePort),
        width: link.width,
        speed: link.speed
      }
    })
    next[at] = (next[at] ?? 0) + 1
  }
  for (const link of plan.links) {
    const from = nodes[link.from]
    const to = nodes[link.to]
    if (from === undefined || to === undefined || from === to) continue
    const [fromPort = 1, toPort = 1] = [next[link.from], next[link.to]]
    if (fromPort > from.numPorts || toPort > to.numPorts) continue
    attach(link.from, link.to, toPort, link)
    attach(link.to, link.from, fromPort, link)
  }
  return { nodes }
}

const order = ["switch", "ca", "router"]
