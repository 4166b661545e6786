import type * as Errno from "@effect-rdma/core/Errno"
import * as Gid from "@effect-rdma/core/Gid"
import type * as AddressInfoAttributes from "@effect-rdma/rdmacm/AddressInfoAttributes"
import type * as CmAddress from "@effect-rdma/rdmacm/CmAddress"
import * as PortSpace from "@effect-rdma/rdmacm/PortSpace"
import type { RdmaCm } from "@effect-rdma/rdmacm/RdmaCm"
import * as Effect from "effect/Effect"
import * as NetAddress from "effect/net/NetAddress"
import * as Result from "effect/Result"
import type * as Host from "../host.ts"
import * as Address from "./address.ts"
import { type CmState, fail } from "./state.ts"

/** Looking up names: those of the fabric's hosts, `localhost`, and numbers. */
export const make = (state: CmState) =>
  ({
    getaddrinfo: (node, service, hints) =>
      Effect.suspend(() => {
        const call = "rdma_getaddrinfo"
        const input = { ...(node === undefined ? {} : { node }), ...(service === undefined ? {} : { service }) }
        const found = lookUp(state.fabric, node, service, hints)
        return typeof found === "string" ? fail(call, found, input) : Effect.succeed(found)
      })
  }) satisfies Partial<RdmaCm["Service"]>

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

/** It gives the first address alone, as librdmacm does; and none whose port space or type nobody knows. */
const lookUp = (
  fabric: Host.FabricState,
  node: string | undefined,
  service: string | undefined,
  hints: AddressInfoAttributes.Hints
): ReadonlyArray<AddressInfoAttributes.AddressInfo> | Errno.ErrnoName => {
  const { destination, flags = [], portSpace, qpType, source } = hints
  const nothing = {
    sourceName: undefined,
    destinationName: undefined,
    route: new Uint8Array(),
    connect: new Uint8Array()
  }
  if (node === undefined && service === undefined) {
    return portSpace === undefined || qpType === undefined
      ? []
      : [{ ...nothing, flags, portSpace, qpType, source, destination }]
  }
  const isDatagram = qpType === undefined ? portSpace === "udp" || portSpace === "ipoib" : qpType === "ud"
  const port = service === undefined ? 0 : portOf(service)
  if (typeof port === "string") return port
  const isPassive = flags.includes("passive")
  const family = flags.includes("family") ? hints.family : undefined
  const address = addressOf(fabric, node, port, family, isPassive, flags.includes("numericHost"))
  if (typeof address === "string") return address
  const kinds = {
    flags: isPassive ? ["passive"] as const : [],
    portSpace: portSpace ?? (isDatagram ? "udp" : "tcp"),
    qpType: qpType ?? (isDatagram ? "ud" : "rc")
  }
  const found = family === "ib" && flags.includes("numericHost") ? ibAddressOf(kinds.portSpace, address) : address
  return [
    isPassive
      ? { ...nothing, ...kinds, source: found, destination: undefined }
      : { ...nothing, ...kinds, source, destination: found }
  ]
}

const portOf = (service: string): number | Errno.ErrnoName => {
  const port = /^\d+$/.test(service) ? Number(service) : wellKnown[service]
  return port === undefined ? "EPROTONOSUPPORT" : port & 0xffff
}

const wellKnown: { readonly [service: string]: number } = { ssh: 22, http: 80, https: 443 }

const addressOf = (
  fabric: Host.FabricState,
  node: string | undefined,
  port: number,
  family: AddressInfoAttributes.Hints["family"],
  isPassive: boolean,
  isNumeric: boolean
): CmAddress.CmAddress | Errno.ErrnoName => {
  const isWanted = (address: CmAddress.CmAddress) =>
    family === undefined || family === "ib" || address._tag === (family === "ipv4" ? "InetAddressV4" : "InetAddressV6")
  const addresses: ReadonlyArray<CmAddress.CmAddress> = node === undefined
    ? (isPassive
      ? [NetAddress.ipv4Unspecified, NetAddress.ipv6Unspecified]
      : [NetAddress.ipv6Loopback, NetAddress.ipv4Loopback]).map((ip) => NetAddress.inetAddressUnsafe(ip, port))
    : numbersOf(node, port) ?? (isNumeric ? [] : namesOf(fabric, node, port))
  if (addresses.length === 0) return "ENOENT"
  return addresses.find(isWanted) ?? "ENODATA"
}

const numbersOf = (node: string, port: number): ReadonlyArray<CmAddress.CmAddress> | undefined => {
  const address = NetAddress.inetAddressFromHostString(node, port)
  return Result.isSuccess(address) ? [address.success] : undefined
}

const namesOf = ({ hosts }: Host.FabricState, node: string, port: number): ReadonlyArray<CmAddress.CmAddress> => {
  if (node === "localhost") return [NetAddress.inetAddressUnsafe(NetAddress.ipv4Loopback, port)]
  const own = hosts.get(node)?.devices.flatMap((device) =>
    device.ipAddresses.map((address) => ({ ...address, device }))
  )
  return (own ?? [])
    .filter(({ ip }) => !Gid.isLinkLocal(ip))
    .map((place) => Address.at(place, Address.any, port))
}

/** A GID in numbers is an address of InfiniBand, and the port is in its service ID. */
const ibAddressOf = (portSpace: PortSpace.PortSpace, address: CmAddress.CmAddress): CmAddress.IbAddress => ({
  _tag: "IbAddress",
  pkey: 0xffff,
  flowInfo: 0,
  gid: Address.gidOf(address),
  sid: BigInt(PortSpace.toNative(portSpace) << 16) + BigInt(Address.portOf(address)),
  sidMask: Address.portOf(address) === 0 ? 0xffff_ffff_ffff_0000n : 0xffff_ffff_ffff_ffffn,
  scopeId: 0n
})
