/**
 * The layouts of `infiniband/verbs.h` for XRC domains, shared receive queues and queue pairs beyond those of `Layout.ts`,
 * compared with the C compiler by the ABI test.
 *
 * @since 0.1.0
 */
import * as Struct from "@effect-rdma/core/Struct"
import * as Layout from "./Layout.ts"

/** What an XRC domain is opened from. */
export const XrcdInitAttr = Struct.make("struct ibv_xrcd_init_attr", 12, {
  compMask: Struct.u32(0, "comp_mask"),
  fd: Struct.i32(4, "fd"),
  oflags: Struct.i32(8, "oflags")
})

/** What a shared receive queue of any type is made from; its mask sits behind `attr`. */
export const SrqInitAttrEx = Struct.make("struct ibv_srq_init_attr_ex", 64, {
  srqContext: Struct.pointer(0, "srq_context"),
  attr: Struct.nested(8, Layout.SrqAttr, "attr"),
  compMask: Struct.u32(20, "comp_mask"),
  srqType: Struct.i32(24, "srq_type"),
  pd: Struct.pointer(32, "pd"),
  xrcd: Struct.pointer(40, "xrcd"),
  cq: Struct.pointer(48, "cq"),
  maxNumTags: Struct.u32(56, "tm_cap.max_num_tags"),
  maxOps: Struct.u32(60, "tm_cap.max_ops")
})

/** What an extended queue pair is made from: up to `sqSigAll` as {@link Layout.QpInitAttr}. */
export const QpInitAttrEx = Struct.make("struct ibv_qp_init_attr_ex", 136, {
  qpContext: Struct.pointer(0, "qp_context"),
  sendCq: Struct.pointer(8, "send_cq"),
  recvCq: Struct.pointer(16, "recv_cq"),
  srq: Struct.pointer(24, "srq"),
  cap: Struct.nested(32, Layout.QpCap, "cap"),
  qpType: Struct.i32(52, "qp_type"),
  sqSigAll: Struct.i32(56, "sq_sig_all"),
  compMask: Struct.u32(60, "comp_mask"),
  pd: Struct.pointer(64, "pd"),
  xrcd: Struct.pointer(72, "xrcd"),
  createFlags: Struct.u32(80, "create_flags"),
  maxTsoHeader: Struct.u16(84, "max_tso_header"),
  rwqIndTbl: Struct.pointer(88, "rwq_ind_tbl"),
  rxHashFunction: Struct.u8(96, "rx_hash_conf.rx_hash_function"),
  rxHashKeyLen: Struct.u8(97, "rx_hash_conf.rx_hash_key_len"),
  rxHashKey: Struct.pointer(104, "rx_hash_conf.rx_hash_key"),
  rxHashFieldsMask: Struct.u64(112, "rx_hash_conf.rx_hash_fields_mask"),
  sourceQpn: Struct.u32(120, "source_qpn"),
  sendOpsFlags: Struct.u64(128, "send_ops_flags")
})

/** Which queue pair of an XRC domain is opened. */
export const QpOpenAttr = Struct.make("struct ibv_qp_open_attr", 32, {
  compMask: Struct.u32(0, "comp_mask"),
  qpNum: Struct.u32(4, "qp_num"),
  xrcd: Struct.pointer(8, "xrcd"),
  qpContext: Struct.pointer(16, "qp_context"),
  qpType: Struct.i32(24, "qp_type")
})

/** The options of a connection. */
export const Ece = Struct.make("struct ibv_ece", 12, {
  vendorId: Struct.u32(0, "vendor_id"),
  options: Struct.u32(4, "options"),
  compMask: Struct.u32(8, "comp_mask")
})

/** What a memory window is bound to. */
export const MwBindInfo = Struct.make("struct ibv_mw_bind_info", 32, {
  mr: Struct.pointer(0, "mr"),
  addr: Struct.u64(8, "addr"),
  length: Struct.u64(16, "length"),
  mwAccessFlags: Struct.u32(24, "mw_access_flags")
})

/** A request to bind a window of type 1. */
export const MwBind = Struct.make("struct ibv_mw_bind", 48, {
  wrId: Struct.u64(0, "wr_id"),
  sendFlags: Struct.u32(8, "send_flags"),
  mr: Struct.pointer(16, "bind_info.mr"),
  addr: Struct.u64(24, "bind_info.addr"),
  length: Struct.u64(32, "bind_info.length"),
  mwAccessFlags: Struct.u32(40, "bind_info.mw_access_flags")
})

/** A piece of inline data. */
export const DataBuf = Struct.make("struct ibv_data_buf", 16, {
  addr: Struct.pointer(0, "addr"),
  length: Struct.u64(8, "length")
})

const behindQp = (offset: number) => ({ x64: offset, arm64: offset + 8 })
const slot = (offset: number, member: string) => Struct.pointer(behindQp(offset), member)

/**
 * A queue pair that takes batches. A builder is there only for a kind of request that it was made with; `wrAtomicWrite`
 * only in libraries that know it.
 */
export const QpEx = Struct.make("struct ibv_qp_ex", behindQp(352), {
  compMask: Struct.u64(behindQp(160), "comp_mask"),
  wrId: Struct.u64(behindQp(168), "wr_id"),
  wrFlags: Struct.u32(behindQp(176), "wr_flags"),
  wrAtomicCmpSwp: slot(184, "wr_atomic_cmp_swp"),
  wrAtomicFetchAdd: slot(192, "wr_atomic_fetch_add"),
  wrBindMw: slot(200, "wr_bind_mw"),
  wrLocalInv: slot(208, "wr_local_inv"),
  wrRdmaRead: slot(216, "wr_rdma_read"),
  wrRdmaWrite: slot(224, "wr_rdma_write"),
  wrRdmaWriteImm: slot(232, "wr_rdma_write_imm"),
  wrSend: slot(240, "wr_send"),
  wrSendImm: slot(248, "wr_send_imm"),
  wrSendInv: slot(256, "wr_send_inv"),
  wrSendTso: slot(264, "wr_send_tso"),
  wrSetUdAddr: slot(272, "wr_set_ud_addr"),
  wrSetXrcSrqn: slot(280, "wr_set_xrc_srqn"),
  wrSetInlineData: slot(288, "wr_set_inline_data"),
  wrSetInlineDataList: slot(296, "wr_set_inline_data_list"),
  wrSetSge: slot(304, "wr_set_sge"),
  wrSetSgeList: slot(312, "wr_set_sge_list"),
  wrStart: slot(320, "wr_start"),
  wrComplete: slot(328, "wr_complete"),
  wrAbort: slot(336, "wr_abort"),
  wrAtomicWrite: slot(344, "wr_atomic_write")
})
