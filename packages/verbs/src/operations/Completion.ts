/**
 * The part of the seam of libibverbs for completion channels and completion queues.
 *
 * @since 0.1.0
 */
import type * as Pointer from "@effect-rdma/core/Pointer"
import type * as Effect from "effect/Effect"
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
 * What a completion queue is made from. `cqContext` comes back with each event of the queue: a pointer in
 * C, a number here, since the library never follows it.
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
 * Where completions arrive.
 *
 * @category services
 * @since 0.1.0
 */
export interface Operations {
  /** The descriptor of the channel is set to `O_NONBLOCK`. */
  readonly createCompChannel: (
    context: Pointer.Pointer<"ibv_context">
  ) => Effect.Effect<Pointer.Pointer<"ibv_comp_channel">, VerbsError>
  readonly destroyCompChannel: (channel: Pointer.Pointer<"ibv_comp_channel">) => Effect.Effect<void, VerbsError>
  readonly createCq: (
    context: Pointer.Pointer<"ibv_context">,
    attributes: QueueAttributes
  ) => Effect.Effect<MadeQueue, VerbsError>
  readonly destroyCq: (cq: Pointer.Pointer<"ibv_cq">) => Effect.Effect<void, VerbsError>
}
