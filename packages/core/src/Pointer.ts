/**
 * Addresses of native objects, branded by the C struct they point to.
 *
 * @since 0.1.0
 */
import type * as Brand from "effect/Brand"

/**
 * The address of a native `Struct`, never NULL. It owns nothing: whoever made the object says how long it is valid.
 *
 * @category models
 * @since 0.1.0
 */
export type Pointer<Struct extends string> = bigint & Brand.Brand<`Pointer<${Struct}>`>

/**
 * True for both forms of NULL: koffi's `null` and a zero read out of native memory.
 *
 * @category guards
 * @since 0.1.0
 */
export const isNull = (address: bigint | null): address is null | 0n => address === null || address === 0n

/**
 * Brands an address; NULL is a `RangeError`.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = <Struct extends string>(address: bigint | null): Pointer<Struct> => {
  if (isNull(address)) {
    throw new RangeError("a pointer cannot be NULL")
  }
  return address as Pointer<Struct>
}
