import { Identifier } from "@effect-rdma/core"
import { Fabric, Topology } from "@effect-rdma/testkit"
import * as FabricLanes from "@effect-rdma/testkit/conformance/FabricLanes"
import type { UmadLane } from "@effect-rdma/testkit/conformance/UmadLane"
import { Umad } from "@effect-rdma/umad"
import { Context, Effect, Layer } from "effect"
import { ibsim } from "./differences.ts"
import { kernelHolds, openFiles } from "./softRoce.ts"

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
export const umadOnEthernetFabric: UmadLane<Fabric.Fabric> = {
  ...FabricLanes.umad,
  layer: Layer.orDie(Fabric.layerFrom({ hosts: [{ name: "host-a", devices: [Topology.softRoce("rxe0", 1)] }] })),
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
