/**
 * What a careful user writes without this library: the structs of 16 sends filled and of 16 completions read through a
 * `DataView`, and the two functions of the device context called through koffi (what `Library.fromAddress` gives is
 * koffi's function itself). Nothing is checked, and the offsets are those of x64 and arm64.
 */
// The barrel takes long to load in the guest.
import * as Library from "@effect-rdma/core/Library"
import * as NativeMemory from "@effect-rdma/core/NativeMemory"

export interface Send {
  readonly wrId: bigint
  readonly opcode: number
  readonly flags: number
  readonly addr: bigint
  readonly length: number
  readonly lkey: number
}

export type Receive = Pick<Send, "wrId" | "addr" | "length" | "lkey">

export interface Completion {
  readonly wrId: bigint
  readonly status: number
  readonly opcode: number
  readonly vendorErr: number
  readonly byteLen: number
  readonly immData: number | undefined
  readonly invalidatedRkey: number | undefined
  readonly qpNum: number
  readonly srcQp: number
  readonly hasGrh: boolean
  readonly pkeyIndex: number
  readonly slid: number
  readonly sl: number
  readonly dlidPathBits: number
}

const wrSize = 128
const recvWrSize = 32
const sgeSize = 16
const wcSize = 48
const most = 16

const word = (address: bigint, offset: number): bigint =>
  NativeMemory.view(address, offset + 8).getBigUint64(offset, true)

/** Of one queue pair and its queue, by their addresses. */
export const make = (qp: bigint, cq: bigint) => {
  const context = word(qp, 0)
  const postSend = Library.fromAddress(word(context, 8 + 25 * 8), ["pointer", "pointer", "buffer"], "int")
  const postRecv = Library.fromAddress(word(context, 8 + 26 * 8), ["pointer", "pointer", "buffer"], "int")
  const pollCq = Library.fromAddress(word(context, 8 + 11 * 8), ["pointer", "int", "pointer"], "int")
  const memory = NativeMemory.map(most * (wrSize + sgeSize + wcSize))
  const view = new DataView(memory.bytes.buffer)
  const wrs = memory.address
  const sges = most * wrSize
  const wcs = sges + most * sgeSize
  const wcsAddress = wrs + BigInt(wcs)
  const nexts = Array.from({ length: most }, (_, index) => wrs + BigInt((index + 1) * wrSize))
  const lists = Array.from({ length: most }, (_, index) => wrs + BigInt(sges + index * sgeSize))
  const bad = new BigUint64Array(1)

  const post = (sends: ReadonlyArray<Send>): void => {
    const count = sends.length
    for (let index = 0; index < count; index++) {
      const send = sends[index]!
      const wr = index * wrSize
      const sge = sges + index * sgeSize
      view.setBigUint64(wr, send.wrId, true)
      view.setBigUint64(wr + 8, index + 1 === count ? 0n : nexts[index]!, true)
      view.setBigUint64(wr + 16, lists[index]!, true)
      view.setInt32(wr + 24, 1, true)
      view.setInt32(wr + 28, send.opcode, true)
      view.setUint32(wr + 32, send.flags, true)
      view.setBigUint64(sge, send.addr, true)
      view.setUint32(sge + 8, send.length, true)
      view.setUint32(sge + 12, send.lkey, true)
    }
    const result = postSend(qp, wrs, bad)
    if (result !== 0) throw new Error(`ibv_post_send: ${result}`)
  }

  /** So many alike. */
  const receive = (of: Receive, count: number): void => {
    const chain = NativeMemory.map(count * recvWrSize + sgeSize)
    const view = new DataView(chain.bytes.buffer)
    const list = chain.address + BigInt(count * recvWrSize)
    for (let index = 0; index < count; index++) {
      const wr = index * recvWrSize
      view.setBigUint64(wr, of.wrId, true)
      view.setBigUint64(wr + 8, index + 1 === count ? 0n : chain.address + BigInt(wr + recvWrSize), true)
      view.setBigUint64(wr + 16, list, true)
      view.setInt32(wr + 24, 1, true)
    }
    view.setBigUint64(count * recvWrSize, of.addr, true)
    view.setUint32(count * recvWrSize + 8, of.length, true)
    view.setUint32(count * recvWrSize + 12, of.lkey, true)
    const result = postRecv(qp, chain.address, bad)
    chain.unmap()
    if (result !== 0) throw new Error(`ibv_post_recv: ${result}`)
  }

  const poll = (max: number): ReadonlyArray<Completion> => {
    const count = pollCq(cq, max, wcsAddress)
    if (count < 0) throw new Error(`ibv_poll_cq: ${count}`)
    const completions: Array<Completion> = []
    for (let index = 0, at = wcs; index < count; index++, at += wcSize) {
      const flags = view.getUint32(at + 36, true)
      completions.push({
        wrId: view.getBigUint64(at, true),
        status: view.getUint32(at + 8, true),
        opcode: view.getUint32(at + 12, true),
        vendorErr: view.getUint32(at + 16, true),
        byteLen: view.getUint32(at + 20, true),
        immData: (flags & 2) === 0 ? undefined : view.getUint32(at + 24),
        invalidatedRkey: (flags & 8) === 0 ? undefined : view.getUint32(at + 24, true),
        qpNum: view.getUint32(at + 28, true),
        srcQp: view.getUint32(at + 32, true),
        hasGrh: (flags & 1) !== 0,
        pkeyIndex: view.getUint16(at + 40, true),
        slid: view.getUint16(at + 42, true),
        sl: view.getUint8(at + 44),
        dlidPathBits: view.getUint8(at + 45)
      })
    }
    return completions
  }

  return { post, receive, poll }
}
