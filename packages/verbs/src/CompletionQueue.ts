/**
 * A completion queue: `ibv_create_cq(3)`, `ibv_create_cq_ex(3)` and `ibv_destroy_cq`.
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
import * as Completions from "./internal/completions.ts"
import { refused } from "./internal/refused.ts"
import type * as Completion from "./operations/Completion.ts"
import type * as ParentDomain from "./ParentDomain.ts"
import type * as ResourceDomain from "./ResourceDomain.ts"
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
  /** @internal */
  readonly completions: Completions.Completions
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
 * A completion queue that reports more of each completion, as its `wcFlags` say. It stands wherever a completion queue
 * does; its completions are read by {@link pollExtended}.
 *
 * @category models
 * @since 0.1.0
 */
export interface ExtendedCompletionQueue extends CompletionQueue {
  readonly wcFlags: ReadonlyArray<CompletionQueueAttributes.WcFlag>
  readonly domain: ParentDomain.ParentDomain | ResourceDomain.ResourceDomain | undefined
}

/**
 * What an extended completion queue is made from.
 *
 * @category models
 * @since 0.1.0
 */
export interface ExtendedOptions extends CompletionQueueAttributes.ExtendedInput {
  /** Where its events arrive, of the same device. Without one it has none. */
  readonly channel?: CompletionChannel.CompletionChannel
  /** Whose hardware resources it takes, of the same device. */
  readonly domain?: ParentDomain.ParentDomain | ResourceDomain.ResourceDomain
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

/**
 * Creates an extended completion queue, owned by the scope, and released before its channel and its domain. Whatever
 * completes into it is released before it. Blocks for a system call.
 *
 * A resource domain gives its parent domain, and the model `single` turns the queue's lock off; one that is `Shared` gives
 * nothing. Fails as {@link make}, and with `EOPNOTSUPP` when the provider cannot report one of `wcFlags`, does not know a
 * flag, or has no such queues. One of an `Experimental` resource domain of MLNX_OFED fails so before any call: such a
 * queue would need `ibv_exp_create_cq`.
 *
 * ```ts
 * import { CompletionQueue } from "@effect-rdma/verbs"
 * import type { DeviceContext } from "@effect-rdma/verbs"
 *
 * const timestamped = (context: DeviceContext.DeviceContext) =>
 *   CompletionQueue.makeExtended(context, { cqe: 64, wcFlags: ["byteLen", "completionTimestamp"] })
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const makeExtended = (
  context: DeviceContext.DeviceContext,
  { channel, domain, ...attributes }: ExtendedOptions
): Effect.Effect<ExtendedCompletionQueue, VerbsError | Schema.SchemaError, Scope.Scope> => {
  const site = CreationSite.capture(makeExtended)
  const pair = ["ibv_create_cq_ex", "ibv_destroy_cq"] as const
  return Effect.flatMap(decodeExtended(attributes), (attributes) =>
    acquire(context, channel, {
      pair,
      site,
      parents: domain === undefined ? [] : [domain],
      create: (given) =>
        Effect.flatMap(partsOf(pair[0], context, domain), (parts) =>
          context.verbs.createCqEx(Resource.raw(context), {
            ...attributes,
            ...given,
            parentDomain: parts.parentDomain,
            singleThreaded: attributes.singleThreaded || parts.isSingle
          })),
      fields: { wcFlags: attributes.wcFlags, domain }
    }))
}

/**
 * Changes the room of a queue, and gives what it has then, at least what was asked for: `ibv_resize_cq(3)`. Blocks for a
 * system call. Fails as a `SchemaError` before any call, with `EINVAL` when the device cannot hold so many or more are in
 * the queue, `EOPNOTSUPP` where the provider cannot.
 *
 * @category operations
 * @since 0.1.0
 */
export const resize = (
  self: CompletionQueue,
  cqe: number
): Effect.Effect<number, VerbsError | Schema.SchemaError> =>
  Effect.flatMap(
    Schema.decodeEffect(CompletionQueueAttributes.Cqe)(cqe),
    (cqe) => Resource.use(self, (pointer) => self.context.verbs.resizeCq(pointer, cqe))
  )

/**
 * Moderates the events of a queue: `ibv_modify_cq(3)`. Blocks for a system call. Fails as a `SchemaError` before any call,
 * with `EINVAL` for a period that the device cannot count, `EOPNOTSUPP` where the provider cannot, as Soft-RoCE.
 *
 * @category operations
 * @since 0.1.0
 */
export const modify = (
  self: CompletionQueue,
  moderation: CompletionQueueAttributes.Moderation
): Effect.Effect<void, VerbsError | Schema.SchemaError> =>
  Effect.flatMap(
    Schema.decodeEffect(CompletionQueueAttributes.Moderation)(moderation),
    (moderation) => Resource.use(self, (pointer) => self.context.verbs.modifyCq(pointer, moderation))
  )

/**
 * Asks for one event on the channel at the next completion, or at the next solicited one, as which one that failed
 * counts too, but not on Soft-RoCE: `ibv_req_notify_cq(3)`. Completions that are in the queue already give none, so poll once more after it. Does not
 * block. Fails with `EIO` where the kernel is asked and the device is gone.
 *
 * @category operations
 * @since 0.1.0
 */
export const requestNotification = (
  self: CompletionQueue,
  options: { readonly solicitedOnly?: boolean } = {}
): Effect.Effect<void, VerbsError> =>
  Resource.use(self, (pointer) => self.context.verbs.reqNotifyCq(pointer, options.solicitedOnly ?? false))

export { next, poll, pollExtended, stream } from "./internal/completionPolling.ts"

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

const decodeExtended = Schema.decodeEffect(CompletionQueueAttributes.ExtendedAttributes)

interface Parts {
  readonly parentDomain: Pointer.Pointer<"ibv_pd"> | undefined
  readonly isSingle: boolean
}

const nothing: Parts = { parentDomain: undefined, isSingle: false }

/** What a queue takes from a domain. */
const partsOf = (
  call: string,
  context: DeviceContext.DeviceContext,
  domain: ParentDomain.ParentDomain | ResourceDomain.ResourceDomain | undefined
): Effect.Effect<Parts, VerbsError> => {
  if (domain === undefined) return Effect.succeed(nothing)
  return Effect.andThen(
    DeviceContext.ensureOn(call, context, domain),
    Effect.suspend((): Effect.Effect<Parts, VerbsError> => {
      if (domain.kind === "ParentDomain") {
        return Effect.succeed({ parentDomain: Resource.raw(domain), isSingle: false })
      }
      switch (domain.origin._tag) {
        case "ThreadDomain":
          return Effect.succeed({
            parentDomain: Resource.raw(domain.origin.parentDomain),
            isSingle: domain.attributes.threadModel === "single"
          })
        case "Shared":
          return Effect.succeed(nothing)
        case "Experimental":
          return Effect.fail(
            refused(
              call,
              "EOPNOTSUPP",
              "A queue in an experimental resource domain is not supported: leave the domain out",
              { domain: Resource.nameOf(domain) }
            )
          )
      }
    })
  )
}

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
    const completions = Completions.make()
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
        const queue = channel?.events.queues.get(cqContext)
        if (queue !== undefined) channel?.events.pending.delete(queue)
        channel?.events.queues.delete(cqContext)
        Completions.close(completions)
        return context.verbs.destroyCq(cq)
      },
      fields: () => ({ ...fields, context, channel, cqe, completions })
    })
    if (channel === undefined) return made
    return Effect.uninterruptible(Effect.tap(made, (queue) =>
      Effect.sync(() => {
        if (Resource.isLive(queue)) channel.events.queues.set(cqContext, queue)
      })))
  })
