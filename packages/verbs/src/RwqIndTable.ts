/**
 * A receive work queue indirection table (RWQ IND TBL): `ibv_create_rwq_ind_table(3)` and `ibv_destroy_rwq_ind_table`.
 *
 * @since 0.1.0
 */
import * as CreationSite from "@effect-rdma/core/CreationSite"
import type * as Pointer from "@effect-rdma/core/Pointer"
import * as Resource from "@effect-rdma/core/Resource"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import * as DeviceContext from "./DeviceContext.ts"
import type { VerbsError } from "./VerbsError.ts"
import * as WorkQueue from "./WorkQueue.ts"

/**
 * A table of work queues: a queue pair that is made with it spreads packets over them by a hash.
 *
 * @category models
 * @since 0.1.0
 */
export interface RwqIndTable extends Resource.Resource<"RwqIndTable", Pointer.Pointer<"ibv_rwq_ind_table">> {
  readonly context: DeviceContext.DeviceContext
  readonly workQueues: ReadonlyArray<WorkQueue.WorkQueue>
}

/**
 * Creates a table of work queues, owned by the scope. It is released before each of them, and after the queue pairs that
 * were made with it. Their number is a power of two, and one may be there more than once. Blocks for a system call.
 *
 * Any other number is a `SchemaError` before the call. Fails with `EOPNOTSUPP` where the provider has none, as Soft-RoCE;
 * with `EINVAL` when the table is larger than the device's, or a work queue is of another device; with `ENOMEM`.
 *
 * ```ts
 * import { RwqIndTable } from "@effect-rdma/verbs"
 * import type { WorkQueue } from "@effect-rdma/verbs"
 *
 * const spread = (one: WorkQueue.WorkQueue, other: WorkQueue.WorkQueue) =>
 *   RwqIndTable.make([one, other, one, one])
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = (
  workQueues: readonly [WorkQueue.WorkQueue, ...Array<WorkQueue.WorkQueue>]
): Effect.Effect<RwqIndTable, VerbsError | Schema.SchemaError, Scope.Scope> => {
  const site = CreationSite.capture(make)
  return Effect.flatMap(Schema.decodeEffect(Queues)(workQueues), (workQueues) => {
    const [first] = workQueues
    const { context } = first
    return Resource.make({
      kind: "RwqIndTable",
      pair: ["ibv_create_rwq_ind_table", "ibv_destroy_rwq_ind_table"],
      site,
      parents: [...new Set(workQueues)],
      goneWithDevice: true,
      acquire: Effect.andThen(
        Effect.forEach(workQueues, (queue) => DeviceContext.ensureSame("ibv_create_rwq_ind_table", first, queue), {
          discard: true
        }),
        Effect.suspend(() =>
          context.verbs.createRwqIndTable(Resource.raw(context), workQueues.map((queue) => Resource.raw(queue)))
        )
      ),
      release: context.verbs.destroyRwqIndTable,
      fields: () => ({ context, workQueues })
    })
  })
}

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

const Queue = Schema.declare(WorkQueue.isWorkQueue, { expected: "a WorkQueue" })

const Queues = Schema.NonEmptyArray(Queue).check(
  Schema.makeFilter((queues) =>
    (queues.length & (queues.length - 1)) === 0 || `a table has a power of two of work queues, not ${queues.length}`
  )
)
