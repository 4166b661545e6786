import * as ExtendedDevice from "@effect-rdma/testkit/conformance/ExtendedDevice"
import * as Steering from "@effect-rdma/testkit/conformance/Steering"
import { describe } from "@effect/vitest"
import { verbsOnSoftRoce } from "./lanes.ts"
import { rxeExtended } from "./rxeExtended.ts"

const { device, layer, name, port, snapshot } = verbsOnSoftRoce
const lane = { name, layer, snapshot, device, port } as const

describe("extended device", () =>
  ExtendedDevice.suite({ ...lane, emptyGidIndex: 2, extended: rxeExtended, spreads: false, clock: false }))
describe("steering", () => Steering.suite({ ...lane, steering: false, flowActions: false }))
