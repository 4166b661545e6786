import * as Steering from "@effect-rdma/testkit/conformance/Steering"
import { describe } from "@effect/vitest"
import { verbsOnSoftRoce } from "./lanes.ts"
import { rxeExtended } from "./rxeExtended.ts"

describe("steering", () =>
  Steering.suite({
    name: verbsOnSoftRoce.name,
    layer: verbsOnSoftRoce.layer,
    snapshot: verbsOnSoftRoce.snapshot,
    device: verbsOnSoftRoce.device,
    port: verbsOnSoftRoce.port,
    emptyGidIndex: 2,
    extended: rxeExtended,
    steering: false,
    flowActions: false,
    clock: false
  }))
