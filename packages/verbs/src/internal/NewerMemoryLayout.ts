/**
 * Layouts for memory that rdma-core got after version 44, whose headers lack them: the ABI test compares them with a
 * declaration of its own.
 *
 * @since 0.1.0
 */
import * as Struct from "@effect-rdma/core/Struct"

/** What `ibv_reg_mr_ex` makes a region from; the fields count by their bits in `comp_mask`, but for the first two. */
export const MrInitAttr = Struct.make("struct ibv_mr_init_attr", 72, {
  length: Struct.u64(0, "length"),
  access: Struct.i32(8, "access"),
  compMask: Struct.u64(16, "comp_mask"),
  iova: Struct.u64(24, "iova"),
  addr: Struct.pointer(32, "addr"),
  fd: Struct.i32(40, "fd"),
  fdOffset: Struct.u64(48, "fd_offset"),
  dmah: Struct.pointer(56, "dmah"),
  buf: Struct.pointer(64, "buf")
})

/** `enum ibv_mr_init_attr_mask`. */
export const mrInitMask = { iova: 1, addr: 2, fd: 4, fdOffset: 8, dmah: 16, buf: 32 } as const

/** What a DMA handle is made from. */
export const DmahInitAttr = Struct.make("struct ibv_dmah_init_attr", 12, {
  compMask: Struct.u32(0, "comp_mask"),
  cpuId: Struct.u32(4, "cpu_id"),
  ph: Struct.u8(8, "ph"),
  tphMemType: Struct.u8(9, "tph_mem_type")
})

/** `enum ibv_dmah_init_attr_mask`. */
export const dmahInitMask = { cpuId: 1, ph: 2, tphMemType: 4 } as const

/** `enum ibv_tph_mem_type`: what a processor's memory is to a device that writes to it. */
export const tphMemTypes = { volatile: 0, persistent: 1 } as const
