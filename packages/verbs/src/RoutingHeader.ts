/**
 * The 40 bytes in front of a received datagram: the global routing header of InfiniBand and RoCE v1, which is an IPv6
 * header, or the IP header of RoCE v2. An IPv4 header is 20 bytes long and sits in the last 20 of the 40.
 *
 * Pure: bytes to value and back.
 *
 * @since 0.1.0
 */
import * as Gid from "@effect-rdma/core/Gid"
import * as ReceivedDatagram from "./ReceivedDatagram.ts"

/**
 * The header of IPv6 form. `nextHeader` tells what follows: {@link nextHeaderUdp} or {@link nextHeaderIb}.
 *
 * @category models
 * @since 0.1.0
 */
export interface Global {
  readonly _tag: "Global"
  readonly trafficClass: number
  readonly flowLabel: number
  readonly payloadLength: number
  readonly nextHeader: number
  readonly hopLimit: number
  readonly sgid: Gid.Gid
  readonly dgid: Gid.Gid
}

/**
 * The header of IPv4 form; its addresses as IPv4-mapped GIDs. `flowLabel` is what the 20 bytes before it would say: a
 * device may leave anything there, and `ibv_init_ah_from_wc` takes it.
 *
 * @category models
 * @since 0.1.0
 */
export interface Ipv4 {
  readonly _tag: "Ipv4"
  readonly typeOfService: number
  readonly flowLabel: number
  readonly timeToLive: number
  readonly sgid: Gid.Gid
  readonly dgid: Gid.Gid
}

/**
 * The type of {@link RoutingHeader}.
 *
 * @category models
 * @since 0.1.0
 */
export type RoutingHeader = Global | Ipv4

/**
 * UDP follows: RoCE v2.
 *
 * @category constants
 * @since 0.1.0
 */
export const nextHeaderUdp = 17

/**
 * A base transport header follows: InfiniBand and RoCE v1.
 *
 * @category constants
 * @since 0.1.0
 */
export const nextHeaderIb = 0x1b

/**
 * Reads the 40 bytes; `undefined` when they are neither form. Both can be meant when the first byte says version 6: then
 * it is IPv4 only if the last 20 bytes have a right checksum. Throws a `RangeError` for fewer than 40 bytes.
 *
 * @category constructors
 * @since 0.1.0
 */
export const fromBytes = (bytes: Uint8Array): RoutingHeader | undefined => {
  if (bytes.length < ReceivedDatagram.routingHeaderBytes) {
    throw new RangeError(`a routing header has ${ReceivedDatagram.routingHeaderBytes} bytes, not ${bytes.length}`)
  }
  const view = new DataView(bytes.buffer, bytes.byteOffset, ReceivedDatagram.routingHeaderBytes)
  const versionClassFlow = view.getUint32(0)
  const versionAndLength = view.getUint8(ipv4Offset)
  const isIpv4 = versionClassFlow >>> 28 === 6
    ? (versionAndLength & 0xf) === 5 && checksum(view) === view.getUint16(checksumOffset)
    : versionAndLength >> 4 === 4
  if (isIpv4) {
    return {
      _tag: "Ipv4",
      typeOfService: view.getUint8(ipv4Offset + 1),
      flowLabel: versionClassFlow & 0xfffff,
      timeToLive: view.getUint8(ipv4Offset + 8),
      sgid: mapped(view.getUint32(ipv4Offset + 12)),
      dgid: mapped(view.getUint32(ipv4Offset + 16))
    }
  }
  if (versionClassFlow >>> 28 !== 6) return undefined
  return {
    _tag: "Global",
    trafficClass: (versionClassFlow >>> 20) & 0xff,
    flowLabel: versionClassFlow & 0xfffff,
    payloadLength: view.getUint16(4),
    nextHeader: view.getUint8(6),
    hopLimit: view.getUint8(7),
    sgid: Gid.fromBytes(bytes, 8),
    dgid: Gid.fromBytes(bytes, 24)
  }
}

/**
 * Writes the 40 bytes, an IPv4 header with its checksum.
 *
 * @category getters
 * @since 0.1.0
 */
export const toBytes = (header: RoutingHeader): Uint8Array => {
  const bytes = new Uint8Array(ReceivedDatagram.routingHeaderBytes)
  const view = new DataView(bytes.buffer)
  if (header._tag === "Global") {
    view.setUint32(0, ((6 << 28) | (header.trafficClass << 20) | header.flowLabel) >>> 0)
    view.setUint16(4, header.payloadLength)
    view.setUint8(6, header.nextHeader)
    view.setUint8(7, header.hopLimit)
    bytes.set(header.sgid, 8)
    bytes.set(header.dgid, 24)
    return bytes
  }
  view.setUint32(0, header.flowLabel)
  view.setUint8(ipv4Offset, 0x45)
  view.setUint8(ipv4Offset + 1, header.typeOfService)
  view.setUint16(ipv4Offset + 2, ipv4Bytes)
  view.setUint8(ipv4Offset + 8, header.timeToLive)
  view.setUint8(ipv4Offset + 9, nextHeaderUdp)
  bytes.set(header.sgid.subarray(12), ipv4Offset + 12)
  bytes.set(header.dgid.subarray(12), ipv4Offset + 16)
  view.setUint16(checksumOffset, checksum(view))
  return bytes
}

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

const ipv4Offset = 20
const ipv4Bytes = 20
const checksumOffset = ipv4Offset + 10

const mapped = (address: number): Gid.Gid => Gid.fromParts(0n, 0xffff_0000_0000n | BigInt(address))

// The ones' complement sum over the header, without the checksum itself.
const checksum = (view: DataView): number => {
  let sum = 0
  for (let offset = ipv4Offset; offset < ipv4Offset + ipv4Bytes; offset += 2) {
    if (offset !== checksumOffset) sum += view.getUint16(offset)
  }
  sum = (sum & 0xffff) + (sum >>> 16)
  return ~((sum & 0xffff) + (sum >>> 16)) & 0xffff
}
