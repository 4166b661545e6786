import * as FabricLanes from "@effect-rdma/testkit/conformance/FabricLanes"
import * as UmadConformance from "@effect-rdma/testkit/conformance/Umad"
import { describe } from "@effect/vitest"
import { umadOnEthernetFabric } from "./umad.ts"

describe("InfiniBand", () => UmadConformance.suite(FabricLanes.umad))
describe("Ethernet", () => UmadConformance.suite(umadOnEthernetFabric))
