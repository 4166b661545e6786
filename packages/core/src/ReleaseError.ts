/**
 * What is left in an exit's Cause when a native release fails: the resource still exists in the library or the kernel.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"

/**
 * A release that failed. It is a defect of the scope that closed, since a finalizer has no error channel: which call,
 * on which resource, why, and which children still lived.
 *
 * @category errors
 * @since 0.1.0
 */
export class ReleaseError extends Schema.TaggedError<ReleaseError>("@effect-rdma/core/ReleaseError")("ReleaseError", {
  call: Schema.String,
  resource: Schema.String,
  errno: Schema.UndefinedOr(Schema.Int),
  liveChildren: Schema.Array(Schema.String),
  cause: Schema.Defect()
}) {
  override get message() {
    const why = this.cause instanceof Error ? this.cause.message : String(this.cause)
    const children = this.liveChildren.length === 0 ? "" : `; still alive on it: ${this.liveChildren.join("; ")}`
    return `${this.call} did not release ${this.resource}: ${why}${children}`
  }
}
