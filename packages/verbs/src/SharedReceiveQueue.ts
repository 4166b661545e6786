/**
 * A shared receive queue: `ibv_create_srq(3)`, `ibv_create_srq_ex(3)` and `ibv_destroy_srq`.
 *
 * @since 0.1.0
 */
import * as CreationSite from "@effect-rdma/core/CreationSite"
import type * as Pointer from "@effect-rdma/core/Pointer"
import * as Resource from "@effect-rdma/core/Resource"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import type * as CompletionQueue from "./CompletionQueue.ts"
import * as DeviceContext from "./DeviceContext.ts"
import * as Posting from "./internal/posting.ts"
import * as RequestQueue from "./internal/requestQueue.ts"
import type * as Queue from "./operations/Queue.ts"
import type * as ProtectionDomain from "./ProtectionDomain.ts"
import * as SharedReceiveQueueAttributes from "./SharedReceiveQueueAttributes.ts"
import type { VerbsError } from "./VerbsError.ts"
import type * as WorkRequest from "./WorkRequest.ts"
import type * as XrcDomain from "./XrcDomain.ts"

/**
 * Receives for many queue pairs. `maxWr` and `maxSge` are the room that it was made with, at least what was asked for.
 *
 * @category models
 * @since 0.1.0
 */
export interface SharedReceiveQueue extends Resource.Resource<"SharedReceiveQueue", Pointer.Pointer<"ibv_srq">> {
  readonly context: DeviceContext.DeviceContext
  readonly domain: ProtectionDomain.AnyDomain
  readonly srqType: "basic" | "xrc" | "tm"
  readonly maxWr: number
  readonly maxSge: number
  /** @internal */
  readonly receives: RequestQueue.RequestQueue
}

/**
 * The queues of `ibv_create_srq_ex`: a basic one, one of an XRC domain that peers name by number, and one that matches
 * tags in hardware.
 *
 * @category models
 * @since 0.1.0
 */
export type ExtendedOptions =
  & SharedReceiveQueueAttributes.Input
  & (
    | { readonly srqType: "basic" }
    | {
      readonly srqType: "xrc"
      readonly xrcDomain: XrcDomain.XrcDomain
      readonly completionQueue: CompletionQueue.CompletionQueue
    }
    | {
      readonly srqType: "tm"
      readonly completionQueue: CompletionQueue.CompletionQueue
      readonly tmCap: typeof SharedReceiveQueueAttributes.TagMatching.Encoded
    }
  )

/**
 * Creates a shared receive queue, owned by the scope. It is released before its domain and after the queue pairs on it.
 * Blocks for a system call. `EINVAL` when the device cannot hold as much (`maxSrqWr`, `maxSrqSge`) or nothing was asked for,
 * `ENOMEM` when it has no more.
 *
 * ```ts
 * import { SharedReceiveQueue } from "@effect-rdma/verbs"
 * import type { ProtectionDomain } from "@effect-rdma/verbs"
 *
 * const receives = (domain: ProtectionDomain.ProtectionDomain) => SharedReceiveQueue.make(domain, { maxWr: 128 })
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = (
  domain: ProtectionDomain.AnyDomain,
  attributes: SharedReceiveQueueAttributes.Input
): Effect.Effect<SharedReceiveQueue, VerbsError | Schema.SchemaError, Scope.Scope> => {
  const site = CreationSite.capture(make)
  return Effect.flatMap(decodeAttributes(attributes), (attributes) =>
    acquire(domain, {
      pair: ["ibv_create_srq", "ibv_destroy_srq"],
      site,
      others: [],
      srqType: "basic",
      create: () => domain.context.verbs.createSrq(Resource.raw(domain), attributes)
    }))
}

/**
 * Creates a shared receive queue of any type, owned by the scope, and released before its domains and its completion
 * queue. Fails as {@link make}, with `EOPNOTSUPP` where the provider has no such type, and with `EINVAL` before the call when
 * the handles are of different devices.
 *
 * @category constructors
 * @since 0.1.0
 */
export const makeExtended = (
  domain: ProtectionDomain.AnyDomain,
  options: ExtendedOptions
): Effect.Effect<SharedReceiveQueue, VerbsError | Schema.SchemaError, Scope.Scope> => {
  const site = CreationSite.capture(makeExtended)
  const { srqType } = options
  const xrcDomain = srqType === "xrc" ? options.xrcDomain : undefined
  const queue = srqType === "basic" ? undefined : options.completionQueue
  return Effect.flatMap(
    Effect.all([
      decodeAttributes({ maxWr: options.maxWr, ...(options.maxSge === undefined ? {} : { maxSge: options.maxSge }) }),
      srqType === "tm" ? decodeTagMatching(options.tmCap) : Effect.undefined
    ]),
    ([attributes, tmCap]) =>
      acquire(domain, {
        pair: ["ibv_create_srq_ex", "ibv_destroy_srq"],
        site,
        others: [xrcDomain, queue].filter((handle) => handle !== undefined),
        srqType,
        create: () =>
          domain.context.verbs.createSrqEx(Resource.raw(domain.context), {
            ...attributes,
            srqType,
            pd: Resource.raw(domain),
            xrcd: xrcDomain && Resource.raw(xrcDomain),
            cq: queue && Resource.raw(queue),
            tmCap
          })
      })
  )
}

/**
 * Changes the room of the queue or the limit at which it tells that receives run out: `ibv_modify_srq(3)`. Blocks for a
 * system call. `EINVAL` for a limit above the room, `EOPNOTSUPP` or `EINVAL` where the device cannot resize.
 *
 * @category combinators
 * @since 0.1.0
 */
export const modify = (
  self: SharedReceiveQueue,
  attributes: typeof SharedReceiveQueueAttributes.Modification.Encoded
): Effect.Effect<void, VerbsError | Schema.SchemaError> =>
  Effect.flatMap(
    decodeModification(attributes),
    (attributes) =>
      Effect.uninterruptible(Effect.map(
        Resource.use(self, (pointer) => self.context.verbs.modifySrq(pointer, attributes)),
        () => {
          if (attributes.maxWr !== undefined) RequestQueue.resize(self.receives, attributes.maxWr)
        }
      ))
  )

/**
 * Posts receives, for whichever queue pair a message comes in on: `ibv_post_srq_recv(3)`. It posts one after the other
 * and does not wait. The memory must stay registered until the completion; when its region goes before, the device
 * refuses the message, and touches nothing.
 *
 * Fails with `ENOMEM` when there is no room for all, with `EINVAL` for too many pieces, bytes that are not in their region,
 * and regions of another device: then none was posted. When the provider refuses one, `posted` in the input of the error
 * tells how many were posted before it.
 *
 * ```ts
 * import { SharedReceiveQueue } from "@effect-rdma/verbs"
 * import type { MemoryRegion } from "@effect-rdma/verbs"
 *
 * const twoReceives = (queue: SharedReceiveQueue.SharedReceiveQueue, region: MemoryRegion.MemoryRegion) =>
 *   SharedReceiveQueue.postRecv(queue, [
 *     { wrId: 1n, sgList: [{ region, offset: 0, length: 1024 }] },
 *     { wrId: 2n, sgList: [{ region, offset: 1024, length: 1024 }] }
 *   ])
 * ```
 *
 * @category combinators
 * @since 0.1.0
 */
export const postRecv = (
  self: SharedReceiveQueue,
  requests: ReadonlyArray<WorkRequest.ReceiveRequest>
): Effect.Effect<void, VerbsError> => Posting.post(self, (dataPath) => Posting.receiveShared(self, dataPath, requests))

/**
 * The room and the limit of the queue now: `ibv_query_srq(3)`. A limit that was reached is 0 again.
 *
 * @category queries
 * @since 0.1.0
 */
export const query = (self: SharedReceiveQueue): Effect.Effect<SharedReceiveQueueAttributes.Reported, VerbsError> =>
  Resource.use(self, self.context.verbs.querySrq)

/**
 * The number by which peers send to the queue: `ibv_get_srq_num(3)`. Fails with `EOPNOTSUPP` unless it is of an XRC
 * domain or matches tags.
 *
 * @category queries
 * @since 0.1.0
 */
export const number = (self: SharedReceiveQueue): Effect.Effect<number, VerbsError> =>
  Resource.use(self, self.context.verbs.getSrqNum)

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

const decodeAttributes = Schema.decodeEffect(SharedReceiveQueueAttributes.SharedReceiveQueueAttributes)
const decodeModification = Schema.decodeEffect(SharedReceiveQueueAttributes.Modification)
const decodeTagMatching = Schema.decodeEffect(SharedReceiveQueueAttributes.TagMatching)

const acquire = (
  domain: ProtectionDomain.AnyDomain,
  { create, others, pair, site, srqType }: {
    readonly pair: readonly [acquire: string, release: string]
    readonly site: CreationSite.CreationSite | undefined
    readonly others: ReadonlyArray<XrcDomain.XrcDomain | CompletionQueue.CompletionQueue>
    readonly srqType: SharedReceiveQueue["srqType"]
    readonly create: () => Effect.Effect<Queue.MadeSharedReceiveQueue, VerbsError>
  }
): Effect.Effect<SharedReceiveQueue, VerbsError, Scope.Scope> =>
  Effect.suspend(() => {
    const { context } = domain
    let room = { maxWr: 0, maxSge: 0 }
    let receives: RequestQueue.RequestQueue | undefined
    return Resource.make({
      kind: "SharedReceiveQueue",
      pair,
      site,
      parents: [domain, ...others],
      goneWithDevice: true,
      acquire: Effect.andThen(
        Effect.forEach(others, (other) => DeviceContext.ensureSame(pair[0], domain, other), { discard: true }),
        Effect.suspend(() =>
          Effect.map(create(), ({ srq, ...made }) => {
            room = made
            return srq
          })
        )
      ),
      release: (srq: Pointer.Pointer<"ibv_srq">) =>
        Effect.onExit(context.verbs.destroySrq(srq), () =>
          Effect.sync(() => {
            if (receives !== undefined) RequestQueue.close(receives)
          })),
      fields: () => ({ context, domain, srqType, ...room, receives: receives = RequestQueue.make(room.maxWr, false) })
    })
  })
