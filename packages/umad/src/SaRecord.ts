/**
 * A record of subnet administration: an attribute whose components a query can name.
 *
 * @since 0.1.0
 */
import * as MadAttribute from "./MadAttribute.ts"
import type * as MadLayout from "./MadLayout.ts"

/**
 * The layout of a record, and which bit of the component mask stands for which field.
 *
 * @category models
 * @since 0.1.0
 */
export interface SaRecord<F extends MadLayout.Fields> extends MadAttribute.MadAttribute<F> {
  /** By bit, from the least significant one; `undefined` is a reserved component. A long field has several. */
  readonly components: ReadonlyArray<keyof F & string | undefined>
}

/**
 * A record from its name, its number, its size in bytes, its fields and its components.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = <const F extends MadLayout.Fields>(
  name: string,
  attributeId: number,
  size: number,
  fields: F,
  components: ReadonlyArray<keyof F & string | undefined>
): SaRecord<F> => ({ ...MadAttribute.make(name, attributeId, size, fields), components })

/**
 * The mask that makes a query ask for the given fields: every bit of every field that is there.
 *
 * ```ts
 * import { Lid } from "@effect-rdma/core"
 * import { PathRecord, SaRecord } from "@effect-rdma/umad"
 *
 * SaRecord.componentMask(PathRecord.PathRecord, { dlid: Lid.Lid.make(4), numbPath: 1 }) // => 0x1010n
 * ```
 *
 * @category getters
 * @since 0.1.0
 */
export const componentMask = <F extends MadLayout.Fields>(
  record: SaRecord<F>,
  query: Partial<MadLayout.Record<F>>
): bigint =>
  record.components.reduce(
    (mask, name, bit) => name !== undefined && query[name] !== undefined ? mask | 1n << BigInt(bit) : mask,
    0n
  )
