import * as ConnectionsConformance from "@effect-rdma/testkit/conformance/Connections"
import { describe } from "@effect/vitest"
import { rdmaCmOnFabric, rdmaCmOnInfiniBandFabric } from "./rdmacm.ts"

describe("connections over RoCE", () => ConnectionsConformance.suite(rdmaCmOnFabric))
describe("connections over InfiniBand", () => ConnectionsConformance.suite(rdmaCmOnInfiniBandFabric))
