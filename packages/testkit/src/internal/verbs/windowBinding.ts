import type * as Pointer from "@effect-rdma/core/Pointer"
import type * as Memory from "@effect-rdma/verbs/operations/Memory"
import * as RemoteKey from "@effect-rdma/verbs/RemoteKey"
import type { VerbsError } from "@effect-rdma/verbs/VerbsError"
import * as Effect from "effect/Effect"
import type * as MemoryState from "./memoryState.ts"
import * as Posting from "./posting.ts"
import type { QueuePairState } from "./queueState.ts"
import { fail } from "./state.ts"

/**
 * `ibv_bind_mw`: refuses what the library refuses, and posts a request. What the device does not permit is no error of
 * the call.
 */
export const bindWindow = (
  { object }: QueuePairState,
  window: MemoryState.WindowState,
  region: MemoryState.RegionState,
  mw: Pointer.Pointer<"ibv_mw">,
  { flags, wrId, ...binding }: Memory.Binding
): Effect.Effect<number, VerbsError> => {
  const call = "ibv_bind_mw"
  const { access, addr, length } = binding
  const input = { addr, length, access: access.join(" ") }
  if (window.type !== 1) return fail(call, "EINVAL", { ...input, type: window.type })
  if (window.domain !== region.domain) return fail(call, "EPERM", input)
  // Neither provider has windows of type 1 that count from 0.
  if (access.includes("zeroBased")) return fail(call, "EINVAL", input)
  if (window.device.description.provider === "mlx5") {
    // Neither what was imported nor the null region is memory of the process.
    if (region.original !== undefined || region.bytes === undefined) return fail(call, "EOPNOTSUPP", input)
    if (region.access.includes("zeroBased")) return fail(call, "EINVAL", input)
  }
  const rkey = RemoteKey.increment(window.rkey)
  const { error } = Posting.sends(call, object, [
    { opcode: "bindMw", wrId, flags, sgList: [], bind: { ...binding, mw, rkey } }
  ])
  if (error !== undefined) return Effect.fail(error)
  window.rkey = rkey
  return Effect.succeed(rkey)
}
