import * as InlineDataConformance from "@effect-rdma/testkit/conformance/InlineData"
import { describe } from "@effect/vitest"
import { queuesOnSoftRoce } from "./queuesLanes.ts"

describe("inline data", () => InlineDataConformance.suite(queuesOnSoftRoce))
