/**
 * The layouts of `infiniband/verbs.h` for devices, their contexts and ports, compared with the C compiler by the ABI test.
 *
 * @since 0.1.0
 */
import * as Struct from "@effect-rdma/core/Struct"

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

/** A GID with its place and type. */
export const GidEntry = Struct.make("struct ibv_gid_entry", 32, {
  gid: Struct.bytes(0, 16, "gid.raw"),
  gidIndex: Struct.u32(16, "gid_index"),
  portNum: Struct.u32(20, "port_num"),
  gidType: Struct.u32(24, "gid_type"),
  ndevIfindex: Struct.u32(28, "ndev_ifindex")
})

/** An asynchronous event: `element` is a pointer or, for a port, `portNum`, by `eventType`. */
export const AsyncEvent = Struct.make("struct ibv_async_event", 16, {
  element: Struct.pointer(0, "element.cq"),
  portNum: Struct.i32(0, "element.port_num"),
  eventType: Struct.i32(8, "event_type")
})
