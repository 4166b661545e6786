/**
 * A response that says no.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import { describeRequest, requestFields } from "./internal/madRequest.ts"

/**
 * The response came with a status: `busy` and `redirect` are its bits 0 and 1, `invalid` its bits 2 to 4, and the upper byte
 * is the class's own. `mad` is the whole response.
 *
 * @category errors
 * @since 0.1.0
 */
export class MadStatus extends Schema.TaggedError<MadStatus>("@effect-rdma/umad/MadStatus")("MadStatus", {
  ...requestFields,
  status: Schema.Int,
  mad: Schema.Uint8Array
}) {
  override get message() {
    return `${describeRequest(this)}: status 0x${this.status.toString(16).padStart(4, "0")} (${format(this.status)})`
  }
}

/**
 * A status in words: `the method is not supported`.
 *
 * @category getters
 * @since 0.1.0
 */
export const format = (status: number): string => {
  const code = (status >> 2) & 7
  const words = [
    (status & 1) === 0 ? undefined : "busy: try again",
    (status & 2) === 0 ? undefined : "redirected",
    code === 0 ? undefined : invalidFields[code] ?? `invalid field ${code}`,
    status >> 8 === 0 ? undefined : `class specific code ${status >> 8}`
  ].filter((word) => word !== undefined)
  return words.length === 0 ? "success" : words.join(", ")
}

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

const invalidFields: { readonly [code: number]: string } = {
  1: "the class or its version is not supported",
  2: "the method is not supported",
  3: "the method is not supported for this attribute",
  7: "a value of the attribute or its modifier is invalid"
}
