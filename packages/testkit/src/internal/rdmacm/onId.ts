import * as Errno from "@effect-rdma/core/Errno"
import type { RdmaCmError } from "@effect-rdma/rdmacm/RdmaCmError"
import type { VerbsError } from "@effect-rdma/verbs/VerbsError"
import * as Effect from "effect/Effect"
import { FabricMisuse } from "../../FabricMisuse.ts"
import type * as Host from "../host.ts"
import { type CmState, errorOf, type IdState } from "./state.ts"

/** librdmacm follows the pointer to the device of an id without a look. */
export const deviceOf = (call: string, { shown: { device } }: IdState): Host.DeviceState => {
  if (device === undefined) throw new FabricMisuse({ call, problem: "the id is bound to no device" })
  return device
}

/** What a call of verbs that librdmacm makes fails with. */
export const errorIn =
  (call: string, input: RdmaCmError["input"]) => (error: VerbsError | Errno.ErrnoName): RdmaCmError =>
    errorOf(call, typeof error === "string" ? Errno.numberOf(error) : error.reason.errno, input)

/** Flushes the queue pair that librdmacm made on an id. librdmacm looks at what comes of it only when it disconnects. */
export const moveToError = ({ verbs }: CmState, { on: { qp } }: IdState): Effect.Effect<void, VerbsError> =>
  Effect.suspend(() => qp === undefined ? Effect.void : verbs.modifyQp(qp, { qpState: "err" }))
