/**
 * The errors of calls into libibverbs.
 *
 * @since 0.1.0
 */
import * as Errno from "@effect-rdma/core/Errno"
import * as NativeReason from "@effect-rdma/core/NativeReason"
import { VerbsError } from "../../VerbsError.ts"
import * as LockedMemory from "../lockedMemory.ts"

export const errorOf = (call: string, errno: number, input: VerbsError["input"] = {}, hint?: string): VerbsError =>
  new VerbsError({
    call,
    reason: NativeReason.fromErrno(errno),
    input,
    ...(hint === undefined ? {} : { hint })
  })

/** The failure to make a queue. */
export const queueErrorOf = (call: string, errno: number, input: VerbsError["input"], hint?: string): VerbsError => {
  const error = errorOf(call, errno, input, hint)
  const ofMemory = LockedMemory.queueHint(error.reason._tag)
  return ofMemory === undefined ? error : errorOf(call, errno, input, ofMemory)
}

export const unsupported = (call: string, name: "EOPNOTSUPP" | "ENOSYS"): VerbsError =>
  errorOf(call, Errno.numberOf(name), {}, "The installed libibverbs or its provider has no such operation")
