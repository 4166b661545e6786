/**
 * What a flow does with a packet beside steering it: `ibv_create_flow_action_esp`, see `ibv_create_flow_action(3)`, released
 * by `ibv_destroy_flow_action`.
 *
 * @since 0.1.0
 */
import * as CreationSite from "@effect-rdma/core/CreationSite"
import type * as Pointer from "@effect-rdma/core/Pointer"
import * as Resource from "@effect-rdma/core/Resource"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import type * as DeviceContext from "./DeviceContext.ts"
import * as FlowActionAttributes from "./FlowActionAttributes.ts"
import type { VerbsError } from "./VerbsError.ts"

/**
 * A flow action: a flow names it in an `ActionHandle`.
 *
 * @category models
 * @since 0.1.0
 */
export interface FlowAction extends Resource.Resource<"FlowAction", Pointer.Pointer<"ibv_flow_action">> {
  readonly context: DeviceContext.DeviceContext
}

/**
 * @category guards
 * @since 0.1.0
 */
export const isFlowAction = (input: unknown): input is FlowAction =>
  typeof input === "object" && input !== null && Resource.TypeId in input && "kind" in input &&
  input.kind === "FlowAction"

/**
 * Creates an action that encrypts or decrypts ESP packets, owned by the scope and released after the flows that name it.
 * Blocks for a system call. Bad attributes fail as a `SchemaError` before any call. Fails with `EOPNOTSUPP` where the
 * provider or the kernel has none (Soft-RoCE, mlx5 since Linux 5.19) or not this combination, with `EINVAL` for a length
 * that AES-GCM does not have, with `ENOMEM`.
 *
 * ```ts
 * import { FlowAction } from "@effect-rdma/verbs"
 * import type { DeviceContext } from "@effect-rdma/verbs"
 *
 * const decrypt = (context: DeviceContext.DeviceContext, aesKey: Uint8Array) =>
 *   FlowAction.makeEsp(context, { keymat: { aesKey, salt: 0x1234 }, esn: 0 })
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const makeEsp = (
  context: DeviceContext.DeviceContext,
  attributes: FlowActionAttributes.Input
): Effect.Effect<FlowAction, VerbsError | Schema.SchemaError, Scope.Scope> => {
  const site = CreationSite.capture(makeEsp)
  return Effect.flatMap(
    Schema.decodeEffect(FlowActionAttributes.FlowActionAttributes)(attributes),
    (attributes) =>
      Resource.make({
        kind: "FlowAction",
        pair: ["ibv_create_flow_action_esp", "ibv_destroy_flow_action"],
        site,
        parents: [context],
        goneWithDevice: true,
        acquire: Resource.use(context, (pointer) => context.verbs.createFlowActionEsp(pointer, attributes)),
        release: context.verbs.destroyFlowAction,
        fields: () => ({ context })
      })
  )
}

/**
 * Changes an action while flows use it, above all the upper half of the sequence number: `ibv_modify_flow_action_esp`.
 * Blocks for a system call. Fails with `EOPNOTSUPP` for what the provider cannot change, with `EINVAL` for a sequence number
 * of an action that was made without.
 *
 * @category operations
 * @since 0.1.0
 */
export const modifyEsp = (
  self: FlowAction,
  changes: FlowActionAttributes.ChangesInput
): Effect.Effect<void, VerbsError | Schema.SchemaError> =>
  Effect.flatMap(
    Schema.decodeEffect(FlowActionAttributes.FlowActionChanges)(changes),
    (changes) => Resource.use(self, (pointer) => self.context.verbs.modifyFlowActionEsp(pointer, changes))
  )
