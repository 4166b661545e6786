/**
 * From requests as people write them to those of the seam. What C would not survive, or tell by a completion only, is
 * refused here.
 *
 * @since 0.1.0
 */
import * as Resource from "@effect-rdma/core/Resource"
import type * as DeviceContext from "../DeviceContext.ts"
import type * as DataPath from "../operations/DataPath.ts"
import type * as SendBatch from "../operations/SendBatch.ts"
import type * as QueuePair from "../QueuePair.ts"
import type * as QueuePairType from "../QueuePairType.ts"
import type * as WorkRequest from "../WorkRequest.ts"
import { ensureUnsigned, ensureUnsigned64, refused } from "./refused.ts"
import * as WindowBinding from "./windowBinding.ts"

type Owner = Resource.Any & { readonly context: DeviceContext.DeviceContext }

/** A request whose number is still to be written. */
export type Numbered<Request> = Omit<Request, "wrId"> & { wrId: bigint }

/** A send of a queue pair that can do it. Throws what is refused. */
export const encodeSend = (
  self: QueuePair.QueuePair,
  request: WorkRequest.SendRequest
): Numbered<DataPath.SendRequest> => {
  const { opcode } = request
  const able: ReadonlySet<QueuePairType.QueuePairType> | undefined = ableTo[opcode]
  if (able === undefined || !able.has(self.qpType)) {
    throw refused(call, "EINVAL", "A queue pair of this type has no such request", { opcode, qpType: self.qpType })
  }
  ensureWrId(call, request)
  const native: Mutable<DataPath.SendRequest> = {
    wrId: 0n,
    opcode,
    sgList: noPieces,
    flags: request.flags ?? noFlags,
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
  if ("inlineData" in request && request.inlineData !== undefined) {
    const { length } = request.inlineData
    if (length > self.cap.maxInlineData) {
      const hint = `The queue pair was made for ${self.cap.maxInlineData} bytes of inline data: cap.maxInlineData`
      throw refused(call, "EINVAL", hint, { opcode, length })
    }
    native.inlineData = request.inlineData
  } else if ("sgList" in request && request.sgList !== undefined) {
    native.sgList = encodePieces(call, self, request.sgList, self.cap.maxSendSge)
  }
  return native
}

/** A receive of a queue with room for so many pieces in each. Throws what is refused. */
export const encodeReceive = (
  call: string,
  owner: Owner,
  request: WorkRequest.ReceiveRequest,
  maxSge: number
): Numbered<DataPath.ReceiveRequest> => {
  ensureWrId(call, request)
  return { wrId: 0n, sgList: encodePieces(call, owner, request.sgList, maxSge) }
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

type Mutable<A> = { -readonly [K in keyof A]: A[K] }

const noPieces: ReadonlyArray<SendBatch.Piece> = []
const noFlags: ReadonlyArray<SendBatch.SendFlag> = []

const reliable = ["rc", "xrcSend"] as const
const connected = [...reliable, "uc"] as const

/** Which types of queue pairs have which requests: the table of `ibv_post_send(3)`. */
const ableTo: { readonly [Opcode in WorkRequest.SendRequest["opcode"]]: ReadonlySet<QueuePairType.QueuePairType> } = {
  send: new Set([...connected, "ud", "rawPacket"]),
  sendWithImm: new Set([...connected, "ud"]),
  sendWithInv: new Set(connected),
  rdmaWrite: new Set(connected),
  rdmaWriteWithImm: new Set(connected),
  rdmaRead: new Set(reliable),
  atomicCmpAndSwp: new Set(reliable),
  atomicFetchAndAdd: new Set(reliable),
  localInv: new Set(connected),
  bindMw: new Set(connected),
  tso: new Set(["ud", "rawPacket"])
}

/** What is no number here would be found by the poll that brings it back, and be the end of it. */
const ensureWrId = (call: string, { wrId }: { readonly wrId?: bigint }): void => {
  if (wrId !== undefined) ensureUnsigned64(call, "wrId", wrId)
}

const ensureOnDevice = (call: string, owner: Owner, other: Owner): void => {
  const { context } = owner
  if (other.context === context) return
  if (other.context.verbs === context.verbs && Resource.raw(other.context) === Resource.raw(context)) return
  throw refused(call, "EINVAL", "It must be of the device context of the queue", { given: Resource.nameOf(other) })
}

const encodePieces = (
  call: string,
  owner: Owner,
  pieces: ReadonlyArray<WorkRequest.Sge>,
  max: number
): ReadonlyArray<SendBatch.Piece> => {
  if (pieces.length > max) {
    const hint = `The queue was made for ${max} pieces in a request: maxSge`
    throw refused(call, "EINVAL", hint, { pieces: pieces.length })
  }
  const native: Array<SendBatch.Piece> = []
  for (const piece of pieces) native.push(encodePiece(call, owner, piece))
  return native
}

const encodePiece = (call: string, owner: Owner, piece: WorkRequest.Sge): SendBatch.Piece => {
  if (!("region" in piece)) {
    ensureUnsigned64(call, "addr", piece.addr)
    ensureUnsigned(call, "length", piece.length)
    ensureUnsigned(call, "lkey", piece.lkey)
    return piece
  }
  const { offset = 0, region } = piece
  // Throws for one that is released.
  Resource.raw(region)
  ensureOnDevice(call, owner, region)
  const size = Number(region.length)
  const { length = size - offset } = piece
  ensureUnsigned(call, "length", length)
  if (!Number.isInteger(offset) || offset < 0 || offset + length > size) {
    throw refused(call, "EINVAL", `The region has ${region.length} bytes`, { offset, length })
  }
  return { addr: offset === 0 ? region.address : region.address + BigInt(offset), length, lkey: region.lkey }
}

const remoteOf = (remote: SendBatch.Remote): SendBatch.Remote => {
  ensureUnsigned64(call, "remoteAddr", remote.remoteAddr)
  ensureUnsigned(call, "rkey", remote.rkey)
  return remote
}

const datagramOf = (self: QueuePair.QueuePair, to: WorkRequest.Datagram | undefined): DataPath.Datagram => {
  if (to === undefined) throw refused(call, "EINVAL", "A datagram needs a receiver: to")
  const { ah, remoteQkey, remoteQpn } = to
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
