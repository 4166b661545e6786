import { UmadConformance } from "@effect-rdma/testkit"
import { describe } from "@effect/vitest"
import { umadOnIbsim } from "./lanes.ts"

describe("umad", () => UmadConformance.suite(umadOnIbsim))
