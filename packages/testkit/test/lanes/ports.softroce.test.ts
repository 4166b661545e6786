import * as PortsConformance from "@effect-rdma/testkit/conformance/Ports"
import { describe } from "@effect/vitest"
import { portsOnSoftRoce } from "./lanes.ts"

describe("ports", () => PortsConformance.suite(portsOnSoftRoce))
