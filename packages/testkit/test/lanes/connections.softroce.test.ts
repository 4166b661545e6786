import * as RdmaCmConformance from "@effect-rdma/testkit/conformance/RdmaCm"
import { describe } from "@effect/vitest"
import { rdmaCmOnSoftRoce } from "./rdmacm.ts"

describe("connections", () => RdmaCmConformance.suite("connections", rdmaCmOnSoftRoce))
