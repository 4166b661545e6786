/**
 * The errors of calls into libibverbs.
 *
 * @since 0.1.0
 */
import * as Errno from "@effect-rdma/core/Errno"
import * as NativeReason from "@effect-rdma/core/NativeReason"
import { VerbsError } from "../../VerbsError.ts"

export const fail = (call: string, errno: number, input: VerbsError["input"] = {}, hint?: string): VerbsError =>
  call === "ibv_get_device_list" && errno === Errno.numberOf("ENOSYS")
    ? new VerbsError({
      call,
      reason: new NativeReason.RdmaUnavailable({ errno }),
      input,
      hint: "Load the modules ib_uverbs and the driver of the device, such as: modprobe -a ib_uverbs rdma_rxe"
    })
    : new VerbsError({
      call,
      reason: NativeReason.fromErrno(errno),
      input,
      ...(hint === undefined ? {} : { hint })
    })

export const unsupported = (call: string, name: "EOPNOTSUPP" | "ENOSYS"): VerbsError =>
  fail(call, Errno.numberOf(name), {}, "The installed libibverbs or its provider has no such operation")
