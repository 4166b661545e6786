import * as RdmaCmConformance from "@effect-rdma/testkit/conformance/RdmaCm"
import { describe } from "@effect/vitest"
import { rdmaCmOnFabric } from "./rdmacm.ts"

// The fabric connects nobody yet.
describe("RoCE", () => RdmaCmConformance.suites.ids.ChannelsAndIds.suite(rdmaCmOnFabric))
