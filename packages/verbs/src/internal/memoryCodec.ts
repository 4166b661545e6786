/**
 * The structs for memory as values and back.
 *
 * @since 0.1.0
 */
import * as NativeMemory from "@effect-rdma/core/NativeMemory"
import type * as Pointer from "@effect-rdma/core/Pointer"
import * as AccessFlags from "../AccessFlags.ts"
import type * as Memory from "../operations/Memory.ts"
import * as MemoryLayout from "./MemoryLayout.ts"
import * as NewerMemoryLayout from "./NewerMemoryLayout.ts"
import * as QueueLayout from "./QueueLayout.ts"

/** What a region tells of itself. */
export const readRegistration = (mr: Pointer.Pointer<"ibv_mr">): Memory.Registration => {
  const { addr, handle, length, lkey, rkey } = MemoryLayout.Mr.read(NativeMemory.view(mr, MemoryLayout.Mr.size))
  return { mr, handle, lkey, rkey, addr, length }
}

/** Writes the key of a window whose bind was posted: the library and its providers leave that to the program. */
export const setKey = (mw: Pointer.Pointer<"ibv_mw">, rkey: number): void =>
  MemoryLayout.Mw.set("rkey", NativeMemory.view(mw, MemoryLayout.Mw.size), rkey)

/** `enum ibv_rereg_mr_flags`. */
export const rereg = { translation: 1, pd: 2, access: 4 } as const

/** The flags for the changes that are there. */
export const reregFlags = (changes: {
  readonly pd: unknown
  readonly bytes: unknown
  readonly access: unknown
}): number =>
  (changes.bytes === undefined ? 0 : rereg.translation) |
  (changes.pd === undefined ? 0 : rereg.pd) |
  (changes.access === undefined ? 0 : rereg.access)

/** `enum ibv_rereg_mr_err_code`, of which `ibv_rereg_mr` returns one. */
export const reregCodes = {
  IBV_REREG_MR_ERR_INPUT: -1,
  IBV_REREG_MR_ERR_DONT_FORK_NEW: -2,
  IBV_REREG_MR_ERR_DO_FORK_OLD: -3,
  IBV_REREG_MR_ERR_CMD: -4,
  IBV_REREG_MR_ERR_CMD_AND_DO_FORK_NEW: -5
} as const

/** The name of a negative result without its sign. */
export const reregCode = (code: number): string =>
  Object.entries(reregCodes).find(([, number]) => number === -code)?.[0] ?? `${-code}`

/** `enum ib_uverbs_advise_mr_advice`. */
export const advices = { prefetch: 0, prefetchWrite: 1, prefetchNoFault: 2 } as const

/** `IBV_ADVISE_MR_FLAG_FLUSH`: return when it is done. */
export const adviseFlush = 1

export const encodePieces = (pieces: ReadonlyArray<Memory.Piece>): DataView => {
  const view = new DataView(new ArrayBuffer(MemoryLayout.Sge.size * pieces.length))
  pieces.forEach((piece, index) => MemoryLayout.Sge.write(view, piece, index * MemoryLayout.Sge.size))
  return view
}

/** The flags of `enum ibv_send_flags` that a bind may have. */
export const bindFlags = { fence: 1, signaled: 2 } as const

export const encodeBinding = ({ access, addr, flags, length, mr, wrId }: Memory.Binding): DataView => {
  const view = QueueLayout.MwBind.allocate()
  const sendFlags = flags.reduce((mask, flag) => mask | bindFlags[flag], 0)
  QueueLayout.MwBind.write(view, { wrId, sendFlags, mr, addr, length, mwAccessFlags: AccessFlags.toNative(access) })
  return view
}

export const encodeRegionAttributes = (attributes: Memory.RegionAttributes): DataView => {
  const { access, buf, bytes, dmah, fd, fdOffset, iova, length } = attributes
  const view = NewerMemoryLayout.MrInitAttr.allocate()
  const mask = NewerMemoryLayout.mrInitMask
  NewerMemoryLayout.MrInitAttr.write(view, {
    length,
    access: AccessFlags.toNative(access),
    compMask: BigInt(
      (iova === undefined ? 0 : mask.iova) | (bytes === undefined ? 0 : mask.addr) | (fd === undefined ? 0 : mask.fd) |
        (fdOffset === undefined ? 0 : mask.fdOffset) | (dmah === undefined ? 0 : mask.dmah) |
        (buf === undefined ? 0 : mask.buf)
    ),
    iova: iova ?? 0n,
    addr: bytes === undefined ? 0n : NativeMemory.addressOf(bytes),
    fd: fd ?? 0,
    fdOffset: fdOffset ?? 0n,
    dmah: dmah ?? 0n,
    buf: buf ?? 0n
  })
  return view
}

export const encodeDmaHandleHints = ({ cpuId, ph, tphMemType }: Memory.DmaHandleHints): DataView => {
  const view = NewerMemoryLayout.DmahInitAttr.allocate()
  const mask = NewerMemoryLayout.dmahInitMask
  NewerMemoryLayout.DmahInitAttr.write(view, {
    compMask: (cpuId === undefined ? 0 : mask.cpuId) | (ph === undefined ? 0 : mask.ph) |
      (tphMemType === undefined ? 0 : mask.tphMemType),
    cpuId: cpuId ?? 0,
    ph: ph ?? 0,
    tphMemType: NewerMemoryLayout.tphMemTypes[tphMemType ?? "volatile"]
  })
  return view
}
