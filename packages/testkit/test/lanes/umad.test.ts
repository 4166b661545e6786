import * as UmadConformance from "@effect-rdma/testkit/conformance/Umad"
import { describe } from "@effect/vitest"
import { umadOnEthernetFabric, umadOnFabric } from "./umad.ts"

describe("InfiniBand", () => UmadConformance.suite(umadOnFabric))
describe("Ethernet", () => UmadConformance.suite(umadOnEthernetFabric))
