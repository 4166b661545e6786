/**
 * The errors of librdmacm's calls.
 *
 * @since 0.1.0
 */
import * as Errno from "@effect-rdma/core/Errno"
import * as NativeReason from "@effect-rdma/core/NativeReason"
import type * as Readiness from "@effect-rdma/core/Readiness"
import * as ReturnConvention from "@effect-rdma/core/ReturnConvention"
import * as Effect from "effect/Effect"
import { readdirSync } from "node:fs"
import { RdmaCmError } from "../../RdmaCmError.ts"

/** The names in a folder, if it is there. */
export const entries = (folder: string): ReadonlyArray<string> | undefined => {
  try {
    return readdirSync(folder)
  } catch {
    return undefined
  }
}

/** The kernel makes this folder when its RDMA core is loaded; without it there are none to list. */
export const adapters = () => entries("/sys/class/infiniband")

const ENODEV = Errno.numberOf("ENODEV")

const unavailable = "Load it with: modprobe rdma_ucm, and the driver of the adapter, such as mlx5_ib or rdma_rxe"

export const errorOf = (call: string, errno: number, input: RdmaCmError["input"], hint?: string): RdmaCmError => {
  // librdmacm says ENODEV for both; only without the kernel's RDMA core is there no such folder.
  if (errno === ENODEV && adapters() === undefined) {
    return new RdmaCmError({
      call,
      reason: new NativeReason.RdmaUnavailable({ errno }),
      input,
      hint: unavailable
    })
  }
  return new RdmaCmError({
    call,
    reason: NativeReason.fromErrno(errno),
    input,
    ...(hint === undefined ? undefined : { hint })
  })
}

export const notPollable = (call: string, { errno, fd }: Readiness.NotPollable): RdmaCmError =>
  errorOf(call, errno, { fd })

/** A call that returns 0, or -1 and errno. */
export const done = (
  call: string,
  run: () => number,
  input: RdmaCmError["input"] = {}
): Effect.Effect<void, RdmaCmError> =>
  Effect.asVoid(ReturnConvention.minusOneErrno(run, (errno) => errorOf(call, errno, input)))

/** A function that the library has not got. */
export const tooOld = (call: string, since: number): Effect.Effect<never, RdmaCmError> =>
  Effect.fail(errorOf(call, Errno.numberOf("EOPNOTSUPP"), {}, `The library is older than rdma-core ${since}`))
