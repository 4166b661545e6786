import * as Steering from "@effect-rdma/testkit/conformance/Steering"
import * as Fabric from "@effect-rdma/testkit/Fabric"
import { describe } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { rxeExtended } from "./rxeExtended.ts"

const fabric = {
  name: "fabric",
  layer: Fabric.layer,
  snapshot: Effect.flatMap(Fabric.Fabric, (fabric) => fabric.objects),
  port: 1,
  emptyGidIndex: 2
} as const

describe("RoCE", () =>
  Steering.suite<Fabric.Fabric | Fabric.Seams>({
    ...fabric,
    device: "rxe0",
    extended: rxeExtended,
    steering: false,
    flowActions: false,
    clock: false
  }))

describe("InfiniBand", () =>
  Steering.suite<Fabric.Fabric | Fabric.Seams>({
    ...fabric,
    device: "mlx5_0",
    steering: true,
    flowActions: true,
    clock: true
  }))
