/**
 * A completion queue: `ibv_create_cq(3)` and `ibv_destroy_cq`.
 *
 * @since 0.1.0
 */
import * as CreationSite from "@effect-rdma/core/CreationSite"
import type * as Ledger from "@effect-rdma/core/Ledger"
import type * as Pointer from "@effect-rdma/core/Pointer"
import * as Resource from "@effect-rdma/core/Resource"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import type * as CompletionChannel from "./CompletionChannel.ts"
import * as CompletionQueueAttributes from "./CompletionQueueAttributes.ts"
import * as DeviceContext from "./DeviceContext.ts"
import type * as Completion from "./operations/Completion.ts"
import type { VerbsError } from "./VerbsError.ts"

/**
 * A completion queue: the work requests of queue pairs end here. `cqe` is the room that it was made with, at least what
 * was asked for.
 *
 * @category models
 * @since 0.1.0
 */
export interface CompletionQueue extends Resource.Resource<"CompletionQueue", Pointer.Pointer<"ibv_cq">> {
  readonly context: DeviceContext.DeviceContext
  readonly channel: CompletionChannel.CompletionChannel | undefined
  readonly cqe: number
}

/**
 * What a completion queue is made from.
 *
 * @category models
 * @since 0.1.0
 */
export interface Options extends CompletionQueueAttributes.Input {
  /** Where its events arrive, of the same device. Without one it has none. */
  readonly channel?: CompletionChannel.CompletionChannel
}

/**
 * Creates a completion queue, owned by the scope, and released before its channel. Whatever completes into it is released
 * before it. Blocks for a system call.
 *
 * Bad attributes fail as a `SchemaError` before any call. `EINVAL` when the device cannot hold `cqe` completions
 * (`maxCqe`), has no such `compVector`, or the channel is of another device; `ENOMEM` when the device has no more.
 *
 * ```ts
 * import { CompletionChannel, CompletionQueue } from "@effect-rdma/verbs"
 * import type { DeviceContext } from "@effect-rdma/verbs"
 * import { Effect } from "effect"
 *
 * const queueWithEvents = (context: DeviceContext.DeviceContext) =>
 *   Effect.flatMap(
 *     CompletionChannel.make(context),
 *     (channel) => CompletionQueue.make(context, { cqe: 64, channel })
 *   )
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = (
  context: DeviceContext.DeviceContext,
  { channel, ...attributes }: Options
): Effect.Effect<CompletionQueue, VerbsError | Schema.SchemaError, Scope.Scope> => {
  const site = CreationSite.capture(make)
  return Effect.flatMap(decodeAttributes(attributes), (attributes) =>
    acquire(context, channel, {
      pair: ["ibv_create_cq", "ibv_destroy_cq"],
      site,
      parents: [],
      create: (given) => context.verbs.createCq(Resource.raw(context), { ...attributes, ...given }),
      fields: {}
    }))
}

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

const decodeAttributes = Schema.decodeEffect(CompletionQueueAttributes.CompletionQueueAttributes)

interface Acquisition<Fields extends object> {
  readonly pair: Ledger.Pair
  readonly site: CreationSite.CreationSite | undefined
  readonly parents: ReadonlyArray<Resource.Any>
  readonly create: (
    given: Pick<Completion.QueueAttributes, "channel" | "cqContext">
  ) => Effect.Effect<Completion.MadeQueue, VerbsError>
  readonly fields: Fields
}

// Told to the library as the `cq_context`; no number stands for two queues of a process.
let lastContext = 0

const acquire = <Fields extends object>(
  context: DeviceContext.DeviceContext,
  channel: CompletionChannel.CompletionChannel | undefined,
  { create, fields, pair, parents, site }: Acquisition<Fields>
): Effect.Effect<CompletionQueue & Fields, VerbsError, Scope.Scope> =>
  Effect.suspend(() => {
    const cqContext = channel === undefined ? 0 : ++lastContext
    let cqe = 0
    const made = Resource.make({
      kind: "CompletionQueue",
      pair,
      site,
      parents: channel === undefined ? [context, ...parents] : [context, channel, ...parents],
      goneWithDevice: true,
      acquire: Effect.andThen(
        channel === undefined ? Effect.void : DeviceContext.ensureOn(pair[0], context, channel),
        Effect.suspend(() =>
          Effect.map(
            create({ cqContext, channel: channel === undefined ? undefined : Resource.raw(channel) }),
            (made) => {
              cqe = made.cqe
              return made.cq
            }
          )
        )
      ),
      release: (cq: Pointer.Pointer<"ibv_cq">) => {
        channel?.queues.delete(cqContext)
        return context.verbs.destroyCq(cq)
      },
      fields: () => ({ ...fields, context, channel, cqe })
    })
    if (channel === undefined) return made
    return Effect.uninterruptible(Effect.tap(made, (queue) =>
      Effect.sync(() => {
        if (Resource.isLive(queue)) channel.queues.set(cqContext, queue)
      })))
  })
