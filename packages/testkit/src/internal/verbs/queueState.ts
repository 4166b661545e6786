import type * as Identifier from "@effect-rdma/core/Identifier"
import type * as Pointer from "@effect-rdma/core/Pointer"
import type * as CompletionCounterAttributes from "@effect-rdma/verbs/CompletionCounterAttributes"
import type * as DataPath from "@effect-rdma/verbs/operations/DataPath"
import type * as QueuePairAttributes from "@effect-rdma/verbs/QueuePairAttributes"
import type * as States from "@effect-rdma/verbs/QueuePairState"
import type * as QueuePairType from "@effect-rdma/verbs/QueuePairType"
import type * as WorkCompletionStatus from "@effect-rdma/verbs/WorkCompletionStatus"
import { Deque } from "../deque.ts"
import type * as Host from "../host.ts"
import type { Answer } from "./responder.ts"
import type { Destination } from "./route.ts"
import type { CompletionQueueState, DomainState, OfContext, VerbsState } from "./state.ts"

/** What counts those that were made on it. */
export interface Used {
  users: number
}

export interface XrcDomainState extends OfContext {
  /** The SRQs and QPs in it. */
  users: number
}

/** How many requests of a ring are not free yet: on rxe until they completed, on mlx5 until that was polled. */
export interface Ring {
  used: number
}

/** A send in the ring; of a bind, the key that the struct of the window had. */
export interface SendEntry extends DataPath.SendRequest {
  readonly windowKey?: number
}

/** Receives in the order in which messages take them. */
export interface ReceiveQueue {
  ring: Ring
  readonly posted: Deque<DataPath.ReceiveRequest>
  /** What lets senders that wait for one, for as long as it takes, try again. */
  readonly waiting: Set<() => void>
}

/** A request that was sent. */
export interface Flight {
  readonly request: SendEntry
  /** The numbers of its packets. */
  readonly psn: number
  readonly packets: number
  /** What came of it; it completes when those before it have. */
  status: WorkCompletionStatus.WorkCompletionStatus | undefined
  /** What the other side says each time that it hears it. */
  answer: Answer | undefined
}

export interface SendQueue {
  ring: Ring
  readonly posted: Deque<SendEntry>
  /** How many have completed since the last one that told. */
  silent: number
  /** The first of those posted: they were sent, and are not answered or stand behind one that is not. */
  readonly flights: Deque<Flight>
  isSending: boolean
  /** Nothing is sent for now, and this stops the timer that ends it. */
  waits: (() => void) | undefined
  /** Stops the timer that sends what nobody answered again. */
  timer: (() => void) | undefined
  /** How often the first one was sent again: because nobody answered, and because there was no receive. */
  retries: number
  rnrRetries: number
  /** The number of the next packet. */
  psn: number
  /** Whether the drain is to be told, and was not. */
  draining: boolean
}

export interface SharedReceiveQueueState extends OfContext {
  readonly srqType: "basic" | "xrc" | "tm"
  readonly number: number
  readonly pointer: Pointer.Pointer<"ibv_srq">
  readonly domain: DomainState
  readonly xrcDomain: XrcDomainState | undefined
  readonly completionQueue: CompletionQueueState | undefined
  readonly receives: ReceiveQueue
  /** What it was made on: each counts it as a user. */
  readonly parts: ReadonlyArray<Used>
  maxWr: number
  readonly maxSge: number
  srqLimit: number
  /** The QPs on it. */
  users: number
}

/** A queue pair of the device: one, however many handles are on it. */
export interface QueuePairObject {
  /** The libibverbs that made it. */
  readonly verbs: VerbsState
  readonly device: Host.DeviceState
  readonly qpType: QueuePairType.QueuePairType
  readonly qpNum: Identifier.Qpn
  readonly domain: DomainState | undefined
  readonly sendQueue: CompletionQueueState | undefined
  readonly receiveQueue: CompletionQueueState | undefined
  readonly srq: SharedReceiveQueueState | undefined
  readonly sqSigAll: boolean
  readonly blocksOwnMulticast: boolean
  /** The room that there really is. */
  readonly cap: QueuePairAttributes.Capacities
  state: States.QueuePairState
  /** The attributes that were set. */
  attributes: QueuePairAttributes.Modification
  readonly sends: SendQueue
  readonly receives: ReceiveQueue
  /** Where its packets go, found once for its attributes. */
  routed: { readonly attributes: QueuePairAttributes.Modification; readonly to: Destination | undefined } | undefined
  /** The number that the next packet to it must have. */
  expectedPsn: number
  /** It has said that it misses that one. */
  isMissing: boolean
  /** Whether it has told that a peer talks to it. */
  isEstablished: boolean
  /** What counts its operations. */
  readonly counters: Array<(operation: CompletionCounterAttributes.AttachedOperation, isFailed: boolean) => void>
  /** The handles on it. */
  readonly handles: Set<QueuePairState>
  /** The XRC domain that it receives in. */
  readonly xrcDomain: XrcDomainState | undefined
  /** What it was made on and what is attached to it: each counts it as a user. */
  parts: ReadonlyArray<Used>
}

/** A handle on a queue pair. */
export interface QueuePairState extends OfContext {
  readonly pointer: Pointer.Pointer<"ibv_qp">
  readonly object: QueuePairObject
  readonly qpType: QueuePairType.QueuePairType
  /** Whether it takes batches. */
  readonly isExtended: boolean
  readonly groups: Set<string>
  /** The flows on it. */
  users: number
}

export const makeReceives = (): ReceiveQueue => ({ ring: { used: 0 }, posted: new Deque(), waiting: new Set() })

export const makeSends = (): SendQueue => ({
  ring: { used: 0 },
  posted: new Deque(),
  silent: 0,
  flights: new Deque(),
  isSending: false,
  waits: undefined,
  timer: undefined,
  retries: 0,
  rnrRetries: 0,
  psn: 0,
  draining: false
})

/** Whether anything that was sent has not completed. */
export const isUnderWay = ({ flights, waits }: SendQueue): boolean => flights.length > 0 || waits !== undefined

const groups = new WeakMap<Host.FabricState, Map<string, Set<QueuePairState>>>()

/** What is attached to each multicast group, by its GID. */
export const groupsOf = (fabric: Host.FabricState): Map<string, Set<QueuePairState>> => {
  let found = groups.get(fabric)
  if (found === undefined) groups.set(fabric, found = new Map())
  return found
}

/** Counts an operation of a queue pair that has counters. */
export const count = (
  { counters }: QueuePairObject,
  operation: CompletionCounterAttributes.AttachedOperation | undefined,
  isFailed = false
): void => {
  if (operation === undefined) return
  for (const each of counters) each(operation, isFailed)
}

/** What peers find on a device: its queue pairs and its shared receive queues by their numbers. */
export interface OfDevice {
  readonly pairs: Map<number, QueuePairObject>
  readonly sharedReceiveQueues: Map<number, SharedReceiveQueueState>
}

const devices = new WeakMap<Host.DeviceState, OfDevice>()

export const of = (device: Host.DeviceState): OfDevice => {
  let queues = devices.get(device)
  if (queues === undefined) devices.set(device, queues = { pairs: new Map(), sharedReceiveQueues: new Map() })
  return queues
}
