/**
 * The layouts of `rdma/rdma_cma.h`, compared with the C compiler by the ABI test. Field names are those of C in
 * camelCase.
 *
 * @since 0.1.0
 */
import * as Struct from "@effect-rdma/core/Struct"

/** A channel of connection manager events; its descriptor belongs to the library. */
export const EventChannel = Struct.make("struct rdma_event_channel", 4, {
  fd: Struct.i32(0, "fd")
})

/** An IPv4 address and port. */
export const SockaddrIn = Struct.make("struct sockaddr_in", 16, {
  sinFamily: Struct.u16(0, "sin_family"),
  sinPort: Struct.be16(2, "sin_port"),
  sinAddr: Struct.bytes(4, 4, "sin_addr")
})

/** An IPv6 address and port. */
export const SockaddrIn6 = Struct.make("struct sockaddr_in6", 28, {
  sin6Family: Struct.u16(0, "sin6_family"),
  sin6Port: Struct.be16(2, "sin6_port"),
  sin6Flowinfo: Struct.be32(4, "sin6_flowinfo"),
  sin6Addr: Struct.bytes(8, 16, "sin6_addr"),
  sin6ScopeId: Struct.u32(24, "sin6_scope_id")
})

/** A native address of InfiniBand. */
export const SockaddrIb = Struct.make("struct sockaddr_ib", 48, {
  sibFamily: Struct.u16(0, "sib_family"),
  sibPkey: Struct.be16(2, "sib_pkey"),
  sibFlowinfo: Struct.be32(4, "sib_flowinfo"),
  sibAddr: Struct.bytes(8, 16, "sib_addr"),
  sibSid: Struct.be64(24, "sib_sid"),
  sibSidMask: Struct.be64(32, "sib_sid_mask"),
  sibScopeId: Struct.u64(40, "sib_scope_id")
})

/**
 * A connection manager id. `verbs`, `qp`, `pd` and the queues are borrowed from it; `srcAddr` and `dstAddr` are
 * `sockaddr_storage`.
 */
export const CmId = Struct.make("struct rdma_cm_id", 416, {
  verbs: Struct.pointer(0, "verbs"),
  channel: Struct.pointer(8, "channel"),
  context: Struct.pointer(16, "context"),
  qp: Struct.pointer(24, "qp"),
  srcAddr: Struct.bytes(32, 128, "route.addr.src_storage"),
  dstAddr: Struct.bytes(160, 128, "route.addr.dst_storage"),
  sgid: Struct.bytes(288, 16, "route.addr.addr.ibaddr.sgid.raw"),
  dgid: Struct.bytes(304, 16, "route.addr.addr.ibaddr.dgid.raw"),
  pkey: Struct.be16(320, "route.addr.addr.ibaddr.pkey"),
  pathRec: Struct.pointer(328, "route.path_rec"),
  numPaths: Struct.i32(336, "route.num_paths"),
  ps: Struct.i32(344, "ps"),
  portNum: Struct.u8(348, "port_num"),
  event: Struct.pointer(352, "event"),
  sendCqChannel: Struct.pointer(360, "send_cq_channel"),
  sendCq: Struct.pointer(368, "send_cq"),
  recvCqChannel: Struct.pointer(376, "recv_cq_channel"),
  recvCq: Struct.pointer(384, "recv_cq"),
  srq: Struct.pointer(392, "srq"),
  pd: Struct.pointer(400, "pd"),
  qpType: Struct.i32(408, "qp_type")
})

/** A connection manager event, valid until it is acknowledged. The `conn` and `ud` parts share their bytes. */
export const CmEvent = Struct.make("struct rdma_cm_event", 80, {
  id: Struct.pointer(0, "id"),
  listenId: Struct.pointer(8, "listen_id"),
  event: Struct.i32(16, "event"),
  status: Struct.i32(20, "status"),
  privateData: Struct.pointer(24, "param.conn.private_data"),
  privateDataLen: Struct.u8(32, "param.conn.private_data_len"),
  responderResources: Struct.u8(33, "param.conn.responder_resources"),
  initiatorDepth: Struct.u8(34, "param.conn.initiator_depth"),
  flowControl: Struct.u8(35, "param.conn.flow_control"),
  retryCount: Struct.u8(36, "param.conn.retry_count"),
  rnrRetryCount: Struct.u8(37, "param.conn.rnr_retry_count"),
  srq: Struct.u8(38, "param.conn.srq"),
  qpNum: Struct.u32(40, "param.conn.qp_num"),
  udAhAttr: Struct.bytes(40, 32, "param.ud.ah_attr"),
  udQpNum: Struct.u32(72, "param.ud.qp_num"),
  udQkey: Struct.u32(76, "param.ud.qkey")
})

/** What a side offers when it connects or accepts; `srq` and `qpNum` count only without a QP on the id. */
export const ConnParam = Struct.make("struct rdma_conn_param", 24, {
  privateData: Struct.pointer(0, "private_data"),
  privateDataLen: Struct.u8(8, "private_data_len"),
  responderResources: Struct.u8(9, "responder_resources"),
  initiatorDepth: Struct.u8(10, "initiator_depth"),
  flowControl: Struct.u8(11, "flow_control"),
  retryCount: Struct.u8(12, "retry_count"),
  rnrRetryCount: Struct.u8(13, "rnr_retry_count"),
  srq: Struct.u8(14, "srq"),
  qpNum: Struct.u32(16, "qp_num")
})

/** A group to join, and how. */
export const JoinMcAttrEx = Struct.make("struct rdma_cm_join_mc_attr_ex", 16, {
  compMask: Struct.u32(0, "comp_mask"),
  joinFlags: Struct.u32(4, "join_flags"),
  addr: Struct.pointer(8, "addr")
})

/** A resolved address; freed as a list from its head. */
export const AddrInfo = Struct.make("struct rdma_addrinfo", 96, {
  aiFlags: Struct.i32(0, "ai_flags"),
  aiFamily: Struct.i32(4, "ai_family"),
  aiQpType: Struct.i32(8, "ai_qp_type"),
  aiPortSpace: Struct.i32(12, "ai_port_space"),
  aiSrcLen: Struct.u32(16, "ai_src_len"),
  aiDstLen: Struct.u32(20, "ai_dst_len"),
  aiSrcAddr: Struct.pointer(24, "ai_src_addr"),
  aiDstAddr: Struct.pointer(32, "ai_dst_addr"),
  aiSrcCanonname: Struct.pointer(40, "ai_src_canonname"),
  aiDstCanonname: Struct.pointer(48, "ai_dst_canonname"),
  aiRouteLen: Struct.u64(56, "ai_route_len"),
  aiRoute: Struct.pointer(64, "ai_route"),
  aiConnectLen: Struct.u64(72, "ai_connect_len"),
  aiConnect: Struct.pointer(80, "ai_connect"),
  aiNext: Struct.pointer(88, "ai_next")
})
