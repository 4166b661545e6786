import type * as Errno from "@effect-rdma/core/Errno"
import * as Gid from "@effect-rdma/core/Gid"
import * as Identifier from "@effect-rdma/core/Identifier"
import type * as CmAddress from "@effect-rdma/rdmacm/CmAddress"
import * as NetAddress from "effect/net/NetAddress"
import * as Result from "effect/Result"
import * as Host from "../host.ts"
import { isMulticast } from "../verbs/address.ts"
import * as VerbsRoute from "../verbs/route.ts"

/** Where a host has an address. For an address of InfiniBand, `ip` is the GID itself. */
export interface Interface extends Host.IpAddress {
  readonly device: Host.DeviceState
}

/** Where a destination is reached from, and who has it. A group is nobody's. */
export interface Route {
  readonly from: Interface
  readonly to: Interface | undefined
}

/** What comes of looking for an address: after the time that it takes, or after the time that there is. */
export interface Resolution {
  readonly route: Route | undefined
  readonly status: Errno.ErrnoName | 0
}

export const gidOf = (address: CmAddress.CmAddress): Gid.Gid =>
  address._tag === "IbAddress"
    ? address.gid
    : Gid.fromBytes(Uint8Array.from(NetAddress.ipv6ToOctets(
      address.address._tag === "Ipv4Address" ? NetAddress.toIpv4Mapped(address.address) : address.address
    )))

/** The address of an interface, of the family of another address. */
export const at = ({ ip, ndevIfindex }: Interface, like: CmAddress.CmAddress, port: number): CmAddress.CmAddress => {
  if (like._tag === "IbAddress") return withPort({ ...like, gid: ip }, port)
  if (Gid.isIpv4Mapped(ip)) {
    return Result.getOrThrow(NetAddress.inetAddressV4(NetAddress.ipv4FromBytesUnsafe(ip.slice(12)), port))
  }
  const scopeId = Gid.isLinkLocal(ip) ? ndevIfindex : 0
  return Result.getOrThrow(
    NetAddress.inetAddressV6(NetAddress.ipv6FromBytesUnsafe(Uint8Array.from(ip)), port, { scopeId })
  )
}

/** The wildcard address of the family of another one. */
export const anyLike = (address: CmAddress.CmAddress): CmAddress.CmAddress => {
  switch (address._tag) {
    case "InetAddressV4":
      return any
    case "InetAddressV6":
      return Result.getOrThrow(NetAddress.inetAddressV6(NetAddress.ipv6Unspecified, 0))
    case "IbAddress":
      return { ...address, gid: Gid.zero(), sid: address.sid & ~0xffffn }
  }
}

export const any: CmAddress.CmAddress = Result.getOrThrow(NetAddress.inetAddressV4(NetAddress.ipv4Unspecified, 0))

export const isAny = (address: CmAddress.CmAddress): boolean =>
  address._tag === "IbAddress" ? Gid.isZero(address.gid) : NetAddress.isUnspecified(address.address)

/** That of a service ID of IP is in its last two bytes. */
export const portOf = (address: CmAddress.CmAddress): number =>
  address._tag === "IbAddress" ? Number(address.sid & 0xffffn) : address.port

export const withPort = (address: CmAddress.CmAddress, port: number): CmAddress.CmAddress => {
  switch (address._tag) {
    case "InetAddressV4":
      return Result.getOrThrow(NetAddress.inetAddressV4(address.address, port))
    case "InetAddressV6":
      return Result.getOrThrow(NetAddress.inetAddressV6(address.address, port, { scopeId: address.scopeId }))
    case "IbAddress":
      return { ...address, sid: (address.sid & ~0xffffn) | BigInt(port) }
  }
}

/** Where a host has an address to bind to, none for the wildcard and for loopback, which no device has; or why not. */
export const interfaceOf = (
  host: Host.HostState,
  address: CmAddress.CmAddress
): { readonly place: Interface | undefined } | Errno.ErrnoName => {
  if (isAny(address) || (address._tag === "InetAddressV4" && NetAddress.isLoopback(address.address))) {
    return { place: undefined }
  }
  if (isUnscoped(address)) return "EINVAL"
  const gid = gidOf(address)
  const isMapped = address._tag === "InetAddressV6" && Gid.isIpv4Mapped(gid)
  const place = interfacesOf(host, address).find(({ ip }) => Gid.Equivalence(ip, gid))
  return place === undefined || isMapped ? "EADDRNOTAVAIL" : { place }
}

export const isLoopback = (address: CmAddress.CmAddress | undefined): boolean =>
  address !== undefined && address._tag !== "IbAddress" && NetAddress.isLoopback(address.address)

/** A route, or the errno with which the kernel refuses at once; of IP measured on rxe of Linux 6.1. */
export const resolve = (
  fabric: Host.FabricState,
  host: Host.HostState,
  source: CmAddress.CmAddress,
  destination: CmAddress.CmAddress
): Resolution | Errno.ErrnoName => {
  const own = interfacesOf(host, destination)
  const from = isAny(source) ? undefined : own.find(({ ip }) => Gid.Equivalence(ip, gidOf(source)))
  const to = gidOf(destination)
  if (destination._tag === "IbAddress" || source._tag === "IbAddress") {
    const link = from ?? own.find(({ ip }) => Gid.subnetPrefix(ip) === Gid.subnetPrefix(to))
    return link === undefined ? "ENODEV" : { route: { from: link, to: ownerOf(fabric, destination) }, status: 0 }
  }
  if (NetAddress.isLoopback(source.address)) return failed("ENODEV")
  if (from === undefined && !isAny(source)) return "EADDRNOTAVAIL"
  if (NetAddress.isLoopback(destination.address) || NetAddress.isUnspecified(destination.address)) {
    const link = from ?? own[0]
    return link === undefined ? failed("ENODEV") : { route: { from: link, to: link }, status: 0 }
  }
  if (isMulticast(to)) {
    return from === undefined ? "ENETUNREACH" : { route: { from, to: undefined }, status: 0 }
  }
  if (destination._tag === "InetAddressV6" && Gid.isIpv4Mapped(to)) return "ENETUNREACH"
  const link = own.find(({ ip, ndevIfindex }) =>
    isOnLink(ip, to) &&
    (!Gid.isLinkLocal(ip) || destination._tag === "InetAddressV6" && destination.scopeId === ndevIfindex)
  )
  if (link === undefined) return Gid.isLinkLocal(to) ? failed("ENODEV") : "ENETUNREACH"
  const owner = ownerOf(fabric, destination)
  return owner !== undefined && isOpen(fabric, link, owner)
    ? { route: { from: link, to: owner }, status: 0 }
    : failed("ETIMEDOUT")
}

/** Whether what is sent from one arrives at the other now. */
export const isOpen = (fabric: Host.FabricState, from: Interface, to: Interface): boolean =>
  from.device.plugged && from.source.type === to.source.type &&
  VerbsRoute.isOpen(fabric, from.device, from.portNum, { device: to.device, portNum: to.portNum })

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

const failed = (status: Errno.ErrnoName): Resolution => ({ route: undefined, status })

const isUnscoped = (address: CmAddress.CmAddress): boolean =>
  address._tag === "InetAddressV6" && NetAddress.isLinkLocal(address.address) && address.scopeId === 0

/** What a host has of the family of an address. */
const interfacesOf = (host: Host.HostState, like: CmAddress.CmAddress): ReadonlyArray<Interface> =>
  host.devices.flatMap((device) =>
    like._tag === "IbAddress"
      ? device.description.ports.filter((port) => port.linkLayer === "infiniband" && port.number > 0).flatMap((port) =>
        Host.gidsOf(port).map((source) => ({
          device,
          ip: source.gid,
          ndevIfindex: 0,
          portNum: Identifier.PortNumber.make(port.number),
          source
        }))
      )
      : device.ipAddresses.map((address) => ({ ...address, device }))
  )

/** Who answers for an address. */
const ownerOf = (fabric: Host.FabricState, address: CmAddress.CmAddress): Interface | undefined =>
  Array.from(fabric.hosts.values()).flatMap((host) => interfacesOf(host, address))
    .find(({ ip }) => Gid.Equivalence(ip, gidOf(address)))

// Networks of the fabric are /24 for IPv4 and /64 for IPv6.
const isOnLink = (self: Gid.Gid, that: Gid.Gid): boolean =>
  Gid.subnetPrefix(self) === Gid.subnetPrefix(that) &&
  (!Gid.isIpv4Mapped(self) || Gid.interfaceId(self) >> 8n === Gid.interfaceId(that) >> 8n)
