import * as Lid from "@effect-rdma/core/Lid"
import { Fabric } from "@effect-rdma/testkit"
import { NodeRecord } from "@effect-rdma/umad/NodeRecord"
import { PathRecord } from "@effect-rdma/umad/PathRecord"
import { Smp } from "@effect-rdma/umad/Smp"
import * as SubnetAdministration from "@effect-rdma/umad/SubnetAdministration"
import * as SubnetTopology from "@effect-rdma/umad/SubnetTopology"
import * as UmadAgent from "@effect-rdma/umad/UmadAgent"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { on } from "./subnetFiles.ts"
import { administration } from "./subnetQueries.ts"
import { directedAgent, walk } from "./subnetWalk.ts"

const below = (limit: number) => Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: limit - 1 }))

/** Switches, which of them are joined, and to which one each host is. */
const Plan = Schema.Struct({
  switches: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 7 })),
  trunks: Schema.Array(Schema.Tuple([below(7), below(7)])).check(Schema.isMaxLength(14)),
  hosts: Schema.NonEmptyArray(below(7)).check(Schema.isMaxLength(8))
})

const textOf = ({ hosts, switches, trunks }: typeof Plan.Type): string => {
  const ports = Array.from({ length: switches }, (): Array<string> => [])
  const place = (at: number) => at % switches
  const attach = (at: number, line: string) => ports[at]?.push(`[${(ports[at]?.length ?? 0) + 1}] ${line}`)
  const next = (at: number) => (ports[at]?.length ?? 0) + 1
  const adapters = hosts.map((at, index) => {
    const port = next(place(at))
    attach(place(at), `"host-${index}"[1]`)
    return `Ca 1 "host-${index}"\n[1] "switch-${place(at)}"[${port}]\n`
  })
  for (const [from, to] of trunks) {
    const [a, b] = [place(from), place(to)]
    if (a === b) continue
    const [there, here] = [next(b), next(a)]
    attach(a, `"switch-${b}"[${there}]`)
    attach(b, `"switch-${a}"[${here}]`)
  }
  return [...ports.map((lines, index) => `Switch 36 "switch-${index}"\n${lines.join("\n")}\n`), ...adapters].join("\n")
}

/** The GUIDs of all nodes that cables lead to from the first host. */
const connected = ({ nodes }: SubnetTopology.SubnetTopology): ReadonlyArray<bigint> => {
  const first = nodes.find(({ kind }) => kind === "ca")
  const reached = new Set(first === undefined ? [] : [first])
  for (const node of reached) {
    for (const { link } of node.ports) {
      const remote = nodes.find(({ guid }) => guid === link?.node)
      if (remote !== undefined) reached.add(remote)
    }
  }
  return [...reached].map(({ guid }) => guid).toSorted()
}

describe("any subnet", () => {
  it.effect.prop(
    "is walked as far as its cables lead, and every LID of it is led to",
    [Plan],
    ([plan]) =>
      Effect.gen(function*() {
        const text = textOf(plan)
        const reachable = connected(yield* SubnetTopology.parse(text))
        yield* on(text)(Effect.gen(function*() {
          const found = yield* walk(yield* directedAgent)
          assert.deepStrictEqual(found.map(({ info }) => info.nodeGuid as bigint).toSorted(), reachable)
          const fabric = yield* Fabric.Fabric
          const host = (yield* fabric.subnet).nodes.find(({ kind }) => kind === "ca")
          const own = host?.ports[0]
          // Without a manager on its side of the subnet, a port has no LID.
          if (own === undefined || own.lid === 0) return
          const self = yield* administration
          const nodes = yield* SubnetAdministration.getTable(self, NodeRecord)
          assert.deepStrictEqual(nodes.map(({ nodeGuid }) => nodeGuid as bigint).toSorted(), reachable)
          assert.lengthOf(
            yield* SubnetAdministration.getTable(self, PathRecord, { slid: own.lid, numbPath: 1 }),
            nodes.length
          )
          const agent = yield* UmadAgent.register(self.port, { mgmtClass: 0x01 })
          const mad = yield* Effect.fromResult(
            Smp.encode({
              baseVersion: 1,
              mgmtClass: "subnLidRouted",
              classVersion: 1,
              method: "get",
              attributeId: 0x11
            })
          )
          for (const { lid } of nodes) yield* UmadAgent.request(agent, { address: { lid: Lid.Lid.make(lid) }, mad })
        }))
      }),
    { arbitrary: { runs: 40 } }
  )
})
