import * as MemoryConformance from "@effect-rdma/testkit/conformance/Memory"
import { describe } from "@effect/vitest"
import { verbsOnSoftRoce } from "./lanes.ts"
import { memoryOfRxe } from "./memory.ts"

describe("memory", () => MemoryConformance.suite({ ...verbsOnSoftRoce, ...memoryOfRxe }))
