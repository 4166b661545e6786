/**
 * The part of the seam of libibverbs for XRC domains, shared receive queues, queue pairs and multicast.
 *
 * @since 0.1.0
 */
import type * as Gid from "@effect-rdma/core/Gid"
import type * as Identifier from "@effect-rdma/core/Identifier"
import type * as Lid from "@effect-rdma/core/Lid"
import type * as Pointer from "@effect-rdma/core/Pointer"
import type * as Effect from "effect/Effect"
import type * as Ece from "../Ece.ts"
import type * as QueuePairAttributes from "../QueuePairAttributes.ts"
import type * as QueuePairInitAttributes from "../QueuePairInitAttributes.ts"
import type * as QueuePairType from "../QueuePairType.ts"
import type * as RateLimit from "../RateLimit.ts"
import type * as SharedReceiveQueueAttributes from "../SharedReceiveQueueAttributes.ts"
import type { VerbsError } from "../VerbsError.ts"
import type * as SendBatch from "./SendBatch.ts"

/**
 * `struct ibv_xrcd_init_attr`: the file behind the domain, -1 for none, and how it is opened.
 *
 * @category models
 * @since 0.1.0
 */
export interface XrcDomainInit {
  readonly fd: number
  readonly create: boolean
  readonly exclusive: boolean
}

/**
 * A shared receive queue as made, with the room that the device gave.
 *
 * @category models
 * @since 0.1.0
 */
export interface MadeSharedReceiveQueue {
  readonly srq: Pointer.Pointer<"ibv_srq">
  readonly maxWr: number
  readonly maxSge: number
}

/**
 * `struct ibv_srq_init_attr_ex`. What a type has no use for is `undefined`.
 *
 * @category models
 * @since 0.1.0
 */
export interface ExtendedSharedReceiveQueueInit extends SharedReceiveQueueAttributes.SharedReceiveQueueAttributes {
  readonly srqType: "basic" | "xrc" | "tm"
  readonly pd: Pointer.Pointer<"ibv_pd">
  readonly xrcd: Pointer.Pointer<"ibv_xrcd"> | undefined
  readonly cq: Pointer.Pointer<"ibv_cq"> | undefined
  readonly tmCap: SharedReceiveQueueAttributes.TagMatching | undefined
}

/**
 * A queue pair as made, with its number and the room that the device gave.
 *
 * @category models
 * @since 0.1.0
 */
export interface MadeQueuePair {
  readonly qp: Pointer.Pointer<"ibv_qp">
  readonly qpNum: Identifier.Qpn
  readonly cap: QueuePairAttributes.Capacities
}

/**
 * The queues that a queue pair works with.
 *
 * @category models
 * @since 0.1.0
 */
export interface Queues {
  readonly sendCq: Pointer.Pointer<"ibv_cq"> | undefined
  readonly recvCq: Pointer.Pointer<"ibv_cq"> | undefined
  readonly srq: Pointer.Pointer<"ibv_srq"> | undefined
}

/**
 * `struct ibv_qp_init_attr`.
 *
 * @category models
 * @since 0.1.0
 */
export interface QueuePairInit extends QueuePairInitAttributes.QueuePairInitAttributes, Queues {}

/**
 * `struct ibv_qp_init_attr_ex`.
 *
 * @category models
 * @since 0.1.0
 */
export interface ExtendedQueuePairInit extends QueuePairInitAttributes.ExtendedAttributes, Queues {
  readonly pd: Pointer.Pointer<"ibv_pd"> | undefined
  readonly xrcd: Pointer.Pointer<"ibv_xrcd"> | undefined
  readonly rwqIndTbl: Pointer.Pointer<"ibv_rwq_ind_table"> | undefined
}

/**
 * What `ibv_query_qp` fills: the attributes, and of what it was made from the room.
 *
 * @category models
 * @since 0.1.0
 */
export interface QueriedQueuePair {
  readonly attributes: QueuePairAttributes.QueuePairAttributes
  readonly cap: QueuePairAttributes.Capacities
}

/**
 * Where work is posted.
 *
 * @category services
 * @since 0.1.0
 */
export interface Operations {
  readonly openXrcd: (
    context: Pointer.Pointer<"ibv_context">,
    attributes: XrcDomainInit
  ) => Effect.Effect<Pointer.Pointer<"ibv_xrcd">, VerbsError>
  readonly closeXrcd: (xrcd: Pointer.Pointer<"ibv_xrcd">) => Effect.Effect<void, VerbsError>

  readonly createSrq: (
    pd: Pointer.Pointer<"ibv_pd">,
    attributes: SharedReceiveQueueAttributes.SharedReceiveQueueAttributes
  ) => Effect.Effect<MadeSharedReceiveQueue, VerbsError>
  readonly createSrqEx: (
    context: Pointer.Pointer<"ibv_context">,
    attributes: ExtendedSharedReceiveQueueInit
  ) => Effect.Effect<MadeSharedReceiveQueue, VerbsError>
  readonly destroySrq: (srq: Pointer.Pointer<"ibv_srq">) => Effect.Effect<void, VerbsError>
  /** The mask names the fields that are there. */
  readonly modifySrq: (
    srq: Pointer.Pointer<"ibv_srq">,
    attributes: SharedReceiveQueueAttributes.Modification
  ) => Effect.Effect<void, VerbsError>
  readonly querySrq: (
    srq: Pointer.Pointer<"ibv_srq">
  ) => Effect.Effect<SharedReceiveQueueAttributes.Reported, VerbsError>
  readonly getSrqNum: (srq: Pointer.Pointer<"ibv_srq">) => Effect.Effect<number, VerbsError>

  readonly createQp: (
    pd: Pointer.Pointer<"ibv_pd">,
    attributes: QueuePairInit
  ) => Effect.Effect<MadeQueuePair, VerbsError>
  readonly createQpEx: (
    context: Pointer.Pointer<"ibv_context">,
    attributes: ExtendedQueuePairInit
  ) => Effect.Effect<MadeQueuePair, VerbsError>
  readonly openQp: (
    context: Pointer.Pointer<"ibv_context">,
    attributes: {
      readonly xrcd: Pointer.Pointer<"ibv_xrcd">
      readonly qpNum: Identifier.Qpn
      readonly qpType: QueuePairType.QueuePairType
    }
  ) => Effect.Effect<Pointer.Pointer<"ibv_qp">, VerbsError>
  readonly destroyQp: (qp: Pointer.Pointer<"ibv_qp">) => Effect.Effect<void, VerbsError>
  /** The mask names the attributes that are there. */
  readonly modifyQp: (
    qp: Pointer.Pointer<"ibv_qp">,
    attributes: QueuePairAttributes.Modification
  ) => Effect.Effect<void, VerbsError>
  /** Asks for every attribute but the rate limit, which few providers know. */
  readonly queryQp: (qp: Pointer.Pointer<"ibv_qp">) => Effect.Effect<QueriedQueuePair, VerbsError>
  readonly modifyQpRateLimit: (
    qp: Pointer.Pointer<"ibv_qp">,
    attributes: RateLimit.RateLimit
  ) => Effect.Effect<void, VerbsError>
  readonly queryEce: (qp: Pointer.Pointer<"ibv_qp">) => Effect.Effect<Ece.Ece, VerbsError>
  readonly setEce: (qp: Pointer.Pointer<"ibv_qp">, ece: Ece.Ece) => Effect.Effect<void, VerbsError>

  readonly attachMcast: (
    qp: Pointer.Pointer<"ibv_qp">,
    gid: Gid.Gid,
    lid: Lid.Lid
  ) => Effect.Effect<void, VerbsError>
  readonly detachMcast: (
    qp: Pointer.Pointer<"ibv_qp">,
    gid: Gid.Gid,
    lid: Lid.Lid
  ) => Effect.Effect<void, VerbsError>

  /**
   * `ibv_wr_start`, what `build` says, then `ibv_wr_complete`, or `ibv_wr_abort` when `build` throws: all in one turn of
   * the JS thread, because the library's lock is held from the first to the last.
   */
  readonly wrComplete: (
    qp: Pointer.Pointer<"ibv_qp">,
    build: (builder: SendBatch.Builder) => void
  ) => Effect.Effect<void, VerbsError>
}
