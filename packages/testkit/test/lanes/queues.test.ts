import * as QueuesConformance from "@effect-rdma/testkit/conformance/Queues"
import { describe } from "@effect/vitest"
import { queuesOnFabric, queuesOnInfiniBandFabric } from "./queuesLanes.ts"

describe("RoCE", () => QueuesConformance.suite(queuesOnFabric))
describe("InfiniBand", () => QueuesConformance.suite(queuesOnInfiniBandFabric))
