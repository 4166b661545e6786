/**
 * Work requests to memory and completions from it. The offsets are those of the layouts, as numbers: a field by its name
 * costs ten times as much, and this runs for every message.
 *
 * @since 0.1.0
 */
import * as NativeMemory from "@effect-rdma/core/NativeMemory"
import * as AccessFlags from "../AccessFlags.ts"
import type * as DataPath from "../operations/DataPath.ts"
import type * as SendBatch from "../operations/SendBatch.ts"
import type * as WorkCompletion from "../WorkCompletion.ts"
import * as WorkCompletionOpcode from "../WorkCompletionOpcode.ts"
import * as WorkCompletionStatus from "../WorkCompletionStatus.ts"
import * as WorkRequestOpcode from "../WorkRequestOpcode.ts"
import * as CompletionLayout from "./CompletionLayout.ts"
import * as MemoryLayout from "./MemoryLayout.ts"
import * as QueueLayout from "./QueueLayout.ts"

/** Memory where requests are written and completions read. It grows, and is never given back. */
export interface Room {
  memory: NativeMemory.Mapping
  view: DataView
  /** Where it is, in halves: a division for each address that is written in it would cost more than the writing. */
  low: number
  high: number
}

export const makeRoom = (length: number = 0x1_0000): Room => {
  const memory = NativeMemory.map(length)
  const address = Number(memory.address)
  return { memory, view: new DataView(memory.bytes.buffer), low: address % half, high: Math.floor(address / half) }
}

/** Writes a chain of send requests to the start of the room; behind it are their pieces, and behind those their bytes. */
export const writeSends = (room: Room, requests: ReadonlyArray<DataPath.SendRequest>): void => {
  let pieces = 0
  let bytes = 0
  for (const { inlineData, sgList, tso } of requests) {
    pieces += inlineData === undefined ? sgList.length : 1
    if (inlineData !== undefined) bytes += inlineData.length
    if (tso !== undefined) bytes += tso.header.length
  }
  const firstPiece = requests.length * sendSize
  ensure(room, firstPiece + pieces * pieceSize + bytes)
  const { view } = room
  let piece = firstPiece
  let free = firstPiece + pieces * pieceSize
  const last = (requests.length - 1) * sendSize
  for (let index = 0, at = 0; at <= last; index++, at += sendSize) {
    const request = requests[index]!
    const { flags, inlineData, sgList } = request
    view.setBigUint64(at, request.wrId, true)
    if (at === last) writeNull(view, at + next)
    else writeAddress(room, at + next, at + sendSize)
    writeAddress(room, at + sgListOf, piece)
    view.setUint32(at + numSge, inlineData === undefined ? sgList.length : 1, true)
    view.setUint32(at + opcodeOf, opcodes[request.opcode], true)
    let bits = inlineData === undefined ? 0 : inline
    for (let flag = 0; flag < flags.length; flag++) bits |= sendFlags[flags[flag]!]
    view.setUint32(at + sendFlagsOf, bits, true)
    if (inlineData === undefined) piece = writePieces(view, piece, sgList)
    else {
      room.memory.bytes.set(inlineData, free)
      writeAddress(room, piece, free)
      view.setUint32(piece + 8, inlineData.length, true)
      view.setUint32(piece + 12, 0, true)
      piece += pieceSize
      free += inlineData.length
    }
    // rxe looks at it where a request has no use for it, and the room has what was there before.
    if (request.invalidateRkey === undefined) view.setUint32(at + immData, request.immData ?? 0)
    else view.setUint32(at + immData, request.invalidateRkey, true)
    const { remote } = request
    if (remote !== undefined) {
      view.setBigUint64(at + remoteAddr, remote.remoteAddr, true)
      if (request.compareAdd === undefined) view.setUint32(at + rdmaRkey, remote.rkey, true)
      else {
        view.setBigUint64(at + compareAdd, request.compareAdd, true)
        view.setBigUint64(at + swap, request.swap ?? 0n, true)
        view.setUint32(at + atomicRkey, remote.rkey, true)
      }
    }
    if (request.ud !== undefined) {
      view.setBigUint64(at + udAh, request.ud.ah, true)
      view.setUint32(at + udRemoteQpn, request.ud.remoteQpn, true)
      view.setUint32(at + udRemoteQkey, request.ud.remoteQkey, true)
    }
    if (request.remoteSrqn !== undefined) view.setUint32(at + remoteSrqn, request.remoteSrqn, true)
    if (request.bind !== undefined) writeBind(view, at, request.bind)
    if (request.tso !== undefined) {
      const { header, mss } = request.tso
      room.memory.bytes.set(header, free)
      QueueLayout.SendWr.write(
        view,
        { tsoHdr: room.memory.address + BigInt(free), tsoHdrSz: header.length, tsoMss: mss },
        at
      )
      free += header.length
    }
  }
}

/** Writes a chain of receive requests to the start of the room; behind it are their pieces. */
export const writeReceives = (room: Room, requests: ReadonlyArray<DataPath.ReceiveRequest>): void => {
  let pieces = 0
  for (const { sgList } of requests) pieces += sgList.length
  const firstPiece = requests.length * receiveSize
  ensure(room, firstPiece + pieces * pieceSize)
  const { view } = room
  let piece = firstPiece
  const last = (requests.length - 1) * receiveSize
  for (let index = 0, at = 0; at <= last; index++, at += receiveSize) {
    const { sgList, wrId } = requests[index]!
    view.setBigUint64(at, wrId, true)
    if (at === last) writeNull(view, at + next)
    else writeAddress(room, at + next, at + receiveSize)
    writeAddress(room, at + sgListOf, piece)
    view.setUint32(at + numSge, sgList.length, true)
    piece = writePieces(view, piece, sgList)
  }
}

/** Makes room for completions. */
export const reserveCompletions = (room: Room, count: number): void => ensure(room, count * completionSize)

/** Reads completions from the start of the room. */
export const readCompletions = (room: Room, count: number): ReadonlyArray<WorkCompletion.WorkCompletion> => {
  const { view } = room
  const completions: Array<WorkCompletion.WorkCompletion> = []
  for (let index = 0, at = 0; index < count; index++, at += completionSize) {
    const status = statuses[view.getUint32(at + statusOf, true)] ?? "unknown"
    const wrId = view.getBigUint64(at, true)
    const vendorErr = view.getUint32(at + vendorErrOf, true)
    const qpNum = view.getUint32(at + qpNumOf, true)
    if (status !== "success") {
      completions.push({ wrId, status, vendorErr, qpNum })
      continue
    }
    const flags = view.getUint32(at + wcFlagsOf, true)
    completions.push({
      wrId,
      status,
      vendorErr,
      qpNum,
      opcode: completionOpcodes[view.getUint32(at + wcOpcodeOf, true)] ?? "unknown",
      byteLen: view.getUint32(at + byteLenOf, true),
      immData: (flags & withImm) === 0 ? undefined : view.getUint32(at + wcImmData),
      invalidatedRkey: (flags & withInv) === 0 ? undefined : view.getUint32(at + wcImmData, true),
      srcQp: view.getUint32(at + srcQpOf, true),
      hasGrh: (flags & withGrh) !== 0,
      pkeyIndex: view.getUint16(at + pkeyIndexOf, true),
      slid: view.getUint16(at + slidOf, true),
      sl: view.getUint8(at + slOf),
      dlidPathBits: view.getUint8(at + dlidPathBitsOf)
    })
  }
  return completions
}

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

const { fields: send, size: sendSize } = QueueLayout.SendWr
const { size: receiveSize } = QueueLayout.RecvWr
const { size: pieceSize } = MemoryLayout.Sge
const { fields: completion, size: completionSize } = CompletionLayout.Wc

// The link, the list and its length stand alike in both kinds of requests.
const next = send.next.offset
const sgListOf = send.sgList.offset
const numSge = send.numSge.offset
const opcodeOf = send.opcode.offset
const sendFlagsOf = send.sendFlags.offset
const immData = send.immData.offset
const remoteAddr = send.rdmaRemoteAddr.offset
const rdmaRkey = send.rdmaRkey.offset
const compareAdd = send.atomicCompareAdd.offset
const swap = send.atomicSwap.offset
const atomicRkey = send.atomicRkey.offset
const udAh = send.udAh.offset
const udRemoteQpn = send.udRemoteQpn.offset
const udRemoteQkey = send.udRemoteQkey.offset
const remoteSrqn = send.xrcRemoteSrqn.offset

const statusOf = completion.status.offset
const wcOpcodeOf = completion.opcode.offset
const vendorErrOf = completion.vendorErr.offset
const byteLenOf = completion.byteLen.offset
const wcImmData = completion.immData.offset
const qpNumOf = completion.qpNum.offset
const srcQpOf = completion.srcQp.offset
const wcFlagsOf = completion.wcFlags.offset
const pkeyIndexOf = completion.pkeyIndex.offset
const slidOf = completion.slid.offset
const slOf = completion.sl.offset
const dlidPathBitsOf = completion.dlidPathBits.offset

/** `enum ibv_send_flags`. */
export const sendFlags: { readonly [Flag in SendBatch.SendFlag]: number } = {
  fence: 1,
  signaled: 2,
  solicited: 4,
  ipCsum: 16
}
const inline = 8

/** `enum ibv_wc_flags`. */
const withGrh = 1
const withImm = 2
const withInv = 8

const opcodes = Object.fromEntries(
  WorkRequestOpcode.WorkRequestOpcode.literals.map((opcode) => [opcode, WorkRequestOpcode.toNative(opcode)])
) as { readonly [Opcode in WorkRequestOpcode.WorkRequestOpcode]: number }

const upTo = <A>(count: number, of: (native: number) => A): ReadonlyArray<A> =>
  Array.from({ length: count }, (_, native) => of(native))
const statuses = upTo(32, WorkCompletionStatus.fromNative)
const completionOpcodes = upTo(256, WorkCompletionOpcode.fromNative)

const half = 0x1_0000_0000

const ensure = (room: Room, length: number): void => {
  if (length <= room.memory.bytes.length) return
  const larger = makeRoom(2 ** Math.ceil(Math.log2(length)))
  room.memory.unmap()
  Object.assign(room, larger)
}

const writeAddress = ({ high, low, view }: Room, at: number, offset: number): void => {
  const sum = low + offset
  view.setUint32(at, sum, true)
  view.setUint32(at + 4, sum < half ? high : high + 1, true)
}

const writeNull = (view: DataView, at: number): void => view.setBigUint64(at, 0n, true)

const writePieces = (view: DataView, at: number, pieces: ReadonlyArray<SendBatch.Piece>): number => {
  for (let index = 0; index < pieces.length; index++) {
    const { addr, length, lkey } = pieces[index]!
    view.setBigUint64(at, addr, true)
    view.setUint32(at + 8, length, true)
    view.setUint32(at + 12, lkey, true)
    at += pieceSize
  }
  return at
}

const writeBind = (view: DataView, at: number, { access, addr, length, mr, mw, rkey }: DataPath.Bind): void =>
  QueueLayout.SendWr.write(view, {
    bindMwMw: mw,
    bindMwRkey: rkey,
    bindMwMr: mr,
    bindMwAddr: addr,
    bindMwLength: length,
    bindMwAccessFlags: AccessFlags.toNative(access)
  }, at)
