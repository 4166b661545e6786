/**
 * Internet addresses as `struct sockaddr`.
 *
 * @since 0.1.0
 */
import * as NetAddress from "effect/net/NetAddress"
import * as Layout from "./Layout.ts"

const AF_INET = 2
const AF_INET6 = 10

export const encode = (address: NetAddress.InetAddress): DataView<ArrayBuffer> => {
  if (NetAddress.isInetAddressV4(address)) {
    const view = Layout.SockaddrIn.allocate()
    Layout.SockaddrIn.write(view, {
      sinFamily: AF_INET,
      sinPort: address.port,
      sinAddr: Uint8Array.from(NetAddress.ipv4ToOctets(address.address))
    })
    return view
  }
  const view = Layout.SockaddrIn6.allocate()
  Layout.SockaddrIn6.write(view, {
    sin6Family: AF_INET6,
    sin6Port: address.port,
    sin6Addr: Uint8Array.from(NetAddress.ipv6ToOctets(address.address)),
    sin6ScopeId: address.scopeId
  })
  return view
}
