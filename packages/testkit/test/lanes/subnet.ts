import { Fabric } from "@effect-rdma/testkit"
import * as FabricLanes from "@effect-rdma/testkit/conformance/FabricLanes"
import type { SubnetLane } from "@effect-rdma/testkit/conformance/SubnetLane"
import * as Topology from "@effect-rdma/testkit/Topology"
import { SubnetTopology } from "@effect-rdma/umad"
import { Effect, Layer } from "effect"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { ibsim } from "./differences.ts"
import { umadOnIbsim } from "./umad.ts"

const text = readFileSync(join(import.meta.dirname, "../../lanes/two-hosts.net"), "utf8")

const subnet = {
  topology: Effect.runSync(SubnetTopology.parse(text)),
  host: "host-alpha",
  silent: 77
} as const

/** The first host of the subnet. */
export const subnetFabric = Layer.orDie(Layer.unwrap(Effect.map(Topology.fromText(text), Fabric.layerFrom)))

export const subnetOnFabric: SubnetLane<Fabric.Fabric> = {
  ...FabricLanes.umad,
  ...subnet,
  layer: subnetFabric,
  hasRmpp: ibsim.hasRmpp.fabric
}

export const subnetOnIbsim: SubnetLane = { ...subnet, ...umadOnIbsim, hasRmpp: ibsim.hasRmpp.there }
