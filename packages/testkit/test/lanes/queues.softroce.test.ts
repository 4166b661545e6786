import * as QueuesConformance from "@effect-rdma/testkit/conformance/Queues"
import { describe } from "@effect/vitest"
import { queuesOnSoftRoce } from "./queuesLanes.ts"

describe("queues", () => QueuesConformance.suite(queuesOnSoftRoce))
