/**
 * The layouts of `infiniband/verbs.h` for XRC domains, shared receive queues and queue pairs, compared with the C compiler
 * by the ABI test.
 *
 * @since 0.1.0
 */
import * as Struct from "@effect-rdma/core/Struct"
import * as AddressLayout from "./AddressLayout.ts"

/** A shared receive queue. */
export const Srq = Struct.make("struct ibv_srq", { x64: 128, arm64: 136 }, {
  context: Struct.pointer(0, "context"),
  srqContext: Struct.pointer(8, "srq_context"),
  pd: Struct.pointer(16, "pd"),
  handle: Struct.u32(24, "handle")
})

/** The room of a shared receive queue and the level at which it raises an event. */
export const SrqAttr = Struct.make("struct ibv_srq_attr", 12, {
  maxWr: Struct.u32(0, "max_wr"),
  maxSge: Struct.u32(4, "max_sge"),
  srqLimit: Struct.u32(8, "srq_limit")
})

/** What a shared receive queue is made from. */
export const SrqInitAttr = Struct.make("struct ibv_srq_init_attr", 24, {
  srqContext: Struct.pointer(0, "srq_context"),
  attr: Struct.nested(8, SrqAttr, "attr")
})

/** A queue pair. */
export const Qp = Struct.make("struct ibv_qp", { x64: 160, arm64: 168 }, {
  context: Struct.pointer(0, "context"),
  qpContext: Struct.pointer(8, "qp_context"),
  pd: Struct.pointer(16, "pd"),
  sendCq: Struct.pointer(24, "send_cq"),
  recvCq: Struct.pointer(32, "recv_cq"),
  srq: Struct.pointer(40, "srq"),
  handle: Struct.u32(48, "handle"),
  qpNum: Struct.u32(52, "qp_num"),
  state: Struct.i32(56, "state"),
  qpType: Struct.i32(60, "qp_type")
})

/** The room of a queue pair. */
export const QpCap = Struct.make("struct ibv_qp_cap", 20, {
  maxSendWr: Struct.u32(0, "max_send_wr"),
  maxRecvWr: Struct.u32(4, "max_recv_wr"),
  maxSendSge: Struct.u32(8, "max_send_sge"),
  maxRecvSge: Struct.u32(12, "max_recv_sge"),
  maxInlineData: Struct.u32(16, "max_inline_data")
})

/** What a queue pair is made from; the call writes the capacities that it got into `cap`. */
export const QpInitAttr = Struct.make("struct ibv_qp_init_attr", 64, {
  qpContext: Struct.pointer(0, "qp_context"),
  sendCq: Struct.pointer(8, "send_cq"),
  recvCq: Struct.pointer(16, "recv_cq"),
  srq: Struct.pointer(24, "srq"),
  cap: Struct.nested(32, QpCap, "cap"),
  qpType: Struct.i32(52, "qp_type"),
  sqSigAll: Struct.i32(56, "sq_sig_all")
})

/** The attributes of a queue pair, each valid by its bit in the mask argument. */
export const QpAttr = Struct.make("struct ibv_qp_attr", 144, {
  qpState: Struct.i32(0, "qp_state"),
  curQpState: Struct.i32(4, "cur_qp_state"),
  pathMtu: Struct.i32(8, "path_mtu"),
  pathMigState: Struct.i32(12, "path_mig_state"),
  qkey: Struct.u32(16, "qkey"),
  rqPsn: Struct.u32(20, "rq_psn"),
  sqPsn: Struct.u32(24, "sq_psn"),
  destQpNum: Struct.u32(28, "dest_qp_num"),
  qpAccessFlags: Struct.u32(32, "qp_access_flags"),
  cap: Struct.nested(36, QpCap, "cap"),
  ahAttr: Struct.nested(56, AddressLayout.AhAttr, "ah_attr"),
  altAhAttr: Struct.nested(88, AddressLayout.AhAttr, "alt_ah_attr"),
  pkeyIndex: Struct.u16(120, "pkey_index"),
  altPkeyIndex: Struct.u16(122, "alt_pkey_index"),
  enSqdAsyncNotify: Struct.u8(124, "en_sqd_async_notify"),
  sqDraining: Struct.u8(125, "sq_draining"),
  maxRdAtomic: Struct.u8(126, "max_rd_atomic"),
  maxDestRdAtomic: Struct.u8(127, "max_dest_rd_atomic"),
  minRnrTimer: Struct.u8(128, "min_rnr_timer"),
  portNum: Struct.u8(129, "port_num"),
  timeout: Struct.u8(130, "timeout"),
  retryCnt: Struct.u8(131, "retry_cnt"),
  rnrRetry: Struct.u8(132, "rnr_retry"),
  altPortNum: Struct.u8(133, "alt_port_num"),
  altTimeout: Struct.u8(134, "alt_timeout"),
  rateLimit: Struct.u32(136, "rate_limit")
})

/** How fast a queue pair sends; `compMask` is 0. */
export const QpRateLimitAttr = Struct.make("struct ibv_qp_rate_limit_attr", 16, {
  rateLimit: Struct.u32(0, "rate_limit"),
  maxBurstSz: Struct.u32(4, "max_burst_sz"),
  typicalPktSz: Struct.u16(8, "typical_pkt_sz"),
  compMask: Struct.u32(12, "comp_mask")
})

/** A receive request; it and its list must stay in place for the call. */
export const RecvWr = Struct.make("struct ibv_recv_wr", 32, {
  wrId: Struct.u64(0, "wr_id"),
  next: Struct.pointer(8, "next"),
  sgList: Struct.pointer(16, "sg_list"),
  numSge: Struct.i32(24, "num_sge")
})

/**
 * A send request. The RDMA, atomic and UD parts share their bytes, and so do `immData` and `invalidateRkey`, and
 * `bindMw` and `tso`.
 */
export const SendWr = Struct.make("struct ibv_send_wr", 128, {
  wrId: Struct.u64(0, "wr_id"),
  next: Struct.pointer(8, "next"),
  sgList: Struct.pointer(16, "sg_list"),
  numSge: Struct.i32(24, "num_sge"),
  opcode: Struct.i32(28, "opcode"),
  sendFlags: Struct.u32(32, "send_flags"),
  immData: Struct.be32(36, "imm_data"),
  invalidateRkey: Struct.u32(36, "invalidate_rkey"),
  rdmaRemoteAddr: Struct.u64(40, "wr.rdma.remote_addr"),
  rdmaRkey: Struct.u32(48, "wr.rdma.rkey"),
  atomicRemoteAddr: Struct.u64(40, "wr.atomic.remote_addr"),
  atomicCompareAdd: Struct.u64(48, "wr.atomic.compare_add"),
  atomicSwap: Struct.u64(56, "wr.atomic.swap"),
  atomicRkey: Struct.u32(64, "wr.atomic.rkey"),
  udAh: Struct.pointer(40, "wr.ud.ah"),
  udRemoteQpn: Struct.u32(48, "wr.ud.remote_qpn"),
  udRemoteQkey: Struct.u32(52, "wr.ud.remote_qkey"),
  xrcRemoteSrqn: Struct.u32(72, "qp_type.xrc.remote_srqn"),
  bindMwMw: Struct.pointer(80, "bind_mw.mw"),
  bindMwRkey: Struct.u32(88, "bind_mw.rkey"),
  bindMwMr: Struct.pointer(96, "bind_mw.bind_info.mr"),
  bindMwAddr: Struct.u64(104, "bind_mw.bind_info.addr"),
  bindMwLength: Struct.u64(112, "bind_mw.bind_info.length"),
  bindMwAccessFlags: Struct.u32(120, "bind_mw.bind_info.mw_access_flags"),
  tsoHdr: Struct.pointer(80, "tso.hdr"),
  tsoHdrSz: Struct.u16(88, "tso.hdr_sz"),
  tsoMss: Struct.u16(90, "tso.mss")
})

/** What an XRC domain is opened from. */
export const XrcdInitAttr = Struct.make("struct ibv_xrcd_init_attr", 12, {
  compMask: Struct.u32(0, "comp_mask"),
  fd: Struct.i32(4, "fd"),
  oflags: Struct.i32(8, "oflags")
})

/** What a shared receive queue of any type is made from; its mask sits behind `attr`. */
export const SrqInitAttrEx = Struct.make("struct ibv_srq_init_attr_ex", 64, {
  srqContext: Struct.pointer(0, "srq_context"),
  attr: Struct.nested(8, SrqAttr, "attr"),
  compMask: Struct.u32(20, "comp_mask"),
  srqType: Struct.i32(24, "srq_type"),
  pd: Struct.pointer(32, "pd"),
  xrcd: Struct.pointer(40, "xrcd"),
  cq: Struct.pointer(48, "cq"),
  maxNumTags: Struct.u32(56, "tm_cap.max_num_tags"),
  maxOps: Struct.u32(60, "tm_cap.max_ops")
})

/** What an extended queue pair is made from: up to `sqSigAll` as {@link QpInitAttr}. */
export const QpInitAttrEx = Struct.make("struct ibv_qp_init_attr_ex", 136, {
  qpContext: Struct.pointer(0, "qp_context"),
  sendCq: Struct.pointer(8, "send_cq"),
  recvCq: Struct.pointer(16, "recv_cq"),
  srq: Struct.pointer(24, "srq"),
  cap: Struct.nested(32, QpCap, "cap"),
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
