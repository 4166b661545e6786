/**
 * The error of every libibverbs call.
 *
 * @since 0.1.0
 */
import * as NativeError from "@effect-rdma/core/NativeError"
import * as Schema from "effect/Schema"

/**
 * A libibverbs call failed: which C function, why (`reason`, one class per errno), with which inputs, and what to do.
 *
 * ```ts
 * import { ProtectionDomain } from "@effect-rdma/verbs"
 * import type { DeviceContext } from "@effect-rdma/verbs"
 * import { Effect } from "effect"
 *
 * const allocOrNothing = (context: DeviceContext.DeviceContext) =>
 *   ProtectionDomain.alloc(context).pipe(
 *     Effect.catchReason("VerbsError", "ENOMEM", () => Effect.succeed(undefined))
 *   )
 * ```
 *
 * @category errors
 * @since 0.1.0
 */
export class VerbsError
  extends Schema.TaggedError<VerbsError>("@effect-rdma/verbs/VerbsError")("VerbsError", NativeError.fields)
{
  override get message() {
    return NativeError.message(this)
  }
}
