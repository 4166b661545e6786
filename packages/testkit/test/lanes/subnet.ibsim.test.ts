import * as SubnetConformance from "@effect-rdma/testkit/conformance/Subnet"
import { describe } from "@effect/vitest"
import { subnetOnIbsim } from "./subnet.ts"

describe("management of a subnet", () => SubnetConformance.suite(subnetOnIbsim))
