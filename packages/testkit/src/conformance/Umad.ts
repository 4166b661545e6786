/**
 * What libibumad does, as tests of the scoped modules: the same on the in-memory fabric, on ibsim, on Soft-RoCE and on
 * hardware.
 *
 * @since 0.1.0
 */
import * as Adapters from "./umad/Adapters.ts"
import * as Agents from "./umad/Agents.ts"
import * as DeviceLists from "./umad/DeviceLists.ts"
import * as Library from "./umad/Library.ts"
import * as Lifetimes from "./umad/Lifetimes.ts"
import * as OpenPorts from "./umad/OpenPorts.ts"
import * as Ports from "./umad/Ports.ts"
import * as Requests from "./umad/Requests.ts"
import type * as UmadLane from "./UmadLane.ts"

/**
 * The suites, one for each concept.
 *
 * @category constructors
 * @since 0.1.0
 */
export const suites = {
  Library,
  DeviceLists,
  Ports,
  Adapters,
  Lifetimes,
  OpenPorts,
  Agents,
  Requests
} as const

/**
 * Registers every suite on a lane.
 *
 * @category constructors
 * @since 0.1.0
 */
export const suite = <Others = never>(lane: UmadLane.UmadLane<Others>): void => {
  for (const { suite } of Object.values(suites)) suite(lane)
}
