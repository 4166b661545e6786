import * as RdmaCmConformance from "@effect-rdma/testkit/conformance/RdmaCm"
import { describe } from "@effect/vitest"
import { rdmaCmOnFabric } from "./lanes.ts"

describe("RoCE", () => RdmaCmConformance.suite(rdmaCmOnFabric))
