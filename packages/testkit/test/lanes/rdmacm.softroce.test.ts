import * as RdmaCmConformance from "@effect-rdma/testkit/conformance/RdmaCm"
import { describe } from "@effect/vitest"
import { rdmaCmOnSoftRoce } from "./rdmacm.ts"

describe("rdmacm", () => RdmaCmConformance.suite(rdmaCmOnSoftRoce))
