import * as SubnetConformance from "@effect-rdma/testkit/conformance/Subnet"
import { describe } from "@effect/vitest"
import { subnetOnFabric } from "./subnet.ts"

describe("management of a subnet", () => SubnetConformance.suite(subnetOnFabric))
