/**
 * The layouts of `infiniband/verbs.h` for device memory, compared with the C compiler by the ABI test.
 *
 * @since 0.1.0
 */
import * as Struct from "@effect-rdma/core/Struct"

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
