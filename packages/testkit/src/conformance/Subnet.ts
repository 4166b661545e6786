/**
 * Management of a subnet, as tests of the clients: the same on the in-memory fabric and on a simulated one with a real subnet
 * manager.
 *
 * @since 0.1.0
 */
import type * as SubnetLane from "./SubnetLane.ts"
import * as Discovery from "./umad/Discovery.ts"
import * as PerformanceManagement from "./umad/PerformanceManagement.ts"
import * as SubnetAdministration from "./umad/SubnetAdministration.ts"
import * as SubnetManagement from "./umad/SubnetManagement.ts"

/**
 * The suites, one for each client.
 *
 * @category constructors
 * @since 0.1.0
 */
export const suites = {
  SubnetManagement,
  SubnetAdministration,
  PerformanceManagement,
  Discovery
} as const

/**
 * Registers every suite on a lane.
 *
 * @category constructors
 * @since 0.1.0
 */
export const suite = <Others = never>(lane: SubnetLane.SubnetLane<Others>): void => {
  for (const { suite } of Object.values(suites)) suite(lane)
}
