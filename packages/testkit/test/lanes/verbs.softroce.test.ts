import { VerbsConformance } from "@effect-rdma/testkit"
import { describe } from "@effect/vitest"
import { verbsOnSoftRoce } from "./lanes.ts"

describe("verbs", () => VerbsConformance.suite(verbsOnSoftRoce))
