/**
 * How the errors of a request name it.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import * as MadHeader from "./madHeader.ts"

export const requestFields = {
  mgmtClass: Schema.Int,
  method: Schema.Int,
  attributeId: Schema.Int,
  lid: Schema.Int
}

export interface Request {
  readonly mgmtClass: number
  readonly method: number
  readonly attributeId: number
  readonly lid: number
}

export const requestOf = (mad: Uint8Array, lid: number): Request => ({
  mgmtClass: MadHeader.mgmtClass(mad),
  method: MadHeader.method(mad),
  attributeId: MadHeader.attributeId(mad),
  lid
})

export const describeRequest = ({ attributeId, lid, method, mgmtClass }: Request): string =>
  `method ${hex(method, 2)} of attribute ${hex(attributeId, 4)}, class ${hex(mgmtClass, 2)}, to LID ${hex(lid, 1)}`

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

const hex = (value: number, digits: number): string => `0x${value.toString(16).padStart(digits, "0")}`
