import { describeSubnetLanes } from "@effect-rdma/testkit/vitest/Lanes"
import { it } from "@effect-rdma/testkit/vitest/LeakChecked"
import { Discovery, SubnetTopology, UmadLibrary, UmadPort } from "@effect-rdma/umad"
import { afterAll, assert } from "@effect/vitest"
import { Effect } from "effect"
import { join } from "node:path"

const walked: Array<string> = []

describeSubnetLanes(join(import.meta.dirname, "../../lanes/two-hosts.net"), ({ layer }) => {
  it.live("the subnet is walked", () =>
    Effect.gen(function*() {
      const { topology } = yield* Discovery.walk(yield* UmadPort.open(yield* UmadLibrary.init()))
      walked.push(topology.nodes.map(SubnetTopology.nameOf).toSorted().join(" "))
    }).pipe(Effect.provide(layer)))
})

describeSubnetLanes(join(import.meta.dirname, "../../../../scripts/topologies/three-nodes.net"), ({ name }) => {
  it.live(`another subnet is not the simulated one: ${name}`, () =>
    Effect.sync(() => assert.strictEqual(name, "fabric")))
})

afterAll(() => {
  assert.strictEqual(walked.length, 2)
  assert.strictEqual(walked[0], walked[1])
})
