/**
 * The errors of libibumad.
 *
 * @since 0.1.0
 */
import * as Errno from "@effect-rdma/core/Errno"
import * as NativeReason from "@effect-rdma/core/NativeReason"
import type * as CaName from "../../CaName.ts"
import { UmadError } from "../../UmadError.ts"

export const errorOf = (call: string, errno: number, input: UmadError["input"], hint?: string): UmadError =>
  new UmadError({
    call,
    reason: NativeReason.fromErrno(errno),
    input,
    ...(hint === undefined ? undefined : { hint })
  })

/** Of a call that looks for an adapter or a port in sysfs. */
export const lookupErrorOf = (call: string, errno: number, input: UmadError["input"]): UmadError =>
  errorOf(call, errno, input, hintOf(errno, lookupHints))

/** What there is to say about an errno. */
export const hintOf = (errno: number, hints: Hints): string | undefined => {
  const name = Errno.nameOf(errno)
  return name === undefined ? undefined : hints[name]
}

export type Hints = { readonly [Name in Errno.ErrnoName]?: string }

export const inputOf = (caName: CaName.CaName | undefined) => caName === undefined ? {} : { caName }

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

const lookupHints: Hints = {
  ENODEV: "No adapter fits the filter; ibstat -l lists them",
  ENOENT: "No adapter has that name; ibstat -l lists them",
  EIO: "No such adapter or port, or sysfs does not tell all of it; ibstat shows both"
}
