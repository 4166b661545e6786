import * as PortsConformance from "@effect-rdma/testkit/conformance/Ports"
import { describe } from "@effect/vitest"
import { portsOnFabric, portsOnInfiniBandFabric } from "./lanes.ts"

describe("RoCE", () => PortsConformance.suite(portsOnFabric))
describe("InfiniBand", () => PortsConformance.suite(portsOnInfiniBandFabric))
