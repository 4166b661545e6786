/**
 * A request that nobody answered.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import { describeRequest, requestFields } from "./internal/madRequest.ts"

/**
 * No response came in the time of a request and its repetitions: the kernel gave it back with ETIMEDOUT, or gave nothing
 * back, as when the link is down.
 *
 * @category errors
 * @since 0.1.0
 */
export class MadTimeout extends Schema.TaggedError<MadTimeout>("@effect-rdma/umad/MadTimeout")("MadTimeout", {
  ...requestFields,
  timeoutMs: Schema.Int,
  retries: Schema.Int
}) {
  override get message() {
    return `${describeRequest(this)}: no response in ${this.retries + 1} times ${this.timeoutMs} ms (ETIMEDOUT)`
  }
}
