import { Identifier } from "@effect-rdma/core"
import { Fabric, Topology } from "@effect-rdma/testkit"
import type { UmadLane } from "@effect-rdma/testkit/conformance/UmadLane"
import { Umad } from "@effect-rdma/umad"
import { Context, Effect, Layer } from "effect"
import { answerRequests } from "./answerRequests.ts"
import { ibsim } from "./differences.ts"
import { fabric, fabricObjects, type FabricServices } from "./fabric.ts"
import { kernelHolds, openFiles } from "./softRoce.ts"

/** The LID of `mlx5_0` of host-b. */
const hostB = 2

export const umadOnFabric: UmadLane<FabricServices> = {
  ...fabric,
  layer: Layer.tap(fabric.layer, (context) => answerRequests(Context.get(context, Fabric.Fabric), [hostB])),
  adapter: "mlx5_0",
  port: 1,
  adapters: 2,
  ports: 2,
  linkLayer: ibsim.linkLayer.fabric,
  hasKernel: ibsim.hasKernel.fabric,
  peers: { answering: hostB, silent: 77 }
}

const rxe = {
  adapter: "rxe0",
  port: 1,
  adapters: 1,
  ports: 1,
  linkLayer: "Ethernet",
  hasKernel: true,
  peers: undefined
} as const

/** A host whose only adapter is an Ethernet one, as the guest of Soft-RoCE is. */
export const umadOnEthernetFabric: UmadLane<FabricServices> = {
  name: "fabric",
  layer: Layer.orDie(Fabric.layerFrom({ hosts: [{ name: "host-a", devices: [Topology.softRoce("rxe0", 1)] }] })),
  snapshot: fabricObjects,
  ...rxe
}

// The first wait of the process opens an epoll descriptor for good: that is no leak of a test.
const waited = Layer.tap(Umad.Umad.layer, (context) =>
  Effect.gen(function*() {
    const umad = Context.get(context, Umad.Umad)
    const portId = yield* umad.openPort(undefined, Identifier.AnyPortNumber.make(0))
    yield* Effect.timeoutOption(umad.awaitMad(portId), "1 millis")
    yield* umad.closePort(portId)
  }).pipe(Effect.orDie))

export const umadOnSoftRoce: UmadLane = {
  name: "softroce",
  layer: waited,
  snapshot: kernelHolds,
  ...rxe
}

// The simulator's library connects at the first look into sysfs and stays connected: that is no leak of a test.
const connected = Layer.tap(Umad.Umad.layer, (context) => Effect.orDie(Context.get(context, Umad.Umad).getCasNames))

export const umadOnIbsim: UmadLane = {
  name: "ibsim",
  layer: connected,
  snapshot: Effect.sync(openFiles),
  adapter: "ibsim0",
  port: 1,
  adapters: 1,
  ports: 1,
  linkLayer: ibsim.linkLayer.there,
  hasKernel: ibsim.hasKernel.there,
  // opensm gives them in the order in which it finds the nodes: the switch that it runs on, this host, the other switch.
  peers: { answering: 3, silent: 77 }
}
