import * as MemoryConformance from "@effect-rdma/testkit/conformance/Memory"
import { describe } from "@effect/vitest"
import { verbsOnFabric, verbsOnInfiniBandFabric } from "./lanes.ts"
import { memoryOfMlx5, memoryOfRxe } from "./memory.ts"

describe("RoCE", () => MemoryConformance.suite({ ...verbsOnFabric, ...memoryOfRxe }))
describe("InfiniBand", () => MemoryConformance.suite({ ...verbsOnInfiniBandFabric, ...memoryOfMlx5 }))
