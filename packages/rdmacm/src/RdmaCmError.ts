/**
 * The error of every librdmacm call.
 *
 * @since 0.1.0
 */
import * as NativeError from "@effect-rdma/core/NativeError"
import * as Schema from "effect/Schema"

/**
 * A librdmacm call failed: which C function, why (`reason`, one class per errno), with which inputs, and what to do.
 *
 * @category errors
 * @since 0.1.0
 */
export class RdmaCmError
  extends Schema.TaggedError<RdmaCmError>("@effect-rdma/rdmacm/RdmaCmError")("RdmaCmError", NativeError.fields)
{
  override get message() {
    return NativeError.message(this)
  }
}
