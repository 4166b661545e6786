import type * as Identifier from "@effect-rdma/core/Identifier"
import type * as SendBatch from "@effect-rdma/verbs/operations/SendBatch"
import type * as QueuePairAttributes from "@effect-rdma/verbs/QueuePairAttributes"
import type * as States from "@effect-rdma/verbs/QueuePairState"
import type * as QueuePairType from "@effect-rdma/verbs/QueuePairType"
import type { OfContext } from "./state.ts"

/** What counts those that were made on it. */
export interface Used {
  users: number
}

export interface XrcDomainState extends OfContext {
  /** The SRQs and QPs in it. */
  users: number
}

export interface SharedReceiveQueueState extends OfContext {
  readonly srqType: "basic" | "xrc" | "tm"
  readonly number: number
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
  readonly qpType: QueuePairType.QueuePairType
  readonly qpNum: Identifier.Qpn
  /** The room that there really is. */
  readonly cap: QueuePairAttributes.Capacities
  state: States.QueuePairState
  /** The attributes that were set. */
  attributes: QueuePairAttributes.Modification
  /** The requests of batches that have not completed. */
  sends: ReadonlyArray<SendBatch.Request>
  /** The handles on it. */
  handles: number
  /** The XRC domain that it receives in. */
  readonly xrcDomain: XrcDomainState | undefined
  /** What it was made on and what is attached to it: each counts it as a user. */
  parts: ReadonlyArray<Used>
}

/** A handle on a queue pair. */
export interface QueuePairState extends OfContext {
  readonly object: QueuePairObject
  readonly qpType: QueuePairType.QueuePairType
  /** Whether it takes batches. */
  readonly isExtended: boolean
  readonly groups: Set<string>
  /** The flows on it. */
  users: number
}
