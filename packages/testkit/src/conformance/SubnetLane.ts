/**
 * What the suites of management have to know of the subnet that they run on.
 *
 * @since 0.1.0
 */
import type * as SubnetTopology from "@effect-rdma/umad/SubnetTopology"
import type * as Umad from "@effect-rdma/umad/Umad"
import type * as Lane from "./Lane.ts"

/**
 * A lane whose host is the adapter `host` of a known subnet, which has a subnet manager and at least two adapters.
 *
 * @category models
 * @since 0.1.0
 */
export interface SubnetLane<Others = never> extends Lane.Lane<Umad.Umad | Others> {
  readonly topology: SubnetTopology.SubnetTopology
  readonly host: string
  /** Whether messages of several packets are put together. The library of the simulator gives the first packet alone. */
  readonly hasRmpp: boolean
  /** A LID that nobody has. */
  readonly silent: number
}
