import type * as MadLayout from "@effect-rdma/umad/MadLayout"
import type { SaMad } from "@effect-rdma/umad/SaMad"
import type { SaRecord } from "@effect-rdma/umad/SaRecord"
import * as Equal from "effect/Equal"
import * as Result from "effect/Result"

/** A request, and the LID that it came from. A trusted one has the key of the manager. */
export interface Question extends SaMad {
  readonly from: number
  readonly mad: Uint8Array
  readonly isTrusted: boolean
}

/** What it finds: the size of a record, and their bytes. */
export interface Records {
  readonly size: number
  readonly records: ReadonlyArray<Uint8Array>
}

/** Why subnet administration refuses. */
export const status = {
  invalid: 0x0200,
  noRecords: 0x0300,
  tooManyRecords: 0x0400,
  insufficientComponents: 0x0600
} as const

/** Those of the records that have what the query asks for. */
export const matching = <F extends MadLayout.Fields>(
  layout: SaRecord<F>,
  { componentMask, data }: Question,
  records: ReadonlyArray<MadLayout.Record<F>>
): Records => {
  const wanted = Result.getOrThrow(layout.decode(data))
  const names = layout.components.filter((name, bit) =>
    name !== undefined && (componentMask >> BigInt(bit) & 1n) === 1n
  )
  return {
    size: layout.size,
    records: records
      .filter((record) => names.every((name) => name === undefined || Equal.equals(record[name], wanted[name])))
      .map((record) => Result.getOrThrow(layout.encode(record)))
  }
}

/** One record as an answer. */
export const only = <F extends MadLayout.Fields>(layout: SaRecord<F>, record: MadLayout.Record<F>): Records => ({
  size: layout.size,
  records: [Result.getOrThrow(layout.encode(record))]
})

/** Whether a query names a component, one bit of it at least. */
export const asks = <F extends MadLayout.Fields>(
  layout: SaRecord<F>,
  { componentMask }: Pick<Question, "componentMask">,
  name: keyof F
): boolean => layout.components.some((other, bit) => other === name && (componentMask >> BigInt(bit) & 1n) === 1n)
