/**
 * Statements about C that the compiler can confirm or refute.
 */
import type * as Struct from "@effect-rdma/core/Struct"
import * as Compiler from "./Compiler.ts"

/** An integer expression of C and the number that we take it for. */
export interface Expectation {
  readonly expression: string
  readonly value: number | bigint
}

/** `C_NAME: number` pairs. */
export const constants = (values: { readonly [name: string]: number | bigint }): ReadonlyArray<Expectation> =>
  Object.entries(values).map(([expression, value]) => ({ expression, value }))

// What __builtin_classify_type of gcc says.
const pointerClass = 5

const isScalar = (kind: string) => /^([ui]|be)\d+$/.test(kind) || kind === "pointer"

/** Everything that a layout claims: its size, and per field where it is, how large, and whether it is a pointer. */
export const layout = (struct: Struct.Struct<Struct.Fields>): ReadonlyArray<Expectation> => [
  { expression: `sizeof(${struct.name})`, value: struct.size },
  ...Object.values(struct.fields).flatMap(({ kind, member, offset, size }) => {
    const field = `((${struct.name} *)0)->${member}`
    const claims: Array<Expectation> = [
      { expression: `offsetof(${struct.name}, ${member})`, value: offset },
      { expression: `sizeof(${field})`, value: size }
    ]
    if (isScalar(kind)) {
      claims.push({
        expression: `__builtin_classify_type(${field}) == ${pointerClass}`,
        value: kind === "pointer" ? 1 : 0
      })
    }
    return claims
  })
]

/** The distances of members below the last one, `context`, as the operations of a `verbs_context` are found. */
export const below = (
  struct: string,
  members: { readonly [name: string]: { readonly member: string; readonly below: number } }
): ReadonlyArray<Expectation> =>
  Object.values(members).map(({ below, member }) => ({
    expression: `offsetof(${struct}, context) - offsetof(${struct}, ${member})`,
    value: below
  }))

/** One line for every expectation that C does not confirm. */
export const refuted = (expectations: ReadonlyArray<Expectation>): ReadonlyArray<string> => {
  const actual = Compiler.evaluate(expectations.map(({ expression }) => expression))
  return expectations.flatMap(({ expression, value }, index) =>
    actual[index] === BigInt.asIntN(64, BigInt(value)) ? [] : [`${expression} is ${actual[index]}, not ${value}`]
  )
}
