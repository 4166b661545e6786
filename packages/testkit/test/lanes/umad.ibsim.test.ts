import * as UmadConformance from "@effect-rdma/testkit/conformance/Umad"
import { describe } from "@effect/vitest"
import { umadOnIbsim } from "./umad.ts"

describe("umad", () => UmadConformance.suite(umadOnIbsim))
