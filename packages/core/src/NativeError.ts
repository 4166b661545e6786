/**
 * What the errors of the three libraries have in common. `VerbsError`, `RdmaCmError` and `UmadError` are built from
 * these fields, so that a program handles all of them alike.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import * as NativeReason from "./NativeReason.ts"

/**
 * The fields of every library error: the C function that failed, why, the inputs that matter, and what to do.
 *
 * @category schemas
 * @since 0.1.0
 */
export const fields = {
  call: Schema.String,
  reason: NativeReason.NativeReason,
  input: Schema.Record(Schema.String, Schema.Unknown),
  hint: Schema.optionalKey(Schema.String)
}

/**
 * The shape that the three library errors share.
 *
 * @category models
 * @since 0.1.0
 */
export interface NativeError {
  readonly _tag: string
  readonly call: string
  readonly reason: NativeReason.NativeReason
  readonly input: { readonly [name: string]: unknown }
  readonly hint?: string
  readonly message: string
}

/**
 * The message of a library error: call, inputs, errno with its text, and what to do about it.
 *
 * @category getters
 * @since 0.1.0
 */
export const message = (error: Omit<NativeError, "message">): string => {
  const input = Object.entries(error.input).map(([name, value]) => `${name} ${String(value)}`).join(", ")
  const hint = error.hint === undefined ? "" : `. ${error.hint}`
  return `${error.call}${input === "" ? "" : ` (${input})`}: ${error.reason.message}${hint}`
}
