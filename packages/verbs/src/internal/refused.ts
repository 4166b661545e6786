/**
 * The error of what is refused before any native call.
 *
 * @since 0.1.0
 */
import * as Errno from "@effect-rdma/core/Errno"
import * as NativeReason from "@effect-rdma/core/NativeReason"
import { VerbsError } from "../VerbsError.ts"

/** `call` would fail with `errno`, or end the process: `hint` says why. */
export const refused = (
  call: string,
  errno: Parameters<typeof Errno.numberOf>[0],
  hint: string,
  input: VerbsError["input"] = {}
): VerbsError => new VerbsError({ call, reason: NativeReason.fromErrno(Errno.numberOf(errno)), input, hint })
