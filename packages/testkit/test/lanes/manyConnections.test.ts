import * as ConnectionsConformance from "@effect-rdma/testkit/conformance/Connections"
import * as FabricLanes from "@effect-rdma/testkit/conformance/FabricLanes"
import { describe } from "@effect/vitest"

describe("many connections", () => ConnectionsConformance.suites.ManyConnections.suite(FabricLanes.rdmaCm))
