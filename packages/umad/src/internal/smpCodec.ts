/**
 * Requests of subnet management, and the attribute in an answer.
 *
 * @since 0.1.0
 */
import * as Lid from "@effect-rdma/core/Lid"
import * as Result from "effect/Result"
import type * as Schema from "effect/Schema"
import * as DirectedRouteSmp from "../DirectedRouteSmp.ts"
import type * as MadAttribute from "../MadAttribute.ts"
import type * as MadLayout from "../MadLayout.ts"
import * as Smp from "../Smp.ts"

/** A LID, or the port by which each hop goes out: 63 at most. */
export type Way = { readonly lid: Lid.Lid } | { readonly path: ReadonlyArray<number> }

/** Without values the attribute is zero, as in every Get. */
export const encode = <F extends MadLayout.Fields>(
  method: "get" | "set",
  way: Way,
  attribute: MadAttribute.MadAttribute<F>,
  { mKey = 0n, modifier = 0, values }: {
    readonly mKey?: bigint | undefined
    readonly modifier?: number | undefined
    readonly values?: Partial<MadLayout.Record<F>> | undefined
  }
): Result.Result<Uint8Array, Schema.SchemaError> =>
  Result.flatMap(values === undefined ? Result.succeed(undefined) : attribute.encode(values), (bytes) => {
    const fields = {
      baseVersion: 1,
      classVersion: 1,
      method,
      attributeId: attribute.attributeId,
      attributeModifier: modifier,
      mKey,
      ...(bytes === undefined ? undefined : { data: filled(bytes) })
    } as const
    return "lid" in way
      ? Smp.Smp.encode({ ...fields, mgmtClass: "subnLidRouted" })
      : DirectedRouteSmp.DirectedRouteSmp.encode({
        ...fields,
        mgmtClass: "subnDirectedRoute",
        hopCount: way.path.length,
        drSlid: Lid.permissive,
        drDlid: Lid.permissive,
        initialPath: filled([0, ...way.path])
      })
  })

export const decode = <F extends MadLayout.Fields>(
  attribute: MadAttribute.MadAttribute<F>,
  mad: Uint8Array
): Result.Result<MadLayout.Record<F>, Schema.SchemaError> => attribute.decode(mad, dataOffset)

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

const dataOffset = Smp.Smp.fields.data.bit / 8

/** 64 bytes. Of a notice, an SMP has no more: it ends before the GID. */
const filled = (bytes: ArrayLike<number>): Uint8Array => {
  const all = new Uint8Array(64)
  all.set(bytes instanceof Uint8Array ? bytes.subarray(0, 64) : bytes)
  return all
}
