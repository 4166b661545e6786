import * as FabricLanes from "@effect-rdma/testkit/conformance/FabricLanes"
import * as RdmaCmConformance from "@effect-rdma/testkit/conformance/RdmaCm"
import { describe } from "@effect/vitest"
import { rdmaCmOnInfiniBandFabric } from "./rdmacm.ts"

describe("RoCE", () => RdmaCmConformance.suite(FabricLanes.rdmaCm))
describe("InfiniBand", () => RdmaCmConformance.suite(rdmaCmOnInfiniBandFabric))
