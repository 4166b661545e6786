import * as ExtendedDevice from "@effect-rdma/testkit/conformance/ExtendedDevice"
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
const roce = { ...fabric, device: "rxe0" } as const
const infiniBand = { ...fabric, device: "mlx5_0" } as const

type Services = Fabric.Fabric | Fabric.Seams

describe("RoCE", () => {
  ExtendedDevice.suite<Services>({ ...roce, extended: rxeExtended, spreads: false, clock: false })
  Steering.suite<Services>({ ...roce, steering: false, flowActions: false })
})

describe("InfiniBand", () => {
  ExtendedDevice.suite<Services>({ ...infiniBand, spreads: true, clock: true })
  Steering.suite<Services>({ ...infiniBand, steering: true, flowActions: true })
})
