import type * as Errno from "@effect-rdma/core/Errno"
import * as Gid from "@effect-rdma/core/Gid"
import type * as CmAddress from "@effect-rdma/rdmacm/CmAddress"
import type * as Host from "../host.ts"
import { gidOf, isAny, portOf, withPort } from "./address.ts"
import type { CmState, IdState } from "./state.ts"

/** Gives an id the port of its address, or for port 0 a free one; or says why it cannot have it. */
export const take = (state: CmState, self: IdState, address: CmAddress.CmAddress): Errno.ErrnoName | undefined => {
  const port = portOf(address)
  if (port !== 0) {
    const refused = refuse(state, self, address, self.reuseAddress)
    if (refused !== undefined) return refused
    self.local = address
  } else {
    const free = freePort(state, self)
    if (free === undefined) return "EADDRNOTAVAIL"
    self.local = withPort(address, free)
  }
  const key = keyOf(self, portOf(self.local))
  const owners = state.ports.get(key) ?? new Set()
  state.ports.set(key, owners.add(self))
  return undefined
}

/** Gives the port of an id back. */
export const leave = ({ ports }: CmState, self: IdState): void => {
  if (self.local === undefined) return
  const key = keyOf(self, portOf(self.local))
  const owners = ports.get(key)
  owners?.delete(self)
  if (owners?.size === 0) ports.delete(key)
}

/** Why an id cannot have an address beside those who have its port. */
export const refuse = (
  { ports }: CmState,
  self: IdState,
  address: CmAddress.CmAddress,
  reuses: boolean
): Errno.ErrnoName | undefined => {
  for (const other of ports.get(keyOf(self, portOf(address))) ?? []) {
    if (other === self || other.local === undefined || (reuses && other.reuseAddress)) continue
    const isOtherFamily = other.local._tag !== address._tag
    if (isOtherFamily && takesOneFamily(self, address) && takesOneFamily(other, other.local)) continue
    if (isAny(address) || isAny(other.local)) return "EADDRNOTAVAIL"
    if (!isOtherFamily && Gid.Equivalence(gidOf(address), gidOf(other.local))) return "EADDRINUSE"
  }
  return undefined
}

/** Who listens for requests to an address of a device. */
export const listenerOf = (
  { ports }: CmState,
  device: Host.DeviceState,
  client: IdState,
  address: CmAddress.CmAddress
): IdState | undefined =>
  Array.from(ports.get(keyOf(client, portOf(address))) ?? []).find((id) => {
    if (id.step !== "listening" || id.local === undefined || id.qpType !== client.qpType) return false
    if (isAny(id.local)) return id.local._tag === address._tag || !takesOneFamily(id, id.local)
    return id.place?.device === device && Gid.Equivalence(gidOf(id.local), gidOf(address))
  })

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

const keyOf = ({ portSpace }: IdState, port: number): string => `${portSpace} ${port}`

/** What takes IPv6 takes IPv4 too, unless it was told not to. */
const takesOneFamily = ({ familyOnly }: IdState, { _tag }: CmAddress.CmAddress): boolean =>
  familyOnly || _tag === "InetAddressV4"

// The range that Linux takes free ports from.
const firstFree = 32768
const lastFree = 60999

const freePort = (state: CmState, self: IdState): number | undefined => {
  for (let tried = firstFree; tried <= lastFree; tried++) {
    const port = state.nextPort
    state.nextPort = port === lastFree ? firstFree : port + 1
    if (!state.ports.has(keyOf(self, port))) return port
  }
  return undefined
}
