import { UmadConformance } from "@effect-rdma/testkit"
import { describe } from "@effect/vitest"
import { umadOnSoftRoce } from "./lanes.ts"

describe("umad", () => UmadConformance.suite(umadOnSoftRoce))
