import * as ConnectionsConformance from "@effect-rdma/testkit/conformance/Connections"
import { describe } from "@effect/vitest"
import { rdmaCmOnSoftRoce } from "./rdmacm.ts"

describe("connections", () => ConnectionsConformance.suite(rdmaCmOnSoftRoce))
