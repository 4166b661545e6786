import type * as Errno from "@effect-rdma/core/Errno"
import type * as RSocketOption from "@effect-rdma/rdmacm/RSocketOption"
import type { RSocketState } from "./rsocketState.ts"

/** What C has for an option; asking for the error forgets it. */
export const get = (self: RSocketState, name: RSocketOption.Name): number => {
  if (name !== "Error") return self.options[name]
  const { errno } = self
  self.errno = 0
  return errno
}

/** Sets an option, or says why it cannot be set. Buffers that are there already stay as they are, and nothing tells that. */
export const set = (
  { id, options, step }: RSocketState,
  name: RSocketOption.RSocketOption["_tag"],
  value: number
): Errno.ErrnoName | undefined => {
  const isEarly = step === "open" || step === "bound" || step === "listening"
  switch (name) {
    case "SendBuffer":
    case "ReceiveBuffer":
      if (isEarly) options[name] = 2 * value
      return undefined
    case "SendQueue":
    case "ReceiveQueue":
    case "Inline":
      if (!isEarly) return "EINVAL"
      options[name] = value
      return undefined
    case "Mappings":
      if (!isEarly) return "EINVAL"
      options.Mappings = representable(value)
      return undefined
    case "KeepAlive":
      options.KeepAlive = value
      if (value === 1 && options.KeepIdle === 0) options.KeepIdle = tcpKeepaliveTime
      return undefined
    case "ReuseAddress":
      if (step !== "open") return "EINVAL"
      options.ReuseAddress = value
      id.reuseAddress = value === 1
      return undefined
    case "Ipv6Only":
      if (step !== "open" && step !== "bound") return "EINVAL"
      options.Ipv6Only = value
      id.familyOnly = value === 1
      return undefined
    case "KeepIdle":
    case "NoDelay":
      options[name] = value
      return undefined
  }
}

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

/** `tcp_keepalive_time` of Linux. */
const tcpKeepaliveTime = 7200

/** A byte tells the other side: up to 128 as it is, more as a multiple of 256. */
const representable = (value: number): number => value <= 128 ? value : (value >> 8) << 8 || 128
