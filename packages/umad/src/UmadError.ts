/**
 * The error of every libibumad call.
 *
 * @since 0.1.0
 */
import * as NativeError from "@effect-rdma/core/NativeError"
import * as Schema from "effect/Schema"

/**
 * A libibumad call failed: which C function, why (`reason`, one class per errno), with which inputs, and what to do.
 *
 * @category errors
 * @since 0.1.0
 */
export class UmadError
  extends Schema.TaggedError<UmadError>("@effect-rdma/umad/UmadError")("UmadError", NativeError.fields)
{
  override get message() {
    return NativeError.message(this)
  }
}
