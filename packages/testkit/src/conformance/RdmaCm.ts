/**
 * What librdmacm does, as tests of the scoped modules: the same on the in-memory fabric, on Soft-RoCE and on hardware.
 *
 * @since 0.1.0
 */
import * as Addresses from "./rdmacm/Addresses.ts"
import * as ChannelsAndIds from "./rdmacm/ChannelsAndIds.ts"
import * as ConnectionEnd from "./rdmacm/ConnectionEnd.ts"
import * as ConnectionMemory from "./rdmacm/ConnectionMemory.ts"
import * as ConnectionMessages from "./rdmacm/ConnectionMessages.ts"
import * as Connections from "./rdmacm/Connections.ts"
import * as ConnectionSetup from "./rdmacm/ConnectionSetup.ts"
import * as Datagrams from "./rdmacm/Datagrams.ts"
import * as DatagramSockets from "./rdmacm/DatagramSockets.ts"
import * as Disconnection from "./rdmacm/Disconnection.ts"
import * as IdQueues from "./rdmacm/IdQueues.ts"
import * as Listeners from "./rdmacm/Listeners.ts"
import * as Listening from "./rdmacm/Listening.ts"
import * as ManyConnections from "./rdmacm/ManyConnections.ts"
import * as Migration from "./rdmacm/Migration.ts"
import * as Multicast from "./rdmacm/Multicast.ts"
import * as MulticastGroups from "./rdmacm/MulticastGroups.ts"
import * as Names from "./rdmacm/Names.ts"
import * as Options from "./rdmacm/Options.ts"
import type * as RdmaCmLane from "./RdmaCmLane.ts"

/**
 * The suites, one for each concept: ids and what is done on one, then connections, listeners and sockets above them.
 *
 * @category constructors
 * @since 0.1.0
 */
export const suites = {
  ids: {
    ChannelsAndIds,
    Addresses,
    Options,
    Listening,
    Connections,
    Disconnection,
    Datagrams,
    Migration,
    IdQueues,
    Multicast,
    Names
  },
  connections: {
    ConnectionSetup,
    ConnectionMessages,
    ConnectionMemory,
    ConnectionEnd,
    Listeners,
    ManyConnections,
    DatagramSockets,
    MulticastGroups
  }
} as const

/**
 * Registers all suites of a part on a lane.
 *
 * @category constructors
 * @since 0.1.0
 */
export const suite = <Others = never>(
  part: keyof typeof suites,
  lane: RdmaCmLane.RdmaCmLane<Others>
): void => {
  for (const { suite } of Object.values(suites[part])) suite(lane)
}
