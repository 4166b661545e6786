import { Fabric } from "@effect-rdma/testkit"
import { Effect } from "effect"

export type FabricServices = Fabric.Fabric | Fabric.Seams

export const fabricObjects = Effect.flatMap(Fabric.Fabric, (fabric) => fabric.objects)

/** Host-a of the default topology, in memory. */
export const fabric = { name: "fabric", layer: Fabric.layer, snapshot: fabricObjects } as const
