/**
 * Why one port of a list cannot be shown, while the others can.
 *
 * @since 0.1.0
 */
import * as NativeReason from "@effect-rdma/core/NativeReason"
import * as Schema from "effect/Schema"

/**
 * A port that libibumad does not tell about: `nameTooLong`, for it takes adapter names of 19 bytes at most, or `unreadable`,
 * as where sysfs has no rate or no P_Keys; `reason` is then that of `umad_get_port`.
 *
 * @category errors
 * @since 0.1.0
 */
export class PortProblem extends Schema.TaggedError<PortProblem>("@effect-rdma/umad/PortProblem")("PortProblem", {
  caName: Schema.String,
  portNum: Schema.Int,
  problem: Schema.Literals(["nameTooLong", "unreadable"]),
  reason: Schema.optionalKey(NativeReason.NativeReason)
}) {
  override get message() {
    const port = `port ${this.portNum} of ${this.caName}`
    return this.problem === "nameTooLong"
      ? `${port}: the name is longer than the 19 bytes that libibumad takes`
      : `${port}: sysfs does not tell all of it${this.reason === undefined ? "" : ` (${this.reason.message})`}`
  }
}
