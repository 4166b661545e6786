/**
 * The layouts of `infiniband/verbs.h`, compared with the C compiler by the ABI test. Field names are those of C in
 * camelCase; a field inside of a union or a nested struct carries what tells it apart.
 *
 * @since 0.1.0
 */
import * as Struct from "@effect-rdma/core/Struct"

/** An address vector, with the fields of its global route beside those of the local one. */
export const AhAttr = Struct.make("struct ibv_ah_attr", 32, {
  dgid: Struct.bytes(0, 16, "grh.dgid"),
  flowLabel: Struct.u32(16, "grh.flow_label"),
  sgidIndex: Struct.u8(20, "grh.sgid_index"),
  hopLimit: Struct.u8(21, "grh.hop_limit"),
  trafficClass: Struct.u8(22, "grh.traffic_class"),
  dlid: Struct.u16(24, "dlid"),
  sl: Struct.u8(26, "sl"),
  srcPathBits: Struct.u8(27, "src_path_bits"),
  staticRate: Struct.u8(28, "static_rate"),
  isGlobal: Struct.u8(29, "is_global"),
  portNum: Struct.u8(30, "port_num")
})

/** A global route header as it is on the wire and in front of a received datagram. */
export const Grh = Struct.make("struct ibv_grh", 40, {
  versionTclassFlow: Struct.be32(0, "version_tclass_flow"),
  paylen: Struct.be16(4, "paylen"),
  nextHdr: Struct.u8(6, "next_hdr"),
  hopLimit: Struct.u8(7, "hop_limit"),
  sgid: Struct.bytes(8, 16, "sgid"),
  dgid: Struct.bytes(24, 16, "dgid")
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

/** What a port reports. The exported `ibv_query_port` fills the first 48 bytes only, up to and with `flags`. */
export const PortAttr = Struct.make("struct ibv_port_attr", 52, {
  state: Struct.i32(0, "state"),
  maxMtu: Struct.i32(4, "max_mtu"),
  activeMtu: Struct.i32(8, "active_mtu"),
  gidTblLen: Struct.i32(12, "gid_tbl_len"),
  portCapFlags: Struct.u32(16, "port_cap_flags"),
  maxMsgSz: Struct.u32(20, "max_msg_sz"),
  badPkeyCntr: Struct.u32(24, "bad_pkey_cntr"),
  qkeyViolCntr: Struct.u32(28, "qkey_viol_cntr"),
  pkeyTblLen: Struct.u16(32, "pkey_tbl_len"),
  lid: Struct.u16(34, "lid"),
  smLid: Struct.u16(36, "sm_lid"),
  lmc: Struct.u8(38, "lmc"),
  maxVlNum: Struct.u8(39, "max_vl_num"),
  smSl: Struct.u8(40, "sm_sl"),
  subnetTimeout: Struct.u8(41, "subnet_timeout"),
  initTypeReply: Struct.u8(42, "init_type_reply"),
  activeWidth: Struct.u8(43, "active_width"),
  activeSpeed: Struct.u8(44, "active_speed"),
  physState: Struct.u8(45, "phys_state"),
  linkLayer: Struct.u8(46, "link_layer"),
  flags: Struct.u8(47, "flags"),
  portCapFlags2: Struct.u16(48, "port_cap_flags2")
})

/** What a device reports about itself. */
export const DeviceAttr = Struct.make("struct ibv_device_attr", 232, {
  fwVer: Struct.string(0, 64, "fw_ver"),
  nodeGuid: Struct.be64(64, "node_guid"),
  sysImageGuid: Struct.be64(72, "sys_image_guid"),
  maxMrSize: Struct.u64(80, "max_mr_size"),
  pageSizeCap: Struct.u64(88, "page_size_cap"),
  vendorId: Struct.u32(96, "vendor_id"),
  vendorPartId: Struct.u32(100, "vendor_part_id"),
  hwVer: Struct.u32(104, "hw_ver"),
  maxQp: Struct.i32(108, "max_qp"),
  maxQpWr: Struct.i32(112, "max_qp_wr"),
  deviceCapFlags: Struct.u32(116, "device_cap_flags"),
  maxSge: Struct.i32(120, "max_sge"),
  maxSgeRd: Struct.i32(124, "max_sge_rd"),
  maxCq: Struct.i32(128, "max_cq"),
  maxCqe: Struct.i32(132, "max_cqe"),
  maxMr: Struct.i32(136, "max_mr"),
  maxPd: Struct.i32(140, "max_pd"),
  maxQpRdAtom: Struct.i32(144, "max_qp_rd_atom"),
  maxEeRdAtom: Struct.i32(148, "max_ee_rd_atom"),
  maxResRdAtom: Struct.i32(152, "max_res_rd_atom"),
  maxQpInitRdAtom: Struct.i32(156, "max_qp_init_rd_atom"),
  maxEeInitRdAtom: Struct.i32(160, "max_ee_init_rd_atom"),
  atomicCap: Struct.i32(164, "atomic_cap"),
  maxEe: Struct.i32(168, "max_ee"),
  maxRdd: Struct.i32(172, "max_rdd"),
  maxMw: Struct.i32(176, "max_mw"),
  maxRawIpv6Qp: Struct.i32(180, "max_raw_ipv6_qp"),
  maxRawEthyQp: Struct.i32(184, "max_raw_ethy_qp"),
  maxMcastGrp: Struct.i32(188, "max_mcast_grp"),
  maxMcastQpAttach: Struct.i32(192, "max_mcast_qp_attach"),
  maxTotalMcastQpAttach: Struct.i32(196, "max_total_mcast_qp_attach"),
  maxAh: Struct.i32(200, "max_ah"),
  maxFmr: Struct.i32(204, "max_fmr"),
  maxMapPerFmr: Struct.i32(208, "max_map_per_fmr"),
  maxSrq: Struct.i32(212, "max_srq"),
  maxSrqWr: Struct.i32(216, "max_srq_wr"),
  maxSrqSge: Struct.i32(220, "max_srq_sge"),
  maxPkeys: Struct.u16(224, "max_pkeys"),
  localCaAckDelay: Struct.u8(226, "local_ca_ack_delay"),
  physPortCnt: Struct.u8(227, "phys_port_cnt")
})

/** A GID with its place and type. */
export const GidEntry = Struct.make("struct ibv_gid_entry", 32, {
  gid: Struct.bytes(0, 16, "gid.raw"),
  gidIndex: Struct.u32(16, "gid_index"),
  portNum: Struct.u32(20, "port_num"),
  gidType: Struct.u32(24, "gid_type"),
  ndevIfindex: Struct.u32(28, "ndev_ifindex")
})

/** A device of the device list; valid until the list is freed, or as long as a context of it is open. */
export const Device = Struct.make("struct ibv_device", 664, {
  nodeType: Struct.i32(16, "node_type"),
  transportType: Struct.i32(20, "transport_type"),
  name: Struct.string(24, 64, "name"),
  devName: Struct.string(88, 64, "dev_name"),
  devPath: Struct.string(152, 256, "dev_path"),
  ibdevPath: Struct.string(408, 256, "ibdev_path")
})

/**
 * An open device. Both descriptors belong to the library. `abiCompat` of all ones says that {@link contextOps} are
 * below the context; the operations in it exist on every provider of rdma-core.
 */
export const Context = Struct.make("struct ibv_context", { x64: 328, arm64: 336 }, {
  device: Struct.pointer(0, "device"),
  allocMw: Struct.pointer(64, "ops.alloc_mw"),
  bindMw: Struct.pointer(72, "ops.bind_mw"),
  deallocMw: Struct.pointer(80, "ops.dealloc_mw"),
  pollCq: Struct.pointer(96, "ops.poll_cq"),
  reqNotifyCq: Struct.pointer(104, "ops.req_notify_cq"),
  postSrqRecv: Struct.pointer(168, "ops.post_srq_recv"),
  postSend: Struct.pointer(208, "ops.post_send"),
  postRecv: Struct.pointer(216, "ops.post_recv"),
  cmdFd: Struct.i32(264, "cmd_fd"),
  asyncFd: Struct.i32(268, "async_fd"),
  numCompVectors: Struct.i32(272, "num_comp_vectors"),
  abiCompat: Struct.pointer({ x64: 320, arm64: 328 }, "abi_compat")
})

/** What a thread domain is made from; nothing yet, so `compMask` is 0. */
export const TdInitAttr = Struct.make("struct ibv_td_init_attr", 4, {
  compMask: Struct.u32(0, "comp_mask")
})

/**
 * What a parent domain is made from; `td` may be NULL, `alloc`, `free` and `pdContext` count only with their mask
 * bits.
 */
export const ParentDomainInitAttr = Struct.make("struct ibv_parent_domain_init_attr", 48, {
  pd: Struct.pointer(0, "pd"),
  td: Struct.pointer(8, "td"),
  compMask: Struct.u32(16, "comp_mask"),
  alloc: Struct.pointer(24, "alloc"),
  free: Struct.pointer(32, "free"),
  pdContext: Struct.pointer(40, "pd_context")
})

/** An asynchronous event: `element` is a pointer or, for a port, `portNum`, by `eventType`. */
export const AsyncEvent = Struct.make("struct ibv_async_event", 16, {
  element: Struct.pointer(0, "element.cq"),
  portNum: Struct.i32(0, "element.port_num"),
  eventType: Struct.i32(8, "event_type")
})

/** A protection domain. */
export const Pd = Struct.make("struct ibv_pd", 16, {
  context: Struct.pointer(0, "context"),
  handle: Struct.u32(8, "handle")
})

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

/** An address handle. */
export const Ah = Struct.make("struct ibv_ah", 24, {
  context: Struct.pointer(0, "context"),
  pd: Struct.pointer(8, "pd"),
  handle: Struct.u32(16, "handle")
})

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

/** A shared receive queue. */
export const Srq = Struct.make("struct ibv_srq", { x64: 128, arm64: 136 }, {
  context: Struct.pointer(0, "context"),
  srqContext: Struct.pointer(8, "srq_context"),
  pd: Struct.pointer(16, "pd"),
  handle: Struct.u32(24, "handle")
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

/** How fast a queue pair sends; `compMask` is 0. */
export const QpRateLimitAttr = Struct.make("struct ibv_qp_rate_limit_attr", 16, {
  rateLimit: Struct.u32(0, "rate_limit"),
  maxBurstSz: Struct.u32(4, "max_burst_sz"),
  typicalPktSz: Struct.u16(8, "typical_pkt_sz"),
  compMask: Struct.u32(12, "comp_mask")
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
  ahAttr: Struct.nested(56, AhAttr, "ah_attr"),
  altAhAttr: Struct.nested(88, AhAttr, "alt_ah_attr"),
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

/** One piece of registered memory. */
export const Sge = Struct.make("struct ibv_sge", 16, {
  addr: Struct.u64(0, "addr"),
  length: Struct.u32(8, "length"),
  lkey: Struct.u32(12, "lkey")
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
 * The operations of `struct verbs_context`, each as its distance in bytes below the `struct ibv_context` that the
 * program holds. The struct grows at its low end, so a distance never changes. An operation is there when
 * `abiCompat` of the context is all ones, `sz` (the size of the whole struct) is at least `Context.size + below`,
 * and its pointer is not NULL.
 *
 * @category layouts
 * @since 0.1.0
 */
export const contextOps = {
  sz: { member: "sz", below: 8 },
  hasCompMask: { member: "_ABI_placeholder3", below: 16 },
  closeXrcd: { member: "close_xrcd", below: 24 },
  openXrcd: { member: "open_xrcd", below: 32 },
  createSrqEx: { member: "create_srq_ex", below: 40 },
  getSrqNum: { member: "get_srq_num", below: 48 },
  createQpEx: { member: "create_qp_ex", below: 56 },
  openQp: { member: "open_qp", below: 64 },
  createFlow: { member: "ibv_create_flow", below: 80 },
  destroyFlow: { member: "ibv_destroy_flow", below: 96 },
  queryDeviceEx: { member: "query_device_ex", below: 104 },
  createCqEx: { member: "create_cq_ex", below: 120 },
  queryRtValues: { member: "query_rt_values", below: 128 },
  createWq: { member: "create_wq", below: 136 },
  modifyWq: { member: "modify_wq", below: 144 },
  destroyWq: { member: "destroy_wq", below: 152 },
  createRwqIndTable: { member: "create_rwq_ind_table", below: 160 },
  destroyRwqIndTable: { member: "destroy_rwq_ind_table", below: 168 },
  postSrqOps: { member: "post_srq_ops", below: 176 },
  modifyCq: { member: "modify_cq", below: 184 },
  allocTd: { member: "alloc_td", below: 192 },
  deallocTd: { member: "dealloc_td", below: 200 },
  allocParentDomain: { member: "alloc_parent_domain", below: 208 },
  modifyQpRateLimit: { member: "modify_qp_rate_limit", below: 216 },
  createFlowActionEsp: { member: "create_flow_action_esp", below: 224 },
  destroyFlowAction: { member: "destroy_flow_action", below: 232 },
  modifyFlowActionEsp: { member: "modify_flow_action_esp", below: 240 },
  freeDm: { member: "free_dm", below: 248 },
  allocDm: { member: "alloc_dm", below: 256 },
  regDmMr: { member: "reg_dm_mr", below: 264 },
  destroyCounters: { member: "destroy_counters", below: 272 },
  createCounters: { member: "create_counters", below: 280 },
  attachCountersPointFlow: { member: "attach_counters_point_flow", below: 288 },
  readCounters: { member: "read_counters", below: 296 },
  allocNullMr: { member: "alloc_null_mr", below: 304 },
  adviseMr: { member: "advise_mr", below: 312 },
  queryPort: { member: "query_port", below: 320 }
} as const
