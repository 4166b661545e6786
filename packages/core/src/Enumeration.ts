/**
 * A C enum as literals: one table of literal, number and printed name, and what follows from it.
 *
 * A driver may report a number that is newer than this table. Reading one never fails: it is `"unknown"`, and the number
 * is not kept, because nothing can be done with it that is not done with any other unknown. What is written to a driver
 * is always one of the table.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"

/**
 * One enumerator: the literal that stands for it, its number in C, and the name that the C tools print.
 *
 * @category models
 * @since 0.1.0
 */
export type Row<Value extends string | number> = readonly [value: Value, native: number, text: string]

/**
 * A C enum whose enumerators are the literals `Value`.
 *
 * @category models
 * @since 0.1.0
 */
export interface Enumeration<Value extends string | number> {
  /** The literals in the order of the table. */
  readonly values: ReadonlyArray<Value>
  /** Accepts the literals of the table: what can be written to a driver. */
  readonly schema: Schema.Literals<ReadonlyArray<Value>>
  /** Accepts the literals and `"unknown"`: what can be read from a driver. */
  readonly reported: Schema.Literals<ReadonlyArray<Value | "unknown">>
  /** The literal of a number; `"unknown"` when the table has none. A negative enumerator may come as its u32. */
  readonly fromNative: (native: number) => Value | "unknown"
  /** The number of a literal. */
  readonly toNative: (value: Value) => number
  /** The name that the C tools print; for `"unknown"` what they print for a number that they do not know. */
  readonly format: (value: Value | "unknown") => string
}

/**
 * Makes an {@link Enumeration} from its table; `unknownText` is what the C tools print for a number outside it.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = <const Value extends string | number>(
  identifier: string,
  rows: ReadonlyArray<Row<Value>>,
  unknownText: string = "unknown"
): Enumeration<Value> => {
  const values = rows.map(([value]) => value)
  const byNative = new Map(rows.map(([value, native]) => [native, value]))
  const natives = new Map(rows.map(([value, native]) => [value, native]))
  const texts = new Map<Value | "unknown", string>(rows.map(([value, , text]) => [value, text]))
  const reported = [...new Set<Value | "unknown">([...values, "unknown"])]
  return {
    values,
    schema: Schema.Literals<ReadonlyArray<Value>>(values),
    reported: Schema.Literals<ReadonlyArray<Value | "unknown">>(reported),
    fromNative: (native) => byNative.get(native > 0x7fffffff ? native - 0x1_0000_0000 : native) ?? "unknown",
    toNative: (value) => {
      const native = natives.get(value)
      // Only a caller without types gets here; a silent 0 is a valid enumerator of most enums.
      if (native === undefined) throw new RangeError(`${identifier} has no native value for ${value}`)
      return native
    },
    format: (value) => texts.get(value) ?? unknownText
  }
}
