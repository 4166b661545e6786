import * as RdmaCmConformance from "@effect-rdma/testkit/conformance/RdmaCm"
import { describe } from "@effect/vitest"
import { rdmaCmOnFabric, rdmaCmOnInfiniBandFabric } from "./rdmacm.ts"

describe("RoCE", () => RdmaCmConformance.suite(rdmaCmOnFabric))
describe("InfiniBand", () => RdmaCmConformance.suite(rdmaCmOnInfiniBandFabric))
