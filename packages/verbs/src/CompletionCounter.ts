/**
 * A completion counter: `ibv_create_comp_cntr(3)` and `ibv_destroy_comp_cntr`, and `ibv_qp_attach_comp_cntr(3)`. It came after version 44 of rdma-core.
 *
 * @since 0.1.0
 */
import * as CreationSite from "@effect-rdma/core/CreationSite"
import type * as Pointer from "@effect-rdma/core/Pointer"
import * as Resource from "@effect-rdma/core/Resource"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import * as CompletionCounterAttributes from "./CompletionCounterAttributes.ts"
import * as DeviceContext from "./DeviceContext.ts"
import type * as QueuePair from "./QueuePair.ts"
import type { VerbsError } from "./VerbsError.ts"

/**
 * A counter that the device keeps of completions, and another of those that failed.
 *
 * @category models
 * @since 0.1.0
 */
export interface CompletionCounter extends Resource.Resource<"CompletionCounter", Pointer.Pointer<"ibv_comp_cntr">> {
  readonly context: DeviceContext.DeviceContext
  readonly attributes: CompletionCounterAttributes.CompletionCounterAttributes
}

/**
 * Creates a completion counter, owned by the scope. Blocks for a system call. Fails with `EOPNOTSUPP` where the library or
 * the provider has none, `ENOMEM` when the device has no more, and as a `SchemaError` before any call.
 *
 * ```ts
 * import { CompletionCounter } from "@effect-rdma/verbs"
 * import type { DeviceContext } from "@effect-rdma/verbs"
 * import { Effect } from "effect"
 *
 * const counterIfAny = (context: DeviceContext.DeviceContext) =>
 *   CompletionCounter.make(context, { type: "bytes" }).pipe(
 *     Effect.catchReason("VerbsError", "EOPNOTSUPP", () => Effect.succeed(undefined))
 *   )
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = (
  context: DeviceContext.DeviceContext,
  attributes: CompletionCounterAttributes.Input = {}
): Effect.Effect<CompletionCounter, VerbsError | Schema.SchemaError, Scope.Scope> => {
  const site = CreationSite.capture(make)
  return Effect.flatMap(decodeAttributes(attributes), (attributes) =>
    Resource.make({
      kind: "CompletionCounter",
      pair: ["ibv_create_comp_cntr", "ibv_destroy_comp_cntr"],
      site,
      parents: [context],
      goneWithDevice: true,
      acquire: Resource.use(context, (pointer) => context.verbs.createCompCntr(pointer, attributes)),
      release: context.verbs.destroyCompCntr,
      fields: () => ({ context, attributes })
    }))
}

/**
 * What counters of the device can do: `ibv_query_comp_cntr_caps(3)`. Fails with `EOPNOTSUPP` where there are none.
 *
 * @category queries
 * @since 0.1.0
 */
export const capabilities = (
  context: DeviceContext.DeviceContext
): Effect.Effect<CompletionCounterAttributes.Capabilities, VerbsError> =>
  Resource.use(context, context.verbs.queryCompCntrCaps)

/**
 * The completions that were counted: `ibv_read_comp_cntr(3)`.
 *
 * @category queries
 * @since 0.1.0
 */
export const read = (self: CompletionCounter): Effect.Effect<bigint, VerbsError> =>
  Resource.use(self, self.context.verbs.readCompCntr)

/**
 * The failed completions that were counted: `ibv_read_err_comp_cntr(3)`.
 *
 * @category queries
 * @since 0.1.0
 */
export const readErr = (self: CompletionCounter): Effect.Effect<bigint, VerbsError> =>
  Resource.use(self, self.context.verbs.readErrCompCntr)

/**
 * Sets the counter: `ibv_set_comp_cntr(3)`. Fails with `EINVAL` beyond what the device counts to.
 *
 * @category operations
 * @since 0.1.0
 */
export const set = (
  self: CompletionCounter,
  value: bigint
): Effect.Effect<void, VerbsError | Schema.SchemaError> =>
  Effect.flatMap(
    decodeAmount(value),
    (value) => Resource.use(self, (pointer) => self.context.verbs.setCompCntr(pointer, value))
  )

/**
 * Sets the counter of failures: `ibv_set_err_comp_cntr(3)`. Fails as {@link set}.
 *
 * @category operations
 * @since 0.1.0
 */
export const setErr = (
  self: CompletionCounter,
  value: bigint
): Effect.Effect<void, VerbsError | Schema.SchemaError> =>
  Effect.flatMap(
    decodeAmount(value),
    (value) => Resource.use(self, (pointer) => self.context.verbs.setErrCompCntr(pointer, value))
  )

/**
 * Adds to the counter: `ibv_inc_comp_cntr(3)`. Fails as {@link set}.
 *
 * @category operations
 * @since 0.1.0
 */
export const inc = (
  self: CompletionCounter,
  amount: bigint
): Effect.Effect<void, VerbsError | Schema.SchemaError> =>
  Effect.flatMap(
    decodeAmount(amount),
    (amount) => Resource.use(self, (pointer) => self.context.verbs.incCompCntr(pointer, amount))
  )

/**
 * Adds to the counter of failures: `ibv_inc_err_comp_cntr(3)`. Fails as {@link set}.
 *
 * @category operations
 * @since 0.1.0
 */
export const incErr = (
  self: CompletionCounter,
  amount: bigint
): Effect.Effect<void, VerbsError | Schema.SchemaError> =>
  Effect.flatMap(
    decodeAmount(amount),
    (amount) => Resource.use(self, (pointer) => self.context.verbs.incErrCompCntr(pointer, amount))
  )

/**
 * Lets the counter count operations of a queue pair: `ibv_qp_attach_comp_cntr(3)`. There is no way back, so from then on the
 * queue pair is released before the counter, whichever scope closes first. Blocks for a system call. Fails with `EINVAL`
 * before any call for handles of different devices, with `EOPNOTSUPP` where there are no counters.
 *
 * @category combinators
 * @since 0.1.0
 */
export const attach = (
  self: CompletionCounter,
  queuePair: QueuePair.QueuePair,
  operations: typeof CompletionCounterAttributes.AttachedOperations.Encoded
): Effect.Effect<void, VerbsError | Schema.SchemaError> =>
  Effect.flatMap(decodeOperations(operations), (operations) =>
    Effect.uninterruptible(Effect.andThen(
      DeviceContext.ensureSame("ibv_qp_attach_comp_cntr", self, queuePair),
      Resource.use(self, (counter) =>
        Resource.use(queuePair, (qp) =>
          Effect.map(
            self.context.verbs.qpAttachCompCntr(qp, counter, operations),
            () => Resource.addParent(queuePair, self)
          )))
    )))

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

const decodeAttributes = Schema.decodeEffect(CompletionCounterAttributes.CompletionCounterAttributes)
const decodeOperations = Schema.decodeEffect(CompletionCounterAttributes.AttachedOperations)
const decodeAmount = Schema.decodeEffect(CompletionCounterAttributes.Amount)
