import type * as Memory from "@effect-rdma/verbs/operations/Memory"
import * as RemoteKey from "@effect-rdma/verbs/RemoteKey"
import type { VerbsError } from "@effect-rdma/verbs/VerbsError"
import * as Effect from "effect/Effect"
import * as MemoryState from "./memoryState.ts"
import type { QueuePairState } from "./queueState.ts"
import { fail } from "./state.ts"

type Binding = Omit<Memory.Binding, "mr">

/**
 * Posts a bind, and does it where the queue pair sends. What the device does not permit is no error of the call: the
 * window stays what it was, and the queue pair goes to ERR.
 */
export const bindWindow = (
  { object }: QueuePairState,
  window: MemoryState.WindowState,
  region: MemoryState.RegionState,
  binding: Binding
): Effect.Effect<number, VerbsError> => {
  const call = "ibv_bind_mw"
  const { device } = window
  const { provider } = device.description
  const input = { addr: binding.addr, length: binding.length, access: binding.access.join(" ") }
  if (window.type !== 1) return fail(call, "EINVAL", { ...input, type: window.type })
  if (window.domain !== region.domain) return fail(call, "EPERM", input)
  // Neither provider has windows of type 1 that count from 0.
  if (binding.access.includes("zeroBased")) return fail(call, "EINVAL", input)
  if (provider === "mlx5") {
    // Neither what was imported nor the null region is memory of the process.
    if (region.original !== undefined || region.bytes === undefined) return fail(call, "EOPNOTSUPP", input)
    if (region.access.includes("zeroBased")) return fail(call, "EINVAL", input)
  }
  if (!binds.has(object.qpType)) return fail(call, "EINVAL", { ...input, qpType: object.qpType })
  if (object.sends.length >= object.cap.maxSendWr) return fail(call, "ENOMEM", input)
  if (provider === "rxe") {
    // It asks its kernel; mlx5 writes to the doorbell, and the device says nothing.
    if (!device.plugged) return fail(call, "EIO", input)
    if (!kernelTakes.has(object.state)) return fail(call, "EINVAL", { ...input, state: object.state })
  }
  const before = window.rkey
  window.rkey = RemoteKey.increment(before)
  if (object.state !== "rts" || !device.plugged) {
    if (object.state !== "err") object.sends = [...object.sends, { wrId: binding.wrId, flags: binding.flags }]
  } else if (window.key === before && isPermitted(region, binding)) {
    const { windows } = MemoryState.of(device)
    windows.delete(window.key)
    window.key = window.rkey
    windows.set(window.key, window)
    if (window.bound !== undefined) window.bound.windows--
    window.bound = binding.length === 0n ? undefined : region
    if (window.bound !== undefined) window.bound.windows++
  } else {
    object.state = "err"
    object.sends = []
  }
  return Effect.succeed(window.rkey)
}

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

const binds: ReadonlySet<string> = new Set(["rc", "uc", "xrcSend"])
const kernelTakes: ReadonlySet<string> = new Set(["rts", "sqd", "err"])

const isPermitted = ({ access, base, length }: MemoryState.RegionState, binding: Binding): boolean =>
  binding.length === 0n || (
    access.includes("mwBind") &&
    !access.includes("zeroBased") &&
    (access.includes("localWrite") || !binding.access.some((flag) => writes.has(flag))) &&
    binding.addr >= base &&
    binding.addr + binding.length <= base + length
  )
const writes: ReadonlySet<string> = new Set(["remoteWrite", "remoteAtomic"])
