/**
 * The layouts of `infiniband/verbs.h` for memory, compared with the C compiler by the ABI test.
 *
 * @since 0.1.0
 */
import * as Struct from "@effect-rdma/core/Struct"

/** A memory region. */
export const Mr = Struct.make("struct ibv_mr", 48, {
  context: Struct.pointer(0, "context"),
  pd: Struct.pointer(8, "pd"),
  addr: Struct.pointer(16, "addr"),
  length: Struct.u64(24, "length"),
  handle: Struct.u32(32, "handle"),
  lkey: Struct.u32(36, "lkey"),
  rkey: Struct.u32(40, "rkey")
})

/** A memory window. */
export const Mw = Struct.make("struct ibv_mw", 32, {
  context: Struct.pointer(0, "context"),
  pd: Struct.pointer(8, "pd"),
  rkey: Struct.u32(16, "rkey"),
  handle: Struct.u32(20, "handle"),
  type: Struct.i32(24, "type")
})

/** One piece of registered memory. */
export const Sge = Struct.make("struct ibv_sge", 16, {
  addr: Struct.u64(0, "addr"),
  length: Struct.u32(8, "length"),
  lkey: Struct.u32(12, "lkey")
})

/** What device memory is made from. */
export const AllocDmAttr = Struct.make("struct ibv_alloc_dm_attr", 16, {
  length: Struct.u64(0, "length"),
  logAlignReq: Struct.u32(8, "log_align_req"),
  compMask: Struct.u32(12, "comp_mask")
})

/** Device memory, with the functions that copy to and from it. */
export const Dm = Struct.make("struct ibv_dm", 32, {
  context: Struct.pointer(0, "context"),
  memcpyToDm: Struct.pointer(8, "memcpy_to_dm"),
  memcpyFromDm: Struct.pointer(16, "memcpy_from_dm"),
  compMask: Struct.u32(24, "comp_mask"),
  handle: Struct.u32(28, "handle")
})
