import * as RdmaCmConformance from "@effect-rdma/testkit/conformance/RdmaCm"
import { describe } from "@effect/vitest"
import { rdmaCmOnFabric } from "./rdmacm.ts"

// The fabric connects nobody yet.
describe("RoCE", () => RdmaCmConformance.suites.ChannelsAndIds.suite(rdmaCmOnFabric))

describe("rsockets", () => {
  const { RSocketMappings, RSocketPolls, RSockets, RSocketStreams } = RdmaCmConformance.suites
  for (const { suite } of [RSockets, RSocketStreams, RSocketMappings, RSocketPolls]) suite(rdmaCmOnFabric)
})
