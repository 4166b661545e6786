/**
 * The layouts of `infiniband/verbs.h` for completions and their queues and channels, compared with the C compiler by the ABI test.
 *
 * @since 0.1.0
 */
import * as Struct from "@effect-rdma/core/Struct"

/** A completion channel; its descriptor belongs to the library. */
export const CompChannel = Struct.make("struct ibv_comp_channel", 16, {
  context: Struct.pointer(0, "context"),
  fd: Struct.i32(8, "fd"),
  refcnt: Struct.i32(12, "refcnt")
})

/** A completion queue. */
export const Cq = Struct.make("struct ibv_cq", { x64: 128, arm64: 136 }, {
  context: Struct.pointer(0, "context"),
  channel: Struct.pointer(8, "channel"),
  cqContext: Struct.pointer(16, "cq_context"),
  handle: Struct.u32(24, "handle"),
  cqe: Struct.i32(28, "cqe")
})

/** What an extended completion queue is made from. */
export const CqInitAttrEx = Struct.make("struct ibv_cq_init_attr_ex", 56, {
  cqe: Struct.u32(0, "cqe"),
  cqContext: Struct.pointer(8, "cq_context"),
  channel: Struct.pointer(16, "channel"),
  compVector: Struct.u32(24, "comp_vector"),
  wcFlags: Struct.u64(32, "wc_flags"),
  compMask: Struct.u32(40, "comp_mask"),
  flags: Struct.u32(44, "flags"),
  parentDomain: Struct.pointer(48, "parent_domain")
})

/**
 * An extended completion queue: `Cq`, the completion that is being read, and the functions to read it. One that the
 * flags of the queue did not ask for may be NULL; `readOpcode`, `readVendorErr` and `readWcFlags` never are.
 */
export const CqEx = Struct.make("struct ibv_cq_ex", { x64: 288, arm64: 296 }, {
  context: Struct.pointer(0, "context"),
  status: Struct.i32({ x64: 132, arm64: 140 }, "status"),
  wrId: Struct.u64({ x64: 136, arm64: 144 }, "wr_id"),
  startPoll: Struct.pointer({ x64: 144, arm64: 152 }, "start_poll"),
  nextPoll: Struct.pointer({ x64: 152, arm64: 160 }, "next_poll"),
  endPoll: Struct.pointer({ x64: 160, arm64: 168 }, "end_poll"),
  readOpcode: Struct.pointer({ x64: 168, arm64: 176 }, "read_opcode"),
  readVendorErr: Struct.pointer({ x64: 176, arm64: 184 }, "read_vendor_err"),
  readByteLen: Struct.pointer({ x64: 184, arm64: 192 }, "read_byte_len"),
  readImmData: Struct.pointer({ x64: 192, arm64: 200 }, "read_imm_data"),
  readQpNum: Struct.pointer({ x64: 200, arm64: 208 }, "read_qp_num"),
  readSrcQp: Struct.pointer({ x64: 208, arm64: 216 }, "read_src_qp"),
  readWcFlags: Struct.pointer({ x64: 216, arm64: 224 }, "read_wc_flags"),
  readSlid: Struct.pointer({ x64: 224, arm64: 232 }, "read_slid"),
  readSl: Struct.pointer({ x64: 232, arm64: 240 }, "read_sl"),
  readDlidPathBits: Struct.pointer({ x64: 240, arm64: 248 }, "read_dlid_path_bits"),
  readCompletionTs: Struct.pointer({ x64: 248, arm64: 256 }, "read_completion_ts"),
  readCvlan: Struct.pointer({ x64: 256, arm64: 264 }, "read_cvlan"),
  readFlowTag: Struct.pointer({ x64: 264, arm64: 272 }, "read_flow_tag"),
  readTmInfo: Struct.pointer({ x64: 272, arm64: 280 }, "read_tm_info"),
  readCompletionWallclockNs: Struct.pointer({ x64: 280, arm64: 288 }, "read_completion_wallclock_ns")
})

/** How a poll of an extended completion queue starts; nothing yet, so `compMask` is 0. */
export const PollCqAttr = Struct.make("struct ibv_poll_cq_attr", 4, {
  compMask: Struct.u32(0, "comp_mask")
})

/** The tag of a completion of a receive that was matched by it. */
export const WcTmInfo = Struct.make("struct ibv_wc_tm_info", 16, {
  tag: Struct.u64(0, "tag"),
  priv: Struct.u32(8, "priv")
})

/** How a completion queue is modified. */
export const ModifyCqAttr = Struct.make("struct ibv_modify_cq_attr", 8, {
  attrMask: Struct.u32(0, "attr_mask"),
  cqCount: Struct.u16(4, "moderate.cq_count"),
  cqPeriod: Struct.u16(6, "moderate.cq_period")
})

/**
 * A work completion. `immData` and `invalidatedRkey` share their bytes; for a failed one only `wrId`, `status`,
 * `qpNum` and `vendorErr` mean anything.
 */
export const Wc = Struct.make("struct ibv_wc", 48, {
  wrId: Struct.u64(0, "wr_id"),
  status: Struct.i32(8, "status"),
  opcode: Struct.i32(12, "opcode"),
  vendorErr: Struct.u32(16, "vendor_err"),
  byteLen: Struct.u32(20, "byte_len"),
  immData: Struct.be32(24, "imm_data"),
  invalidatedRkey: Struct.u32(24, "invalidated_rkey"),
  qpNum: Struct.u32(28, "qp_num"),
  srcQp: Struct.u32(32, "src_qp"),
  wcFlags: Struct.u32(36, "wc_flags"),
  pkeyIndex: Struct.u16(40, "pkey_index"),
  slid: Struct.u16(42, "slid"),
  sl: Struct.u8(44, "sl"),
  dlidPathBits: Struct.u8(45, "dlid_path_bits")
})
