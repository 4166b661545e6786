/**
 * What every MAD begins with, as far as sending and matching need it: the common MAD header of the InfiniBand
 * architecture (chapter 13.4.2).
 *
 * @since 0.1.0
 */

/** Bytes of the common header, and of a MAD that is not longer than one packet. */
export const size = 24
export const packetSize = 256

// Byte by byte: a DataView for each would take longer than all else here.
const unsigned16 = (mad: Uint8Array, at: number): number => mad[at]! << 8 | mad[at + 1]!

const unsigned32 = (mad: Uint8Array, at: number): number => (unsigned16(mad, at) << 16 | unsigned16(mad, at + 2)) >>> 0

const setUnsigned32 = (mad: Uint8Array, at: number, value: number): void => {
  for (let byte = 0; byte < 4; byte++) mad[at + byte] = value >>> (24 - 8 * byte)
}

export const mgmtClass = (mad: Uint8Array): number => mad[1]!

export const classVersion = (mad: Uint8Array): number => mad[2]!

export const method = (mad: Uint8Array): number => mad[3]!

/** Without the direction bit that directed-route SMPs carry there. */
export const status = (mad: Uint8Array): number =>
  unsigned16(mad, 4) & (mgmtClass(mad) === directedRoute ? 0x7fff : 0xffff)

export const attributeId = (mad: Uint8Array): number => unsigned16(mad, 16)

/** The half that is the sender's: the kernel writes the number of the agent into the other. */
export const lowTransactionId = (mad: Uint8Array): number => unsigned32(mad, 12)

export const setTransactionId = (mad: Uint8Array, high: number, low: number): void => {
  setUnsigned32(mad, 8, high)
  setUnsigned32(mad, 12, low)
}

/** As the kernel tells a response: the bit of the method, TrapRepress, or the attribute modifier of a BM MAD. */
export const isResponse = (mad: Uint8Array): boolean =>
  (method(mad) & 0x80) !== 0 || method(mad) === trapRepress ||
  (mgmtClass(mad) === baseboardManagement && (mad[23]! & 1) !== 0)

export const isSubnetManagement = (mgmtClass: number): boolean => mgmtClass === lidRouted || mgmtClass === directedRoute

const lidRouted = 0x01
const directedRoute = 0x81
const baseboardManagement = 0x05
const trapRepress = 0x07
