import { RdmaCmConformance } from "@effect-rdma/testkit"
import { describe } from "@effect/vitest"
import { rdmaCmOnFabric } from "./lanes.ts"

describe("RoCE", () => RdmaCmConformance.suite(rdmaCmOnFabric))
