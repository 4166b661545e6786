/**
 * A receive work queue: `ibv_create_wq(3)`, `ibv_modify_wq(3)` and `ibv_destroy_wq`.
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
import type * as ProtectionDomain from "./ProtectionDomain.ts"
import type { VerbsError } from "./VerbsError.ts"
import * as WorkQueueAttributes from "./WorkQueueAttributes.ts"

/**
 * A queue of receive requests without a queue pair; an indirection table spreads packets over several. `maxWr` and `maxSge`
 * are the room that it was made with, at least what was asked for.
 *
 * @category models
 * @since 0.1.0
 */
export interface WorkQueue extends Resource.Resource<"WorkQueue", Pointer.Pointer<"ibv_wq">> {
  readonly context: DeviceContext.DeviceContext
  readonly domain: ProtectionDomain.AnyDomain
  readonly completionQueue: CompletionQueue.CompletionQueue
  readonly wqNum: number
  readonly maxWr: number
  readonly maxSge: number
}

/**
 * @category guards
 * @since 0.1.0
 */
export const isWorkQueue = (input: unknown): input is WorkQueue =>
  typeof input === "object" && input !== null && Resource.TypeId in input && "kind" in input &&
  input.kind === "WorkQueue"

/**
 * Creates a work queue in the state `"reset"`, owned by the scope. It is released before its domain and its completion
 * queue, and after the tables that hold it. Blocks for a system call. Bad attributes fail as a `SchemaError` before any
 * call. Fails with `EOPNOTSUPP` where the provider has none, as Soft-RoCE, or lacks a flag; with `EINVAL` when the device
 * cannot hold as much, or the completion queue is of another device; with `ENOMEM`.
 *
 * ```ts
 * import { WorkQueue } from "@effect-rdma/verbs"
 * import type { CompletionQueue, ProtectionDomain } from "@effect-rdma/verbs"
 *
 * const receives = (domain: ProtectionDomain.ProtectionDomain, queue: CompletionQueue.CompletionQueue) =>
 *   WorkQueue.make(domain, queue, { maxWr: 128, createFlags: ["cvlanStripping"] })
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = (
  domain: ProtectionDomain.AnyDomain,
  completionQueue: CompletionQueue.CompletionQueue,
  attributes: WorkQueueAttributes.Input
): Effect.Effect<WorkQueue, VerbsError | Schema.SchemaError, Scope.Scope> => {
  const site = CreationSite.capture(make)
  const { context } = domain
  return Effect.flatMap(
    Schema.decodeEffect(WorkQueueAttributes.WorkQueueAttributes)(attributes),
    (attributes) =>
      Effect.suspend(() => {
        let made = { wqNum: 0, maxWr: 0, maxSge: 0 }
        return Resource.make({
          kind: "WorkQueue",
          pair: ["ibv_create_wq", "ibv_destroy_wq"],
          site,
          parents: [domain, completionQueue],
          goneWithDevice: true,
          acquire: Effect.andThen(
            DeviceContext.ensureSame("ibv_create_wq", domain, completionQueue),
            Effect.suspend(() =>
              Effect.map(
                context.verbs.createWq(Resource.raw(context), {
                  ...attributes,
                  pd: Resource.raw(domain),
                  cq: Resource.raw(completionQueue)
                }),
                ({ wq, ...rest }) => {
                  made = rest
                  return wq
                }
              )
            )
          ),
          release: context.verbs.destroyWq,
          fields: () => ({ context, domain, completionQueue, ...made })
        })
      })
  )
}

/**
 * Moves a work queue to another state or changes its flags. It receives in the state `"rdy"`. Blocks for a system call.
 * Fails with `EINVAL` when it is not in the state `currWqState` or cannot go to `wqState` from there, with `EOPNOTSUPP` for
 * a flag that cannot be changed.
 *
 * @category operations
 * @since 0.1.0
 */
export const modify = (
  self: WorkQueue,
  changes: WorkQueueAttributes.WorkQueueChanges
): Effect.Effect<void, VerbsError | Schema.SchemaError> =>
  Effect.flatMap(
    Schema.decodeEffect(WorkQueueAttributes.WorkQueueChanges)(changes),
    (changes) => Resource.use(self, (pointer) => self.context.verbs.modifyWq(pointer, changes))
  )
