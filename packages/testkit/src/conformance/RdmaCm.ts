/**
 * What librdmacm does, as tests of the scoped modules: the same on the in-memory fabric, on Soft-RoCE and on hardware.
 *
 * @since 0.1.0
 */
import * as Addresses from "./rdmacm/Addresses.ts"
import * as ChannelsAndIds from "./rdmacm/ChannelsAndIds.ts"
import * as Connections from "./rdmacm/Connections.ts"
import * as Datagrams from "./rdmacm/Datagrams.ts"
import * as Disconnection from "./rdmacm/Disconnection.ts"
import * as IdMemory from "./rdmacm/IdMemory.ts"
import * as IdQueues from "./rdmacm/IdQueues.ts"
import * as Listening from "./rdmacm/Listening.ts"
import * as Migration from "./rdmacm/Migration.ts"
import * as Multicast from "./rdmacm/Multicast.ts"
import * as Names from "./rdmacm/Names.ts"
import * as NewerCalls from "./rdmacm/NewerCalls.ts"
import * as Options from "./rdmacm/Options.ts"
import * as RSocketMappings from "./rdmacm/RSocketMappings.ts"
import * as RSocketPolls from "./rdmacm/RSocketPolls.ts"
import * as RSockets from "./rdmacm/RSockets.ts"
import * as RSocketStreams from "./rdmacm/RSocketStreams.ts"
import type * as RdmaCmLane from "./RdmaCmLane.ts"

/**
 * The suites, one for each concept.
 *
 * @category constructors
 * @since 0.1.0
 */
export const suites = {
  ChannelsAndIds,
  Addresses,
  Options,
  Listening,
  Connections,
  Disconnection,
  Datagrams,
  Migration,
  IdQueues,
  IdMemory,
  NewerCalls,
  Multicast,
  Names,
  RSockets,
  RSocketStreams,
  RSocketMappings,
  RSocketPolls
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
