/**
 * The errors of calls into libibverbs.
 *
 * @since 0.1.0
 */
import * as Errno from "@effect-rdma/core/Errno"
import * as NativeReason from "@effect-rdma/core/NativeReason"
import { VerbsError } from "../../VerbsError.ts"

export const errorOf = (call: string, errno: number, input: VerbsError["input"] = {}, hint?: string): VerbsError =>
  new VerbsError({
    call,
    reason: NativeReason.fromErrno(errno),
    input,
    ...(hint === undefined ? {} : { hint })
  })

export const unsupported = (call: string, name: "EOPNOTSUPP" | "ENOSYS"): VerbsError =>
  errorOf(call, Errno.numberOf(name), {}, "The installed libibverbs or its provider has no such operation")
