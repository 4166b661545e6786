import { Fabric } from "@effect-rdma/testkit"
import type { SubnetLane } from "@effect-rdma/testkit/conformance/SubnetLane"
import * as Topology from "@effect-rdma/testkit/Topology"
import { SubnetTopology } from "@effect-rdma/umad"
import { Effect, Layer } from "effect"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { ibsim } from "./differences.ts"
import { fabricObjects, type FabricServices } from "./fabric.ts"
import { umadOnIbsim } from "./umad.ts"

const text = readFileSync(join(import.meta.dirname, "../../../../scripts/topologies/two-hosts.net"), "utf8")

const subnet = {
  topology: Effect.runSync(SubnetTopology.parse(text)),
  host: "host-alpha",
  silent: 77
} as const

export const subnetOnFabric: SubnetLane<FabricServices> = {
  ...subnet,
  name: "fabric",
  layer: Layer.orDie(Layer.unwrap(Effect.map(Topology.fromText(text), Fabric.layerFrom))),
  snapshot: fabricObjects,
  hasRmpp: ibsim.hasRmpp.fabric
}

export const subnetOnIbsim: SubnetLane = { ...subnet, ...umadOnIbsim, hasRmpp: ibsim.hasRmpp.there }
