/**
 * A port that no subnet manager has configured.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"

/**
 * The port knows no LID of a subnet manager: none runs, or it has not come to the port yet.
 *
 * @category errors
 * @since 0.1.0
 */
export class NoSubnetManager extends Schema.TaggedError<NoSubnetManager>("@effect-rdma/umad/NoSubnetManager")(
  "NoSubnetManager",
  {}
) {
  override get message() {
    return "the port knows no subnet manager (its SM LID is 0): start one, such as opensm, and wait until the port is active"
  }
}
