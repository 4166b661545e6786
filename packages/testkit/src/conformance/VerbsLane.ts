/**
 * What the conformance suites of libibverbs have to know of the device that they run on.
 *
 * @since 0.1.0
 */
import type * as AddressHandleAttributes from "@effect-rdma/verbs/AddressHandleAttributes"
import type * as CompletionQueue from "@effect-rdma/verbs/CompletionQueue"
import type * as ExtendedDeviceAttributes from "@effect-rdma/verbs/ExtendedDeviceAttributes"
import type * as Verbs from "@effect-rdma/verbs/Verbs"
import type * as WorkCompletionStatus from "@effect-rdma/verbs/WorkCompletionStatus"
import type * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type * as Lane from "./Lane.ts"

/**
 * A lane with a device of libibverbs.
 *
 * @category models
 * @since 0.1.0
 */
export interface VerbsLane<Others = never> extends Lane.Lane<Verbs.Verbs | Others> {
  readonly device: string
  /** An active port of the device. */
  readonly port: number
  /** The way from the port to a peer that answers. */
  readonly peer: AddressHandleAttributes.Input
  /** The way from the port to itself. */
  readonly loop: AddressHandleAttributes.Input
  /** A multicast group. */
  readonly group: { readonly gid: string; readonly mlid: number }
  /** A multicast group that the port hears, and the way to it. */
  readonly multicast: {
    readonly group: { readonly gid: string; readonly mlid: number }
    readonly address: AddressHandleAttributes.Input
  }
  /** An index of the GID table of the port with nothing at it. */
  readonly emptyGidIndex: number
  /** What is known of an Ethernet port with an IPv4 address; `undefined` for InfiniBand. */
  readonly roce: RoceFacts | undefined
  /** What is there. The suites expect that everything else is refused. */
  readonly features: ReadonlySet<Feature>
  /** What the device can do beyond its plain attributes; `undefined` where that is not known. */
  readonly extended: Omit<ExtendedDeviceAttributes.ExtendedDeviceAttributes, "origAttr"> | undefined
  /** The speed of the port in units of 100 Mb/s; `undefined` where the library or the provider does not tell. */
  readonly portSpeed: bigint | undefined
  /** A limit in kb/s that a raw packet queue pair takes; `undefined` where the provider limits nothing. */
  readonly rateLimit: number | undefined
  /** How the deregistration of a region with a window on it is refused. */
  readonly boundRegion: "EBUSY" | "EINVAL"
  /** The statuses by which one provider tells what another tells by others. */
  readonly statuses: Statuses
  /** Puts a completion into a queue: a request that is flushed, with this `wrId`. */
  readonly flush: (
    queue: CompletionQueue.CompletionQueue,
    wrId: bigint
  ) => Effect.Effect<void, unknown, Scope.Scope | Others>
  /** Makes the device report `gidChange`; `undefined` where nobody can. */
  readonly changeGids: Effect.Effect<void, never, Others> | undefined
  /** Takes the port of the device down and up again, with an event for each; `undefined` where nobody can. */
  readonly bouncePort: Effect.Effect<void, never, Others> | undefined
}

/**
 * How requests end that cannot be carried out, where providers differ.
 *
 * @category models
 * @since 0.1.0
 */
export interface Statuses {
  /** A message from memory under a key that does not fit. */
  readonly sendKey: Status
  /** A message that is longer than its receive. */
  readonly shortReceive: BothEnds
  /** A message whose receive has a key that does not fit, or is not in its region. */
  readonly receiveKey: BothEnds
  /** A key that is of nothing that can be invalidated here. */
  readonly localInv: Status
  /** A datagram that is longer than the MTU. */
  readonly longDatagram: Status
  /** The receive that a datagram is too long for. */
  readonly shortDatagramReceive: Status
  /** A datagram by an address handle of another domain. */
  readonly foreignAddressHandle: Status
}

type Status = WorkCompletionStatus.WorkCompletionStatus

interface BothEnds {
  readonly sender: Status
  readonly receiver: Status
}

/**
 * The IPv4 side of an Ethernet port.
 *
 * @category models
 * @since 0.1.0
 */
export interface RoceFacts {
  /** The index of the GID of `ownAddress`; the link-local one is at 0. */
  readonly sgidIndex: number
  readonly ownAddress: string
  readonly peerAddress: string
  readonly peerMac: ReadonlyArray<number>
  /** An address of the port's network that nobody answers for; to ask for it takes a second. */
  readonly silentAddress: string
}

/**
 * What one library, provider or kernel has or does, and another does not:
 *
 * - `blocksLoopback`: the create flag that keeps a queue pair's own multicast away
 * - `checkedAtomics`: the library refuses atomic operations at an address that is no multiple of eight, or with less room
 * - `checkedAddresses`: the kernel makes the address handles, and so checks them
 * - `clock`: a program can read the device's clock
 * - `completionCounters`, `deviceMemory`, `ece`, `flowActions`, `nullRegions`, `rawPackets`, `tagMatching`, `xrc`: objects
 *   and options by these names
 * - `experimental`: the library has `ibv_exp_create_res_domain`
 * - `failureEvents`: a completion that failed gives the event of a solicited one
 * - `flushesAtOnce`: a receive that is posted in ERR is flushed
 * - `ignoreOverrun`: the device can be told not to watch a completion queue for an overrun
 * - `imports`: objects of another context can be imported
 * - `moderation`: `ibv_modify_cq`
 * - `newerMemory`: what came after rdma-core 44: DMA handles, buffers and exports
 * - `noRemoteKey`: a region that no peer may touch has the remote key 0
 * - `onDemand`: pages can be brought in on demand
 * - `queuePairEvents`: the device tells that a peer talks to a queue pair, of its last receive, and of access errors
 * - `rereg`: a region can be changed in place
 * - `resizableSrq`: the room of a shared receive queue can be changed
 * - `sharedQueueDomain`: the memory of a shared receive is of the domain of its queue, not of that of the queue pair
 * - `steering`: work queues, the spreading of packets over them, flows and counters
 * - `tellsInvalidation`: a receive tells which key its message invalidated
 * - `threadDomains`: `ibv_alloc_td` and `ibv_alloc_parent_domain`
 * - `timestamps`: extended completion queues report timestamps, VLANs, flow tags and tag matching
 * - `wholeBatches`: inline data of a batch arrives, and pieces of different lengths do
 * - `windowBounds`: what peers reach by a window is bounded by the window, and not by its region alone
 *
 * @category models
 * @since 0.1.0
 */
export type Feature =
  | "blocksLoopback"
  | "checkedAddresses"
  | "checkedAtomics"
  | "clock"
  | "completionCounters"
  | "deviceMemory"
  | "ece"
  | "experimental"
  | "failureEvents"
  | "flowActions"
  | "flushesAtOnce"
  | "ignoreOverrun"
  | "imports"
  | "moderation"
  | "newerMemory"
  | "noRemoteKey"
  | "nullRegions"
  | "onDemand"
  | "queuePairEvents"
  | "rawPackets"
  | "rereg"
  | "resizableSrq"
  | "sharedQueueDomain"
  | "steering"
  | "tagMatching"
  | "tellsInvalidation"
  | "threadDomains"
  | "timestamps"
  | "wholeBatches"
  | "windowBounds"
  | "xrc"
