import * as VerbsConformance from "@effect-rdma/testkit/conformance/Verbs"
import { describe } from "@effect/vitest"
import { verbsOnExperimentalFabric, verbsOnFabric, verbsOnInfiniBandFabric } from "./lanes.ts"

describe("RoCE", () => VerbsConformance.suite(verbsOnFabric))
describe("InfiniBand", () => VerbsConformance.suite(verbsOnInfiniBandFabric))
describe("MLNX_OFED", () => VerbsConformance.suite(verbsOnExperimentalFabric))
