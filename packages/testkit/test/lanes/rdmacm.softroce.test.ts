import { RdmaCmConformance } from "@effect-rdma/testkit"
import { describe } from "@effect/vitest"
import { rdmaCmOnSoftRoce } from "./lanes.ts"

describe("rdmacm", () => RdmaCmConformance.suite(rdmaCmOnSoftRoce))
