/**
 * Why a text is no subnet.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"

/**
 * A line of a topology file that cannot be read, or does not fit the others. Lines count from 1.
 *
 * @category errors
 * @since 0.1.0
 */
export class SubnetTopologyError
  extends Schema.TaggedError<SubnetTopologyError>("@effect-rdma/umad/SubnetTopologyError")("SubnetTopologyError", {
    line: Schema.Int,
    problem: Schema.String
  })
{
  override get message() {
    return `line ${this.line}: ${this.problem}`
  }
}
