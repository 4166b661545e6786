import * as MemoryState from "./memoryState.ts"
import type { QueuePairObject, SendEntry } from "./queueState.ts"
import { rootOf } from "./state.ts"

/**
 * Binds a window as a device does, in place of what it was bound to; `false` when it does not permit that: then the window
 * stays what it was.
 */
export const bind = (self: QueuePairObject, { bind, windowKey }: SendEntry): boolean => {
  const window = bind && self.verbs.windows.find(bind.mw)
  const region = bind && self.verbs.regions.find(bind.mr)
  if (bind === undefined || window === undefined || region === undefined) return false
  // The struct of one whose bind failed has another key than the device.
  if (window.key !== windowKey || !isPermitted(self, window, region, bind)) return false
  const { windows } = MemoryState.of(self.device)
  windows.delete(window.key)
  window.key = ((window.key & ~0xff) | (bind.rkey & 0xff)) >>> 0
  windows.set(window.key, window)
  unbind(window)
  if (bind.length === 0n) return true
  const { access, addr, length } = bind
  window.bound = region
  window.binding = { access, addr, length, qpNum: self.qpNum }
  region.windows++
  return true
}

/** Takes a window of type 2 off its region; no region of a process can be invalidated, and no window of type 1. */
export const invalidate = (self: QueuePairObject, rkey: number): boolean => {
  const window = MemoryState.of(self.device).windows.get(rkey)
  if (window?.bound === undefined || window.type === 1 || !isOf(self, window)) return false
  unbind(window)
  return true
}

/** Takes a window off what it is bound to. */
export const unbind = (window: MemoryState.WindowState): void => {
  if (window.bound !== undefined) window.bound.windows--
  window.bound = undefined
  window.binding = undefined
}

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

const isOf = ({ domain }: QueuePairObject, window: MemoryState.WindowState): boolean =>
  domain !== undefined && rootOf(window.domain) === rootOf(domain)

const isPermitted = (
  self: QueuePairObject,
  window: MemoryState.WindowState,
  { access, base, length }: MemoryState.RegionState,
  binding: NonNullable<SendEntry["bind"]>
): boolean => {
  const isZeroBased = binding.access.includes("zeroBased")
  if (window.type === 1 && isZeroBased) return false
  if (window.type === 2 && (window.bound !== undefined || !isOf(self, window) || binding.length === 0n)) return false
  return binding.length === 0n || (
    access.includes("mwBind") &&
    !access.includes("zeroBased") &&
    (access.includes("localWrite") || !binding.access.some((flag) => writes.has(flag))) &&
    binding.addr >= base &&
    binding.addr + binding.length <= base + length
  )
}
const writes: ReadonlySet<string> = new Set(["remoteWrite", "remoteAtomic"])
