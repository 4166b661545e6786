/**
 * The channel that tells of completions: `ibv_create_comp_channel(3)` and `ibv_destroy_comp_channel`.
 *
 * @since 0.1.0
 */
import * as CreationSite from "@effect-rdma/core/CreationSite"
import type * as Pointer from "@effect-rdma/core/Pointer"
import * as Resource from "@effect-rdma/core/Resource"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type * as CompletionQueue from "./CompletionQueue.ts"
import type * as DeviceContext from "./DeviceContext.ts"
import type { VerbsError } from "./VerbsError.ts"

/**
 * A completion channel. Every completion queue on it is released before it.
 *
 * @category models
 * @since 0.1.0
 */
export interface CompletionChannel extends Resource.Resource<"CompletionChannel", Pointer.Pointer<"ibv_comp_channel">> {
  readonly context: DeviceContext.DeviceContext
  /** @internal The queues on it by their `cq_context`, which is a number of ours. */
  readonly queues: Map<number, CompletionQueue.CompletionQueue>
}

/**
 * Creates a completion channel, owned by the scope. Blocks for a system call. Fails with `EMFILE` when the process has no
 * descriptor left, `EIO` when the device is gone.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = (
  context: DeviceContext.DeviceContext
): Effect.Effect<CompletionChannel, VerbsError, Scope.Scope> =>
  Resource.make({
    kind: "CompletionChannel",
    pair: ["ibv_create_comp_channel", "ibv_destroy_comp_channel"],
    site: CreationSite.capture(make),
    parents: [context],
    goneWithDevice: true,
    acquire: Effect.suspend(() => context.verbs.createCompChannel(Resource.raw(context))),
    release: context.verbs.destroyCompChannel,
    fields: () => ({ context, queues: new Map<number, CompletionQueue.CompletionQueue>() })
  })
