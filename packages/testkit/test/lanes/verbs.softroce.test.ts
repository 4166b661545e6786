import * as VerbsConformance from "@effect-rdma/testkit/conformance/Verbs"
import { describe } from "@effect/vitest"
import { verbsOnSoftRoce } from "./lanes.ts"

describe("verbs", () => VerbsConformance.suite(verbsOnSoftRoce))
