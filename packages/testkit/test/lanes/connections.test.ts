import * as ConnectionsConformance from "@effect-rdma/testkit/conformance/Connections"
import * as FabricLanes from "@effect-rdma/testkit/conformance/FabricLanes"
import { describe } from "@effect/vitest"
import { rdmaCmOnInfiniBandFabric } from "./rdmacm.ts"

// That keeps a thread busy for long: it has a file of its own.
const { ManyConnections: _, ...suites } = ConnectionsConformance.suites

describe("connections over RoCE", () => {
  for (const { suite } of Object.values(suites)) suite(FabricLanes.rdmaCm)
})
describe("connections over InfiniBand", () => {
  for (const { suite } of Object.values(suites)) suite(rdmaCmOnInfiniBandFabric)
})
