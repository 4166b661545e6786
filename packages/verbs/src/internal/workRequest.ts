/**
 * From requests as people write them to those of the seam. What C would not survive, or tell by a completion only, is
 * refused here.
 *
 * @since 0.1.0
 */
import * as Resource from "@effect-rdma/core/Resource"
import type * as Types from "effect/Types"
import type * as DeviceContext from "../DeviceContext.ts"
import type * as MemoryRegion from "../MemoryRegion.ts"
import type * as DataPath from "../operations/DataPath.ts"
import type * as SendBatch from "../operations/SendBatch.ts"
import type * as QueuePair from "../QueuePair.ts"
import type * as QueuePairType from "../QueuePairType.ts"
import type * as WorkRequest from "../WorkRequest.ts"
import { ensureUnsigned, ensureUnsigned64, refused } from "./refused.ts"
import * as WindowBinding from "./windowBinding.ts"

type Owner = Resource.Any & { readonly context: DeviceContext.DeviceContext }

/** A request with the number that the caller gave; ours is still to be written in its place. */
export type Numbered<Request> = Omit<Request, "wrId"> & { wrId: bigint }

/** Sends of a queue pair that can do them, looked at in one turn. Throws what is refused. */
export const encodeSends = (
  self: QueuePair.QueuePair,
  requests: ReadonlyArray<WorkRequest.SendRequest>
): Array<Numbered<DataPath.SendRequest>> => {
  const able = ableTo[self.qpType]
  ensured = undefined
  const all: Array<Numbered<DataPath.SendRequest>> = []
  for (const request of requests) {
    const { opcode } = request
    if (able[opcode] !== true) {
      throw refused(call, "EINVAL", "A queue pair of this type has no such request", { opcode, qpType: self.qpType })
    }
    const native = encodeSend(self, request)
    native.wrId = wrIdOf(call, request)
    all.push(native)
  }
  return all
}

/** Receives of a queue with room for so many pieces in each, looked at in one turn. Throws what is refused. */
export const encodeReceives = (
  call: string,
  owner: Owner,
  requests: ReadonlyArray<WorkRequest.ReceiveRequest>,
  maxSge: number
): Array<Numbered<DataPath.ReceiveRequest>> => {
  ensured = undefined
  return requests.map((request) => ({
    wrId: wrIdOf(call, request),
    sgList: encodePieces(call, owner, request.sgList, maxSge)
  }))
}

/** The handles that a request needs until it has completed. */
export const handlesOf = (request: WorkRequest.SendRequest | WorkRequest.ReceiveRequest): Array<Resource.Any> => {
  const handles: Array<Resource.Any> = []
  if ("sgList" in request && request.sgList !== undefined) {
    for (const piece of request.sgList) if ("region" in piece) handles.push(piece.region)
  }
  if ("to" in request && request.to !== undefined) handles.push(request.to.ah)
  if ("bind" in request) handles.push(request.bind.window, request.bind.region)
  return handles
}

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

const call = "ibv_post_send"

/** What a request may have; `in` would cost more than all of the rest. */
interface Memory {
  readonly opcode?: unknown
  readonly inlineData?: Uint8Array
  readonly sgList?: ReadonlyArray<WorkRequest.Sge>
}

const noPieces: ReadonlyArray<SendBatch.Piece> = []
const noFlags: ReadonlyArray<SendBatch.SendFlag> = []

/** What is no number here would be found by the poll that brings it back, and be the end of it. */
const wrIdOf = (call: string, { wrId }: { readonly wrId?: bigint }): bigint =>
  wrId === undefined ? 0n : ensureUnsigned64(call, "wrId", wrId)

type Able = { readonly [Opcode in WorkRequest.SendRequest["opcode"]]?: true }

const ofConnected: Able = {
  send: true,
  sendWithImm: true,
  sendWithInv: true,
  rdmaWrite: true,
  rdmaWriteWithImm: true,
  localInv: true,
  bindMw: true
}
const ofReliable: Able = { ...ofConnected, rdmaRead: true, atomicCmpAndSwp: true, atomicFetchAndAdd: true }

/** Which types of queue pairs have which requests: the table of `ibv_post_send(3)`. */
const ableTo: { readonly [Type in QueuePairType.QueuePairType]: Able } = {
  rc: ofReliable,
  uc: ofConnected,
  ud: { send: true, sendWithImm: true, tso: true },
  xrcSend: ofReliable,
  xrcRecv: {},
  rawPacket: { send: true, tso: true }
}

const encodeSend = (
  self: QueuePair.QueuePair,
  request: WorkRequest.SendRequest
): Numbered<DataPath.SendRequest> => {
  const { opcode } = request
  // All fields in each: requests of several shapes cost more.
  const native: Types.Mutable<DataPath.SendRequest> = {
    wrId: 0n,
    opcode,
    sgList: noPieces,
    flags: request.flags === undefined ? noFlags : flagsOf(request.flags),
    inlineData: undefined,
    immData: undefined,
    invalidateRkey: undefined,
    remote: undefined,
    compareAdd: undefined,
    swap: undefined,
    ud: undefined,
    remoteSrqn: undefined,
    bind: undefined,
    tso: undefined
  }
  if (self.qpType === "ud") native.ud = datagramOf(self, request.to)
  else if (self.qpType === "xrcSend") native.remoteSrqn = ensureUnsigned(call, "remoteSrqn", request.remoteSrqn)
  switch (opcode) {
    case "send":
      break
    case "sendWithImm":
      native.immData = ensureUnsigned(call, "immData", request.immData)
      break
    case "localInv":
    case "sendWithInv":
      native.invalidateRkey = ensureUnsigned(call, "invalidateRkey", request.invalidateRkey)
      break
    case "rdmaWriteWithImm":
      native.immData = ensureUnsigned(call, "immData", request.immData)
      native.remote = remoteOf(request.remote)
      break
    case "rdmaWrite":
    case "rdmaRead":
      native.remote = remoteOf(request.remote)
      break
    case "atomicCmpAndSwp":
      native.remote = remoteOf(request.remote)
      native.compareAdd = ensureUnsigned64(call, "compare", request.compare)
      native.swap = ensureUnsigned64(call, "swap", request.swap)
      break
    case "atomicFetchAndAdd":
      native.remote = remoteOf(request.remote)
      native.compareAdd = ensureUnsigned64(call, "add", request.add)
      break
    case "bindMw":
      native.bind = bindOf(self, request.bind)
      break
    case "tso":
      ensureUnsigned(call, "mss", request.mss, 16)
      ensureUnsigned(call, "header.length", request.header.length, 16)
      native.tso = { header: request.header, mss: request.mss }
      break
  }
  const { inlineData, sgList }: Memory = request
  if (inlineData !== undefined) {
    const length = ensureUnsigned(call, "inlineData.length", inlineData.length)
    if (length > self.cap.maxInlineData) {
      const hint = `The queue pair was made for ${self.cap.maxInlineData} bytes of inline data: cap.maxInlineData`
      throw refused(call, "EINVAL", hint, { opcode, length })
    }
    native.inlineData = inlineData
  } else if (sgList !== undefined) native.sgList = encodePieces(call, self, sgList, self.cap.maxSendSge)
  return native
}

const knownFlags: { readonly [Flag in SendBatch.SendFlag]: true } = {
  fence: true,
  signaled: true,
  solicited: true,
  ipCsum: true
}

/** One that C does not know would be left out there, and waited for here: `signaled` above all. */
const flagsOf = (flags: ReadonlyArray<SendBatch.SendFlag>): ReadonlyArray<SendBatch.SendFlag> => {
  for (const flag of flags) {
    if (knownFlags[flag] !== true) throw refused(call, "EINVAL", "There is no such flag", { flag: String(flag) })
  }
  return flags
}

const ensureOnDevice = (call: string, owner: Owner, other: Owner): void => {
  const { context } = owner
  if (other.context === context) return
  if (other.context.verbs === context.verbs && Resource.raw(other.context) === Resource.raw(context)) return
  throw refused(call, "EINVAL", "It must be of the device context of the queue", { given: Resource.nameOf(other) })
}

/** The region that was looked at last in this turn, in which nothing is released: many pieces are mostly of one. */
let ensured: MemoryRegion.MemoryRegion | undefined

const encodePieces = (
  call: string,
  owner: Owner,
  pieces: ReadonlyArray<WorkRequest.Sge>,
  max: number
): ReadonlyArray<SendBatch.Piece> => {
  // Most requests have one.
  if (pieces.length === 1 && max > 0) return [encodePiece(call, owner, pieces[0]!)]
  if (pieces.length <= max) return pieces.map((piece) => encodePiece(call, owner, piece))
  const hint = `The queue was made for ${max} pieces in a request: maxSge`
  throw refused(call, "EINVAL", hint, { pieces: pieces.length })
}

const encodePiece = (call: string, owner: Owner, piece: WorkRequest.Sge): SendBatch.Piece => {
  if (!isOfRegion(piece)) {
    ensureUnsigned64(call, "addr", piece.addr)
    ensureUnsigned(call, "length", piece.length)
    ensureUnsigned(call, "lkey", piece.lkey)
    return piece
  }
  const { offset = 0, region } = piece
  if (region !== ensured) {
    // Throws for one that is released.
    Resource.raw(region)
    ensureOnDevice(call, owner, region)
    ensured = region
  }
  const { bytes } = region
  // Most have bytes, and a number from a bigint costs more than all of the rest.
  const size = bytes.length === 0 ? Number(region.length) : bytes.length
  const { length = size - offset } = piece
  ensureUnsigned(call, "length", length)
  if (!Number.isInteger(offset) || offset < 0 || offset + length > size) {
    throw refused(call, "EINVAL", `The region has ${region.length} bytes`, { offset, length })
  }
  return { addr: offset === 0 ? region.address : region.address + BigInt(offset), length, lkey: region.lkey }
}

const isOfRegion = (piece: WorkRequest.Sge): piece is Exclude<WorkRequest.Sge, SendBatch.Piece> =>
  (piece as { readonly region?: unknown }).region !== undefined

const remoteOf = (remote: SendBatch.Remote): SendBatch.Remote => {
  ensureUnsigned64(call, "remoteAddr", remote.remoteAddr)
  ensureUnsigned(call, "rkey", remote.rkey)
  return remote
}

const datagramOf = (self: QueuePair.QueuePair, to: WorkRequest.Datagram | undefined): DataPath.Datagram => {
  if (to === undefined) throw refused(call, "EINVAL", "A datagram needs a receiver: to")
  const { ah, remoteQkey, remoteQpn } = to
  // The library follows the pointer of any other handle as well.
  if (ah.kind !== "AddressHandle") {
    throw refused(call, "EINVAL", "A datagram needs an address handle", { given: Resource.nameOf(ah) })
  }
  ensureOnDevice(call, self, ah)
  return {
    ah: Resource.raw(ah),
    remoteQpn: ensureUnsigned(call, "remoteQpn", remoteQpn, 24),
    remoteQkey: ensureUnsigned(call, "remoteQkey", remoteQkey)
  }
}

const bindOf = (self: QueuePair.QueuePair, bind: WorkRequest.Bind): DataPath.Bind => {
  const { access, region, rkey, window } = bind
  if (window.type !== 2) {
    throw refused(call, "EINVAL", "Windows of type 1 are bound by MemoryWindow.bind", { type: window.type })
  }
  ensureOnDevice(call, self, window)
  ensureOnDevice(call, self, region)
  const { addr, length } = WindowBinding.ensurePart(call, bind)
  return {
    mw: Resource.raw(window),
    mr: Resource.raw(region).mr,
    rkey: ensureUnsigned(call, "rkey", rkey),
    addr,
    length,
    access
  }
}
