import { VerbsConformance } from "@effect-rdma/testkit"
import { describe } from "@effect/vitest"
import { verbsOnFabric, verbsOnInfiniBandFabric } from "./lanes.ts"

describe("RoCE", () => VerbsConformance.suite(verbsOnFabric))
describe("InfiniBand", () => VerbsConformance.suite(verbsOnInfiniBandFabric))
