/**
 * The layouts of `infiniband/verbs.h` for work queues, flows, flow actions and counters, compared with the C compiler by
 * the ABI test. What a flow matches is in network order.
 *
 * @since 0.1.0
 */
import * as Struct from "@effect-rdma/core/Struct"

/** A work queue. `mutex`, `cond` and `eventsCompleted` are for whoever creates it to initialise, not for the provider. */
export const Wq = Struct.make("struct ibv_wq", { x64: 152, arm64: 160 }, {
  context: Struct.pointer(0, "context"),
  wqContext: Struct.pointer(8, "wq_context"),
  pd: Struct.pointer(16, "pd"),
  cq: Struct.pointer(24, "cq"),
  wqNum: Struct.u32(32, "wq_num"),
  handle: Struct.u32(36, "handle"),
  state: Struct.i32(40, "state"),
  wqType: Struct.i32(44, "wq_type"),
  postRecv: Struct.pointer(48, "post_recv"),
  mutex: Struct.bytes(56, process.arch === "arm64" ? 48 : 40, "mutex"),
  cond: Struct.bytes({ x64: 96, arm64: 104 }, 48, "cond"),
  eventsCompleted: Struct.u32({ x64: 144, arm64: 152 }, "events_completed"),
  compMask: Struct.u32({ x64: 148, arm64: 156 }, "comp_mask")
})

/** What a work queue is made from; the call writes the room that it got into `maxWr` and `maxSge`. */
export const WqInitAttr = Struct.make("struct ibv_wq_init_attr", 48, {
  wqContext: Struct.pointer(0, "wq_context"),
  wqType: Struct.i32(8, "wq_type"),
  maxWr: Struct.u32(12, "max_wr"),
  maxSge: Struct.u32(16, "max_sge"),
  pd: Struct.pointer(24, "pd"),
  cq: Struct.pointer(32, "cq"),
  compMask: Struct.u32(40, "comp_mask"),
  createFlags: Struct.u32(44, "create_flags")
})

/** The attributes of a work queue, each valid by its bit in `attrMask`. */
export const WqAttr = Struct.make("struct ibv_wq_attr", 20, {
  attrMask: Struct.u32(0, "attr_mask"),
  wqState: Struct.i32(4, "wq_state"),
  currWqState: Struct.i32(8, "curr_wq_state"),
  flags: Struct.u32(12, "flags"),
  flagsMask: Struct.u32(16, "flags_mask")
})

/** A table that spreads packets over work queues. */
export const RwqIndTable = Struct.make("struct ibv_rwq_ind_table", 24, {
  context: Struct.pointer(0, "context"),
  indTblHandle: Struct.i32(8, "ind_tbl_handle"),
  indTblNum: Struct.i32(12, "ind_tbl_num"),
  compMask: Struct.u32(16, "comp_mask")
})

/** What such a table is made from: `indTbl` is an array of `1 << logIndTblSize` pointers, read during the call only. */
export const RwqIndTableInitAttr = Struct.make("struct ibv_rwq_ind_table_init_attr", 24, {
  logIndTblSize: Struct.u32(0, "log_ind_tbl_size"),
  indTbl: Struct.pointer(8, "ind_tbl"),
  compMask: Struct.u32(16, "comp_mask")
})

/** The head of a flow. Its specifications follow at once, each as long as its own `size`. */
export const FlowAttr = Struct.make("struct ibv_flow_attr", 20, {
  compMask: Struct.u32(0, "comp_mask"),
  type: Struct.i32(4, "type"),
  size: Struct.u16(8, "size"),
  priority: Struct.u16(10, "priority"),
  numOfSpecs: Struct.u8(12, "num_of_specs"),
  port: Struct.u8(13, "port"),
  flags: Struct.u32(16, "flags")
})

/** A flow. Its context is not its first member. */
export const Flow = Struct.make("struct ibv_flow", 24, {
  compMask: Struct.u32(0, "comp_mask"),
  context: Struct.pointer(8, "context"),
  handle: Struct.u32(16, "handle")
})

export const FlowEthFilter = Struct.make("struct ibv_flow_eth_filter", 16, {
  dstMac: Struct.bytes(0, 6, "dst_mac"),
  srcMac: Struct.bytes(6, 6, "src_mac"),
  etherType: Struct.be16(12, "ether_type"),
  vlanTag: Struct.be16(14, "vlan_tag")
})

export const FlowIpv4Filter = Struct.make("struct ibv_flow_ipv4_filter", 8, {
  srcIp: Struct.bytes(0, 4, "src_ip"),
  dstIp: Struct.bytes(4, 4, "dst_ip")
})

export const FlowIpv4ExtFilter = Struct.make("struct ibv_flow_ipv4_ext_filter", 12, {
  srcIp: Struct.bytes(0, 4, "src_ip"),
  dstIp: Struct.bytes(4, 4, "dst_ip"),
  proto: Struct.u8(8, "proto"),
  tos: Struct.u8(9, "tos"),
  ttl: Struct.u8(10, "ttl"),
  flags: Struct.u8(11, "flags")
})

export const FlowIpv6Filter = Struct.make("struct ibv_flow_ipv6_filter", 40, {
  srcIp: Struct.bytes(0, 16, "src_ip"),
  dstIp: Struct.bytes(16, 16, "dst_ip"),
  flowLabel: Struct.be32(32, "flow_label"),
  nextHdr: Struct.u8(36, "next_hdr"),
  trafficClass: Struct.u8(37, "traffic_class"),
  hopLimit: Struct.u8(38, "hop_limit")
})

export const FlowEspFilter = Struct.make("struct ibv_flow_esp_filter", 8, {
  spi: Struct.be32(0, "spi"),
  seq: Struct.be32(4, "seq")
})

export const FlowTcpUdpFilter = Struct.make("struct ibv_flow_tcp_udp_filter", 4, {
  dstPort: Struct.be16(0, "dst_port"),
  srcPort: Struct.be16(2, "src_port")
})

export const FlowGreFilter = Struct.make("struct ibv_flow_gre_filter", 8, {
  cKsRes0Ver: Struct.be16(0, "c_ks_res0_ver"),
  protocol: Struct.be16(2, "protocol"),
  key: Struct.be32(4, "key")
})

export const FlowMplsFilter = Struct.make("struct ibv_flow_mpls_filter", 4, { label: Struct.be32(0, "label") })

export const FlowTunnelFilter = Struct.make("struct ibv_flow_tunnel_filter", 4, {
  tunnelId: Struct.be32(0, "tunnel_id")
})

/** What every specification begins with, and all of this one. */
export const FlowSpecActionDrop = Struct.make("struct ibv_flow_spec_action_drop", 8, {
  type: Struct.i32(0, "type"),
  size: Struct.u16(4, "size")
})

/** A specification that compares: the filter twice behind the head, as value and as mask. */
const matching = <F extends Struct.Fields>(name: string, size: number, val: number, filter: Struct.Struct<F>) =>
  Struct.make(name, size, {
    type: Struct.i32(0, "type"),
    size: Struct.u16(4, "size"),
    val: Struct.nested(val, filter, "val"),
    mask: Struct.nested(val + filter.size, filter, "mask")
  })

/** The layout of a specification that compares. */
export type Matching<F extends Struct.Fields> = ReturnType<typeof matching<F>>

export const FlowSpecEth = matching("struct ibv_flow_spec_eth", 40, 6, FlowEthFilter)
export const FlowSpecIpv4 = matching("struct ibv_flow_spec_ipv4", 24, 8, FlowIpv4Filter)
export const FlowSpecIpv4Ext = matching("struct ibv_flow_spec_ipv4_ext", 32, 8, FlowIpv4ExtFilter)
export const FlowSpecIpv6 = matching("struct ibv_flow_spec_ipv6", 88, 8, FlowIpv6Filter)
export const FlowSpecEsp = matching("struct ibv_flow_spec_esp", 24, 8, FlowEspFilter)
export const FlowSpecTcpUdp = matching("struct ibv_flow_spec_tcp_udp", 16, 6, FlowTcpUdpFilter)
export const FlowSpecGre = matching("struct ibv_flow_spec_gre", 24, 8, FlowGreFilter)
export const FlowSpecMpls = matching("struct ibv_flow_spec_mpls", 16, 8, FlowMplsFilter)
export const FlowSpecTunnel = matching("struct ibv_flow_spec_tunnel", 16, 8, FlowTunnelFilter)

export const FlowSpecActionTag = Struct.make("struct ibv_flow_spec_action_tag", 12, {
  type: Struct.i32(0, "type"),
  size: Struct.u16(4, "size"),
  tagId: Struct.u32(8, "tag_id")
})

export const FlowSpecActionHandle = Struct.make("struct ibv_flow_spec_action_handle", 16, {
  type: Struct.i32(0, "type"),
  size: Struct.u16(4, "size"),
  action: Struct.pointer(8, "action")
})

export const FlowSpecActionCount = Struct.make("struct ibv_flow_spec_counter_action", 16, {
  type: Struct.i32(0, "type"),
  size: Struct.u16(4, "size"),
  counters: Struct.pointer(8, "counters")
})

/** What a flow action for ESP is made from: pointers to the parts below, each with the length of what is there. */
export const FlowActionEspAttr = Struct.make("struct ibv_flow_action_esp_attr", 56, {
  espAttr: Struct.pointer(0, "esp_attr"),
  keymatProto: Struct.i32(8, "keymat_proto"),
  keymatLen: Struct.u16(12, "keymat_len"),
  keymatPtr: Struct.pointer(16, "keymat_ptr"),
  replayProto: Struct.i32(24, "replay_proto"),
  replayLen: Struct.u16(28, "replay_len"),
  replayPtr: Struct.pointer(32, "replay_ptr"),
  espEncap: Struct.pointer(40, "esp_encap"),
  compMask: Struct.u32(48, "comp_mask"),
  esn: Struct.u32(52, "esn")
})

export const FlowActionEsp = Struct.make("struct ib_uverbs_flow_action_esp", 24, {
  spi: Struct.u32(0, "spi"),
  seq: Struct.u32(4, "seq"),
  tfcPad: Struct.u32(8, "tfc_pad"),
  flags: Struct.u32(12, "flags"),
  hardLimitPkts: Struct.u64(16, "hard_limit_pkts")
})

export const FlowActionEspKeymatAesGcm = Struct.make("struct ib_uverbs_flow_action_esp_keymat_aes_gcm", 56, {
  iv: Struct.u64(0, "iv"),
  ivAlgo: Struct.u32(8, "iv_algo"),
  salt: Struct.u32(12, "salt"),
  icvLen: Struct.u32(16, "icv_len"),
  keyLen: Struct.u32(20, "key_len"),
  aesKey: Struct.bytes(24, 32, "aes_key")
})

export const FlowActionEspReplayBmp = Struct.make("struct ib_uverbs_flow_action_esp_replay_bmp", 4, {
  size: Struct.u32(0, "size")
})

export const CountersInitAttr = Struct.make("struct ibv_counters_init_attr", 4, {
  compMask: Struct.u32(0, "comp_mask")
})

export const CounterAttachAttr = Struct.make("struct ibv_counter_attach_attr", 12, {
  counterDesc: Struct.i32(0, "counter_desc"),
  index: Struct.u32(4, "index"),
  compMask: Struct.u32(8, "comp_mask")
})
