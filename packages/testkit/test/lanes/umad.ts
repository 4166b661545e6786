import { Fabric, Topology } from "@effect-rdma/testkit"
import type * as UmadConformance from "@effect-rdma/testkit/conformance/Umad"
import { Umad } from "@effect-rdma/umad"
import { Context, Effect, Layer } from "effect"
import { fabric, fabricObjects, type FabricServices } from "./fabric.ts"
import { kernelHolds, openFiles } from "./softRoce.ts"

export const umadOnFabric: UmadConformance.UmadLane<FabricServices> = {
  ...fabric,
  adapter: "mlx5_0",
  port: 1,
  adapters: 2,
  ports: 2,
  linkLayer: "InfiniBand"
}

const rxe = { adapter: "rxe0", port: 1, adapters: 1, ports: 1, linkLayer: "Ethernet" } as const

/** A host whose only adapter is an Ethernet one, as the guest of Soft-RoCE is. */
export const umadOnEthernetFabric: UmadConformance.UmadLane<FabricServices> = {
  name: "fabric",
  layer: Layer.orDie(Fabric.layerFrom({ hosts: [{ name: "host-a", devices: [Topology.softRoce("rxe0", 1)] }] })),
  snapshot: fabricObjects,
  ...rxe
}

export const umadOnSoftRoce: UmadConformance.UmadLane = {
  name: "softroce",
  layer: Umad.Umad.layer,
  snapshot: kernelHolds,
  ...rxe
}

// The simulator's library connects at the first look into sysfs and stays connected: that is no leak of a test.
const connected = Layer.tap(Umad.Umad.layer, (context) => Effect.orDie(Context.get(context, Umad.Umad).getCasNames))

export const umadOnIbsim: UmadConformance.UmadLane = {
  name: "ibsim",
  layer: connected,
  snapshot: Effect.sync(openFiles),
  adapter: "ibsim0",
  port: 1,
  adapters: 1,
  ports: 1,
  linkLayer: "IB"
}
