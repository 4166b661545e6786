import { RdmaCm } from "@effect-rdma/rdmacm"
import type { Fabric } from "@effect-rdma/testkit"
import * as FabricLanes from "@effect-rdma/testkit/conformance/FabricLanes"
import type * as RdmaCmLane from "@effect-rdma/testkit/conformance/RdmaCmLane"
import { Verbs } from "@effect-rdma/verbs"
import { Context, Effect, Layer } from "effect"
import { softRoce } from "./differences.ts"
import { addNeighbour, kernelHolds } from "./softRoce.ts"

/** The InfiniBand adapters of the same hosts, by their addresses of IPoIB. */
export const rdmaCmOnInfiniBandFabric: RdmaCmLane.RdmaCmLane<Fabric.Fabric> = {
  ...FabricLanes.rdmaCm,
  device: "mlx5_0",
  ownAddress: "10.0.1.1",
  peerAddress: "10.0.1.2",
  silentAddress: "10.0.1.77",
  manyConnections: 20
}

// At its first call librdmacm opens every device and keeps it open; the first wait of the process opens an epoll
// descriptor for good. Neither is a leak of a test.
const librdmacm = Layer.tap(RdmaCm.RdmaCm.layer, (context) =>
  Effect.gen(function*() {
    const cm = Context.get(context, RdmaCm.RdmaCm)
    const { list } = yield* cm.getDevices
    if (list !== undefined) yield* cm.freeDevices(list)
    const channel = yield* cm.createEventChannel
    yield* Effect.timeoutOption(cm.awaitCmEvent(channel), "1 millis")
    yield* cm.destroyEventChannel(channel)
  }).pipe(Effect.orDie))

export const rdmaCmOnSoftRoce: RdmaCmLane.RdmaCmLane = {
  ...FabricLanes.rdmaCm,
  name: "softroce",
  layer: Layer.tap(Layer.merge(Verbs.Verbs.layer, librdmacm), () => addNeighbour),
  snapshot: kernelHolds,
  rdmaCore: softRoce.rdmaCore.there,
  manyConnections: softRoce.manyConnections.there
}
