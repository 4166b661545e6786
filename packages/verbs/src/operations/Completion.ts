/**
 * The part of the seam of libibverbs for completion channels and completion queues.
 *
 * @since 0.1.0
 */
import type * as Pointer from "@effect-rdma/core/Pointer"
import type * as Effect from "effect/Effect"
import type * as CompletionQueueAttributes from "../CompletionQueueAttributes.ts"
import type * as ExtendedCompletion from "../ExtendedCompletion.ts"
import type { VerbsError } from "../VerbsError.ts"

/**
 * A completion queue as made: `cqe` is the room that the device gave, at least what was asked for.
 *
 * @category models
 * @since 0.1.0
 */
export interface MadeQueue {
  readonly cq: Pointer.Pointer<"ibv_cq">
  readonly cqe: number
}

/**
 * What a completion queue is made from. `cqContext` comes back with each event of the queue: a pointer in C, a number
 * here, since the library never follows it.
 *
 * @category models
 * @since 0.1.0
 */
export interface QueueAttributes {
  readonly cqe: number
  readonly cqContext: number
  readonly channel: Pointer.Pointer<"ibv_comp_channel"> | undefined
  readonly compVector: number
}

/**
 * What an extended completion queue is made from. The bits of `comp_mask` follow from what is given.
 *
 * @category models
 * @since 0.1.0
 */
export interface ExtendedQueueAttributes extends QueueAttributes {
  readonly wcFlags: ReadonlyArray<CompletionQueueAttributes.WcFlag>
  readonly singleThreaded: boolean
  readonly ignoreOverrun: boolean
  readonly parentDomain: Pointer.Pointer<"ibv_pd"> | undefined
}

/**
 * Where completions arrive.
 *
 * @category services
 * @since 0.1.0
 */
export interface Operations {
  /** `num_comp_vectors` of the context: how many interrupts can tell of completions. */
  readonly numCompVectors: (context: Pointer.Pointer<"ibv_context">) => Effect.Effect<number>

  /** The descriptor of the channel is set to `O_NONBLOCK`. */
  readonly createCompChannel: (
    context: Pointer.Pointer<"ibv_context">
  ) => Effect.Effect<Pointer.Pointer<"ibv_comp_channel">, VerbsError>
  readonly destroyCompChannel: (channel: Pointer.Pointer<"ibv_comp_channel">) => Effect.Effect<void, VerbsError>

  readonly createCq: (
    context: Pointer.Pointer<"ibv_context">,
    attributes: QueueAttributes
  ) => Effect.Effect<MadeQueue, VerbsError>
  /** Released by `destroyCq`: it is an `ibv_cq` at the same address. */
  readonly createCqEx: (
    context: Pointer.Pointer<"ibv_context">,
    attributes: ExtendedQueueAttributes
  ) => Effect.Effect<MadeQueue, VerbsError>
  /**
   * When the device is gone (`EIO`) the library keeps the queue, and with it its reference to the channel, for ever; the
   * reference is taken back, so that the channel can still be destroyed.
   */
  readonly destroyCq: (cq: Pointer.Pointer<"ibv_cq">) => Effect.Effect<void, VerbsError>
  /** Gives the room that the queue has then. */
  readonly resizeCq: (cq: Pointer.Pointer<"ibv_cq">, cqe: number) => Effect.Effect<number, VerbsError>
  readonly modifyCq: (
    cq: Pointer.Pointer<"ibv_cq">,
    moderation: CompletionQueueAttributes.Moderation
  ) => Effect.Effect<void, VerbsError>
  readonly reqNotifyCq: (cq: Pointer.Pointer<"ibv_cq">, solicitedOnly: boolean) => Effect.Effect<void, VerbsError>

  /**
   * Gets an event and acks it by `ibv_ack_cq_events` in the same turn: between the two no destroy may start, since it
   * would wait for the ack and stop the process. `EAGAIN` when there is none.
   */
  readonly getCqEvent: (channel: Pointer.Pointer<"ibv_comp_channel">) => Effect.Effect<{
    readonly cq: Pointer.Pointer<"ibv_cq">
    readonly cqContext: number
  }, VerbsError>
  /** Waits until the channel has an event, or its device is gone. */
  readonly awaitCqEvent: (channel: Pointer.Pointer<"ibv_comp_channel">) => Effect.Effect<void, VerbsError>

  /**
   * `ibv_start_poll` and `ibv_end_poll` around the reading of each completion, until `each` returns `false` or there is
   * none, in one turn: the provider may hold a lock between the two. Only for queues of `createCqEx`. Gives how many
   * completions `each` got.
   */
  readonly startPoll: (
    cq: Pointer.Pointer<"ibv_cq">,
    wcFlags: ReadonlyArray<CompletionQueueAttributes.WcFlag>,
    each: (completion: ExtendedCompletion.ExtendedCompletion) => boolean
  ) => Effect.Effect<number, VerbsError>
}
