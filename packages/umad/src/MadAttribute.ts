/**
 * An attribute: what a MAD carries, by the number that its header names.
 *
 * @since 0.1.0
 */
import * as MadLayout from "./MadLayout.ts"

/**
 * The layout of an attribute and its number, `AttributeID` of the MAD header.
 *
 * @category models
 * @since 0.1.0
 */
export interface MadAttribute<F extends MadLayout.Fields> extends MadLayout.MadLayout<F> {
  readonly attributeId: number
}

/**
 * An attribute from its name, its number, its size in bytes and its fields.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = <const F extends MadLayout.Fields>(
  name: string,
  attributeId: number,
  size: number,
  fields: F
): MadAttribute<F> => ({ ...MadLayout.make(name, size, fields), attributeId })
