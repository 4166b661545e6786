import type * as Errno from "@effect-rdma/core/Errno"
import * as Gid from "@effect-rdma/core/Gid"
import * as NetAddress from "effect/net/NetAddress"
import * as Result from "effect/Result"
import * as Host from "../host.ts"
import type { RSocketState } from "./rsocketState.ts"

const gidOf = ({ address }: NetAddress.InetAddress): Gid.Gid =>
  Gid.fromBytes(Uint8Array.from(NetAddress.ipv6ToOctets(
    address._tag === "Ipv4Address" ? NetAddress.toIpv4Mapped(address) : address
  )))

/** Where an rsocket of a family is before it is bound. */
export const nowhere = {
  ipv4: NetAddress.inetAddressFromStringUnsafe("0.0.0.0:0"),
  ipv6: NetAddress.inetAddressFromStringUnsafe("[::]:0")
} as const

export const withPort = (address: NetAddress.InetAddress, port: number): NetAddress.InetAddress =>
  address._tag === "InetAddressV4"
    ? Result.getOrThrow(NetAddress.inetAddressV4(address.address, port))
    : Result.getOrThrow(NetAddress.inetAddressV6(address.address, port, { scopeId: address.scopeId }))

const addressOf = (gid: Gid.Gid, port: number): NetAddress.InetAddress =>
  Gid.isIpv4Mapped(gid)
    ? Result.getOrThrow(NetAddress.inetAddressV4(NetAddress.ipv4FromBytesUnsafe(gid.slice(12)), port))
    : Result.getOrThrow(NetAddress.inetAddressV6(NetAddress.ipv6FromBytesUnsafe(Uint8Array.from(gid)), port))

interface Place {
  readonly device: Host.DeviceState
  readonly gid: Gid.Gid
}

const placesOf = (host: Host.HostState): ReadonlyArray<Place> =>
  host.devices.flatMap((device) => device.addresses.map(({ gid }) => ({ device, gid })))

/** The device of an address of a host, `undefined` for the wildcard, or why there is none. */
export const deviceOf = (
  host: Host.HostState,
  address: NetAddress.InetAddress
): Host.DeviceState | undefined | Errno.ErrnoName => {
  if (NetAddress.isUnspecified(address.address)) return undefined
  if (NetAddress.isLoopback(address.address)) return "ENODEV"
  const gid = gidOf(address)
  return placesOf(host).find((place) => Gid.Equivalence(place.gid, gid))?.device ?? "EADDRNOTAVAIL"
}

/** The way from a host to an address; `to` is the host that has it, if one has. */
export interface Route {
  readonly device: Host.DeviceState
  readonly local: NetAddress.InetAddress
  readonly to: Host.HostState | undefined
  readonly remote: NetAddress.InetAddress
}

export const routeOf = (
  fabric: Host.FabricState,
  host: Host.HostState,
  local: NetAddress.InetAddress,
  remote: NetAddress.InetAddress
): Route | Errno.ErrnoName => {
  const own = placesOf(host)
  const [first] = own
  if (first === undefined) return "ENODEV"
  const from = (place: Place) => NetAddress.isUnspecified(local.address) ? addressOf(place.gid, local.port) : local
  if (NetAddress.isLoopback(remote.address) || NetAddress.isUnspecified(remote.address)) {
    return { device: first.device, local: from(first), to: host, remote: addressOf(first.gid, remote.port) }
  }
  const to = gidOf(remote)
  const link = own.find(({ gid }) => isOnLink(gid, to))
  if (link === undefined) return "ENETUNREACH"
  const owner = Array.from(fabric.hosts.values()).find((host) =>
    placesOf(host).some(({ gid }) => Gid.Equivalence(gid, to))
  )
  return { device: link.device, local: from(link), to: owner, remote }
}

/** Whether two that share a port are at the same address. */
export const isSame = (self: NetAddress.InetAddress, that: NetAddress.InetAddress): boolean =>
  NetAddress.isUnspecified(self.address) || NetAddress.isUnspecified(that.address) ||
  Gid.Equivalence(gidOf(self), gidOf(that))

/** Whether a listener takes connections to an address. */
export const hears = ({ local, options, step }: RSocketState, address: NetAddress.InetAddress): boolean => {
  if (step !== "listening" || local.port !== address.port) return false
  return NetAddress.isUnspecified(local.address)
    ? local._tag === address._tag || (local._tag === "InetAddressV6" && options.Ipv6Only === 0)
    : Gid.Equivalence(gidOf(local), gidOf(address))
}

// Networks of the fabric are /24 for IPv4 and /64 for IPv6.
const isOnLink = (self: Gid.Gid, that: Gid.Gid): boolean =>
  Gid.subnetPrefix(self) === Gid.subnetPrefix(that) &&
  (!Gid.isIpv4Mapped(self) || Gid.interfaceId(self) >> 8n === Gid.interfaceId(that) >> 8n)
