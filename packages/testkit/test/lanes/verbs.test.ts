import * as FabricLanes from "@effect-rdma/testkit/conformance/FabricLanes"
import * as VerbsConformance from "@effect-rdma/testkit/conformance/Verbs"
import { describe } from "@effect/vitest"
import { verbsOnExperimentalFabric, verbsOnInfiniBandFabric } from "./verbs.ts"

describe("RoCE", () => VerbsConformance.suite(FabricLanes.verbs))
describe("InfiniBand", () => VerbsConformance.suite(verbsOnInfiniBandFabric))

// Only these: in everything else the adapter does what the one above does.
describe("MLNX_OFED", () => {
  for (
    const object of [
      "DeviceList",
      "DeviceContext",
      "Port",
      "PortTables",
      "ProtectionDomain",
      "AddressHandle",
      "ReceivedDatagram",
      "ParentDomain",
      "ResourceDomain",
      "Lifetimes",
      "CompletionChannel",
      "CompletionQueue",
      "ExtendedCompletionQueue",
      "CompletionCounter",
      "AsyncEvents"
    ] as const
  ) VerbsConformance.suites[object].suite(verbsOnExperimentalFabric)
})
