// The fields of MADs that packets are routed by, at their bytes: what passes a switch is not decoded.

export const classOf = (mad: Uint8Array): number => mad[1] ?? 0
export const methodOf = (mad: Uint8Array): number => mad[3] ?? 0
export const attributeOf = (mad: Uint8Array): number => viewOf(mad).getUint16(16)
export const modifierOf = (mad: Uint8Array): number => viewOf(mad).getUint32(20)
export const isResponse = (mad: Uint8Array): boolean => (methodOf(mad) & 0x80) !== 0

export const isSubnetManagement = (mad: Uint8Array): boolean => classOf(mad) === lidRouted || isDirected(mad)
export const isDirected = (mad: Uint8Array): boolean => classOf(mad) === directed
export const isReturning = (mad: Uint8Array): boolean => ((mad[4] ?? 0) & 0x80) !== 0
export const hopPointer = (mad: Uint8Array): number => mad[6] ?? 0
export const hopCount = (mad: Uint8Array): number => mad[7] ?? 0
export const setHopPointer = (mad: Uint8Array, hop: number): void => void (mad[6] = hop)
export const sourceLid = (mad: Uint8Array): number => viewOf(mad).getUint16(32)
export const destinationLid = (mad: Uint8Array): number => viewOf(mad).getUint16(34)

export const initialPath = 128
export const returnPath = 192
export const maximumHops = 63

export const method = { get: 0x01, set: 0x02, trap: 0x05, report: 0x06, trapRepress: 0x07, getResp: 0x81 } as const

/** What a manager or an agent of the firmware has against a request. */
export const status = { ok: 0, version: 0x04, method: 0x08, attribute: 0x0c, field: 0x1c } as const

/** The response of a request: a copy with status, data from a byte on, and the direction of a directed route. */
export const response = (request: Uint8Array, status: number, data: Uint8Array, offset: number): Uint8Array => {
  const mad = request.slice()
  mad[3] = method.getResp
  viewOf(mad).setUint16(4, status | (isDirected(request) ? 0x8000 : 0))
  mad.set(data, offset)
  return mad
}

export const viewOf = (bytes: Uint8Array): DataView => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

const lidRouted = 0x01
const directed = 0x81
