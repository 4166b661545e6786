import * as VerbsConformance from "@effect-rdma/testkit/conformance/Verbs"
import { describe } from "@effect/vitest"
import { verbsOnSoftRoce } from "./verbs.ts"

describe("verbs", () => VerbsConformance.suite(verbsOnSoftRoce))
