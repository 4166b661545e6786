/**
 * What the suites of librdmacm have to know of the host that they run on.
 *
 * @since 0.1.0
 */
import type * as RdmaCm from "@effect-rdma/rdmacm/RdmaCm"
import type * as Verbs from "@effect-rdma/verbs/Verbs"
import type * as Lane from "./Lane.ts"

/**
 * A lane with a device that librdmacm can use.
 *
 * @category models
 * @since 0.1.0
 */
export interface RdmaCmLane<Others = never> extends Lane.Lane<RdmaCm.RdmaCm | Verbs.Verbs | Others> {
  /** A device that librdmacm can use, and an active port of it. */
  readonly device: string
  readonly port: number
  /** IPv4 address of the device. */
  readonly ownAddress: string
  /** IPv4 address of a peer that answers, on the network of the device. */
  readonly peerAddress: string
  /** IPv4 address on that network that nobody answers for. */
  readonly silentAddress: string
  /** The release of rdma-core that the library is of; 44 unless it says otherwise. */
  readonly rdmaCore?: number | undefined
  /** How many connections it bears at once. */
  readonly manyConnections: number
}
