import * as ConnectionsConformance from "@effect-rdma/testkit/conformance/Connections"
import { describe } from "@effect/vitest"
import { rdmaCmOnFabric } from "./rdmacm.ts"

describe("many connections", () => ConnectionsConformance.suites.ManyConnections.suite(rdmaCmOnFabric))
