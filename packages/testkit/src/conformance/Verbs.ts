/**
 * What libibverbs does, as tests of the scoped modules: the same on the in-memory fabric, on Soft-RoCE and on hardware.
 *
 * @since 0.1.0
 */
import * as AccessRights from "./verbs/AccessRights.ts"
import * as AddressHandle from "./verbs/AddressHandle.ts"
import * as AsyncEvents from "./verbs/AsyncEvents.ts"
import * as Atomics from "./verbs/Atomics.ts"
import * as AwaitedFailures from "./verbs/AwaitedFailures.ts"
import * as AwaitedRequests from "./verbs/AwaitedRequests.ts"
import * as BatchTraffic from "./verbs/BatchTraffic.ts"
import * as BatchWindows from "./verbs/BatchWindows.ts"
import * as CompletionChannel from "./verbs/CompletionChannel.ts"
import * as CompletionCounter from "./verbs/CompletionCounter.ts"
import * as CompletionEvents from "./verbs/CompletionEvents.ts"
import * as CompletionPolling from "./verbs/CompletionPolling.ts"
import * as CompletionQueue from "./verbs/CompletionQueue.ts"
import * as CompletionWaiting from "./verbs/CompletionWaiting.ts"
import * as ConnectedMessages from "./verbs/ConnectedMessages.ts"
import * as Counters from "./verbs/Counters.ts"
import * as CrossedTypes from "./verbs/CrossedTypes.ts"
import * as DatagramPeers from "./verbs/DatagramPeers.ts"
import * as Datagrams from "./verbs/Datagrams.ts"
import * as DeviceContext from "./verbs/DeviceContext.ts"
import * as DeviceList from "./verbs/DeviceList.ts"
import * as DeviceMemory from "./verbs/DeviceMemory.ts"
import * as DmaMemory from "./verbs/DmaMemory.ts"
import * as DomainBorders from "./verbs/DomainBorders.ts"
import * as EthernetResolution from "./verbs/EthernetResolution.ts"
import * as ExtendedCompletionQueue from "./verbs/ExtendedCompletionQueue.ts"
import * as ExtendedDevice from "./verbs/ExtendedDevice.ts"
import * as ExtendedPolling from "./verbs/ExtendedPolling.ts"
import * as Flow from "./verbs/Flow.ts"
import * as FlowAction from "./verbs/FlowAction.ts"
import * as Import from "./verbs/Import.ts"
import * as InlineData from "./verbs/InlineData.ts"
import * as Lifetimes from "./verbs/Lifetimes.ts"
import * as LocalKeys from "./verbs/LocalKeys.ts"
import * as MemoryRegion from "./verbs/MemoryRegion.ts"
import * as MemoryReregistration from "./verbs/MemoryReregistration.ts"
import * as MemoryTraffic from "./verbs/MemoryTraffic.ts"
import * as MemoryWindow from "./verbs/MemoryWindow.ts"
import * as MulticastAttachment from "./verbs/MulticastAttachment.ts"
import * as MulticastTraffic from "./verbs/MulticastTraffic.ts"
import * as ParentDomain from "./verbs/ParentDomain.ts"
import * as PathMtu from "./verbs/PathMtu.ts"
import * as Port from "./verbs/Port.ts"
import * as PortSpeed from "./verbs/PortSpeed.ts"
import * as PortTables from "./verbs/PortTables.ts"
import * as PostingStates from "./verbs/PostingStates.ts"
import * as ProtectionDomain from "./verbs/ProtectionDomain.ts"
import * as QueuePair from "./verbs/QueuePair.ts"
import * as QueuePairConnection from "./verbs/QueuePairConnection.ts"
import * as QueuePairEvents from "./verbs/QueuePairEvents.ts"
import * as QueuePairStates from "./verbs/QueuePairStates.ts"
import * as QueueRoom from "./verbs/QueueRoom.ts"
import * as RateLimit from "./verbs/RateLimit.ts"
import * as RdmaRead from "./verbs/RdmaRead.ts"
import * as RdmaWrite from "./verbs/RdmaWrite.ts"
import * as ReceivedDatagram from "./verbs/ReceivedDatagram.ts"
import * as ReceiverNotReady from "./verbs/ReceiverNotReady.ts"
import * as RegisteredMemory from "./verbs/RegisteredMemory.ts"
import * as RemoteKeys from "./verbs/RemoteKeys.ts"
import * as ResourceDomain from "./verbs/ResourceDomain.ts"
import * as RwqIndTable from "./verbs/RwqIndTable.ts"
import * as SendBatch from "./verbs/SendBatch.ts"
import * as SharedReceiveQueue from "./verbs/SharedReceiveQueue.ts"
import * as SharedReceiveRoom from "./verbs/SharedReceiveRoom.ts"
import * as SharedReceives from "./verbs/SharedReceives.ts"
import * as UnreliableConnection from "./verbs/UnreliableConnection.ts"
import * as WindowInvalidation from "./verbs/WindowInvalidation.ts"
import * as WindowOfQueuePair from "./verbs/WindowOfQueuePair.ts"
import * as WindowTraffic from "./verbs/WindowTraffic.ts"
import * as Workloads from "./verbs/Workloads.ts"
import * as WorkQueue from "./verbs/WorkQueue.ts"
import * as XrcDomain from "./verbs/XrcDomain.ts"
import type * as VerbsLane from "./VerbsLane.ts"

/**
 * The suites, one for each kind of object. Asynchronous events come last, since their suite takes the port down: what was
 * set up on it by hand may be gone.
 *
 * @category constructors
 * @since 0.1.0
 */
export const suites = {
  DeviceList,
  DeviceContext,
  ExtendedDevice,
  Port,
  PortSpeed,
  PortTables,
  ProtectionDomain,
  AddressHandle,
  EthernetResolution,
  ReceivedDatagram,
  ParentDomain,
  ResourceDomain,
  Lifetimes,
  CompletionChannel,
  CompletionQueue,
  ExtendedCompletionQueue,
  CompletionCounter,
  MemoryRegion,
  RegisteredMemory,
  MemoryReregistration,
  MemoryWindow,
  DeviceMemory,
  DmaMemory,
  Import,
  QueuePair,
  QueuePairStates,
  QueuePairConnection,
  RateLimit,
  SharedReceiveQueue,
  XrcDomain,
  MulticastAttachment,
  SendBatch,
  InlineData,
  AccessRights,
  ConnectedMessages,
  RdmaWrite,
  RdmaRead,
  RemoteKeys,
  LocalKeys,
  DomainBorders,
  Atomics,
  WindowTraffic,
  WindowOfQueuePair,
  BatchTraffic,
  PathMtu,
  UnreliableConnection,
  AwaitedRequests,
  AwaitedFailures,
  BatchWindows,
  MemoryTraffic,
  WindowInvalidation,
  CrossedTypes,
  WorkQueue,
  RwqIndTable,
  Flow,
  FlowAction,
  Counters,
  Datagrams,
  DatagramPeers,
  MulticastTraffic,
  SharedReceives,
  SharedReceiveRoom,
  CompletionPolling,
  ExtendedPolling,
  CompletionEvents,
  CompletionWaiting,
  PostingStates,
  QueueRoom,
  ReceiverNotReady,
  QueuePairEvents,
  Workloads,
  AsyncEvents
} as const

/**
 * Registers all suites on a lane.
 *
 * @category constructors
 * @since 0.1.0
 */
export const suite = <Others = never>(lane: VerbsLane.VerbsLane<Others>): void => {
  for (const { suite } of Object.values(suites)) suite(lane)
}
