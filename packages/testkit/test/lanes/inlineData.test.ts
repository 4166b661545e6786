import * as InlineDataConformance from "@effect-rdma/testkit/conformance/InlineData"
import { describe } from "@effect/vitest"
import { queuesOnFabric, queuesOnInfiniBandFabric } from "./queuesLanes.ts"

describe("RoCE", () => InlineDataConformance.suite(queuesOnFabric))
describe("InfiniBand", () => InlineDataConformance.suite(queuesOnInfiniBandFabric))
