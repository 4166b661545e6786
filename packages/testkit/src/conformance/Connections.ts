/**
 * What connections, listeners, datagram sockets and multicast groups do, as tests: the same on the in-memory fabric, on
 * Soft-RoCE and on hardware. The ids below them have the suites of `conformance/RdmaCm`.
 *
 * @since 0.1.0
 */
import * as ConnectionEnd from "./rdmacm/ConnectionEnd.ts"
import * as ConnectionMemory from "./rdmacm/ConnectionMemory.ts"
import * as ConnectionMessages from "./rdmacm/ConnectionMessages.ts"
import * as ConnectionSetup from "./rdmacm/ConnectionSetup.ts"
import * as DatagramSockets from "./rdmacm/DatagramSockets.ts"
import * as Listeners from "./rdmacm/Listeners.ts"
import * as ManyConnections from "./rdmacm/ManyConnections.ts"
import * as MulticastGroups from "./rdmacm/MulticastGroups.ts"
import type * as RdmaCmLane from "./RdmaCmLane.ts"

/**
 * The suites, one for each concept.
 *
 * @category constructors
 * @since 0.1.0
 */
export const suites = {
  ConnectionSetup,
  ConnectionMessages,
  ConnectionMemory,
  ConnectionEnd,
  Listeners,
  ManyConnections,
  DatagramSockets,
  MulticastGroups
} as const

/**
 * Registers every suite on a lane.
 *
 * @category constructors
 * @since 0.1.0
 */
export const suite = <Others = never>(lane: RdmaCmLane.RdmaCmLane<Others>): void => {
  for (const { suite } of Object.values(suites)) suite(lane)
}
