/**
 * Addresses as `struct sockaddr` and back.
 *
 * @since 0.1.0
 */
import * as Gid from "@effect-rdma/core/Gid"
import * as NetAddress from "effect/net/NetAddress"
import * as Result from "effect/Result"
import type * as CmAddress from "../CmAddress.ts"
import * as Layout from "./Layout.ts"

/** The address families, by the names that hints have for them. */
export const families = { ipv4: 2, ipv6: 10, ib: 27 } as const

export const encode = (address: CmAddress.CmAddress): DataView<ArrayBuffer> => {
  if (address._tag === "IbAddress") {
    const view = Layout.SockaddrIb.allocate()
    Layout.SockaddrIb.write(view, {
      sibFamily: families.ib,
      sibPkey: address.pkey,
      sibFlowinfo: address.flowInfo,
      sibAddr: address.gid,
      sibSid: address.sid,
      sibSidMask: address.sidMask,
      sibScopeId: address.scopeId
    })
    return view
  }
  if (NetAddress.isInetAddressV4(address)) {
    const view = Layout.SockaddrIn.allocate()
    Layout.SockaddrIn.write(view, {
      sinFamily: families.ipv4,
      sinPort: address.port,
      sinAddr: Uint8Array.from(NetAddress.ipv4ToOctets(address.address))
    })
    return view
  }
  const view = Layout.SockaddrIn6.allocate()
  Layout.SockaddrIn6.write(view, {
    sin6Family: families.ipv6,
    sin6Port: address.port,
    sin6Addr: Uint8Array.from(NetAddress.ipv6ToOctets(address.address)),
    sin6ScopeId: address.scopeId
  })
  return view
}

/** `undefined` for the family 0 of an address that is not set, and for families that librdmacm has not. */
export const decode = (view: DataView): CmAddress.CmAddress | undefined => {
  const family = Layout.SockaddrIn.fields.sinFamily.get(view)
  if (family === families.ipv4) {
    const { sinAddr, sinPort } = Layout.SockaddrIn.read(view)
    return Result.getOrThrow(NetAddress.inetAddressV4(NetAddress.ipv4FromBytesUnsafe(sinAddr), sinPort))
  }
  if (family === families.ipv6) {
    const { sin6Addr, sin6Port, sin6ScopeId: scopeId } = Layout.SockaddrIn6.read(view)
    return Result.getOrThrow(
      NetAddress.inetAddressV6(NetAddress.ipv6FromBytesUnsafe(sin6Addr), sin6Port, { scopeId })
    )
  }
  if (family !== families.ib) return undefined
  const address = Layout.SockaddrIb.read(view)
  return {
    _tag: "IbAddress",
    pkey: address.sibPkey,
    flowInfo: address.sibFlowinfo,
    gid: Gid.fromBytes(address.sibAddr),
    sid: address.sibSid,
    sidMask: address.sibSidMask,
    scopeId: address.sibScopeId
  }
}
