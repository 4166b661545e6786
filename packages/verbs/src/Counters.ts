/**
 * Counters of the packets and bytes of flows: `ibv_create_counters(3)`, `ibv_attach_counters_point_flow(3)` and
 * `ibv_read_counters(3)`.
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
import type * as Flow from "./Flow.ts"
import type { VerbsError } from "./VerbsError.ts"

/**
 * A set of counters. What stands at which index is said by {@link attachPointFlow}, before a flow names the set in an
 * `ActionCount`.
 *
 * @category models
 * @since 0.1.0
 */
export interface Counters extends Resource.Resource<"Counters", Pointer.Pointer<"ibv_counters">> {
  readonly context: DeviceContext.DeviceContext
}

/**
 * @category guards
 * @since 0.1.0
 */
export const isCounters = (input: unknown): input is Counters =>
  typeof input === "object" && input !== null && Resource.TypeId in input && "kind" in input &&
  input.kind === "Counters"

/**
 * What to count at which index: `struct ibv_counter_attach_attr`.
 *
 * @category schemas
 * @since 0.1.0
 */
export const AttachAttributes = Schema.Struct({
  counterDesc: Schema.Literals(["packets", "bytes"]),
  index: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 0xffff_ffff }))
})

/**
 * @category models
 * @since 0.1.0
 */
export type AttachAttributes = typeof AttachAttributes.Type

/**
 * Creates a set of counters, all at zero. Owned by the scope and released after the flows that name it. Blocks for a system
 * call. Fails with `EOPNOTSUPP` where the provider has none, as Soft-RoCE, with `ENOMEM` when the device has no more.
 *
 * ```ts
 * import { Counters } from "@effect-rdma/verbs"
 * import type { DeviceContext } from "@effect-rdma/verbs"
 * import { Effect } from "effect"
 *
 * const packetsAndBytes = (context: DeviceContext.DeviceContext) =>
 *   Effect.gen(function*() {
 *     const counters = yield* Counters.make(context)
 *     yield* Counters.attachPointFlow(counters, { counterDesc: "packets", index: 0 })
 *     yield* Counters.attachPointFlow(counters, { counterDesc: "bytes", index: 1 })
 *     return counters
 *   })
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = (context: DeviceContext.DeviceContext): Effect.Effect<Counters, VerbsError, Scope.Scope> =>
  Resource.make({
    kind: "Counters",
    pair: ["ibv_create_counters", "ibv_destroy_counters"],
    site: CreationSite.capture(make),
    parents: [context],
    goneWithDevice: true,
    acquire: Resource.use(context, context.verbs.createCounters),
    release: context.verbs.destroyCounters,
    fields: () => ({ context })
  })

/**
 * Says what to count at an index, `ibv_attach_counters_point_flow(3)`: without a flow, for the flows that will name the
 * set. Blocks at most for a system call. Fails with `EBUSY` once a flow names the set, with `EOPNOTSUPP` (`ENOTSUP` in C)
 * for a flow that is there already where the provider can count only from the start, as mlx5, with `EINVAL` for a flow of
 * another device, with `ENOMEM`.
 *
 * @category operations
 * @since 0.1.0
 */
export const attachPointFlow = (
  self: Counters,
  attributes: AttachAttributes,
  flow?: Flow.Flow
): Effect.Effect<void, VerbsError | Schema.SchemaError> =>
  Effect.flatMap(Schema.decodeEffect(AttachAttributes)(attributes), (attributes) =>
    Effect.andThen(
      flow === undefined
        ? Effect.void
        : DeviceContext.ensureSame("ibv_attach_counters_point_flow", self, flow),
      Resource.use(self, (counters) =>
        flow === undefined
          ? self.context.verbs.attachCountersPointFlow(counters, attributes, undefined)
          : Resource.use(flow, (flow) => self.context.verbs.attachCountersPointFlow(counters, attributes, flow)))
    ))

const Count = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 0xffff }))

/**
 * The first `ncounters` values, `ibv_read_counters(3)`; with `preferCached` those that the driver read last, if it has any.
 * Blocks for a system call. Fails with `EINVAL` before a flow names the set, and when it has more indexes than that.
 *
 * @category queries
 * @since 0.1.0
 */
export const read = (
  self: Counters,
  ncounters: number,
  options: { readonly preferCached?: boolean } = {}
): Effect.Effect<ReadonlyArray<bigint>, VerbsError | Schema.SchemaError> =>
  Effect.flatMap(
    Schema.decodeEffect(Count)(ncounters),
    (ncounters) =>
      Resource.use(self, (counters) =>
        self.context.verbs.readCounters(counters, ncounters, { preferCached: options.preferCached ?? false }))
  )
