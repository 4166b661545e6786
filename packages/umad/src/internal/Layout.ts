/**
 * The layouts of `infiniband/umad.h`, compared with the C compiler by the ABI test. Field names are those of C in
 * camelCase.
 *
 * @since 0.1.0
 */
import * as Struct from "@effect-rdma/core/Struct"

/**
 * A port as `umad_get_port` fills it in; `pkeys` points to `pkeysSize` P_Keys of 16 bits in host order, which
 * `umad_release_port` frees.
 */
export const Port = Struct.make("struct umad_port", 112, {
  caName: Struct.string(0, 20, "ca_name"),
  portnum: Struct.i32(20, "portnum"),
  baseLid: Struct.u32(24, "base_lid"),
  lmc: Struct.u32(28, "lmc"),
  smLid: Struct.u32(32, "sm_lid"),
  smSl: Struct.u32(36, "sm_sl"),
  state: Struct.u32(40, "state"),
  physState: Struct.u32(44, "phys_state"),
  rate: Struct.u32(48, "rate"),
  capmask: Struct.be32(52, "capmask"),
  gidPrefix: Struct.be64(56, "gid_prefix"),
  portGuid: Struct.be64(64, "port_guid"),
  pkeysSize: Struct.u32(72, "pkeys_size"),
  pkeys: Struct.pointer(80, "pkeys"),
  linkLayer: Struct.string(88, 20, "link_layer")
})

/** A channel adapter as `umad_get_ca` fills it in; the index into `ports` is the port number, a hole is NULL. */
export const Ca = Struct.make("struct umad_ca", 208, {
  caName: Struct.string(0, 20, "ca_name"),
  nodeType: Struct.u32(20, "node_type"),
  numports: Struct.i32(24, "numports"),
  fwVer: Struct.string(28, 20, "fw_ver"),
  caType: Struct.string(48, 40, "ca_type"),
  hwVer: Struct.string(88, 20, "hw_ver"),
  nodeGuid: Struct.be64(112, "node_guid"),
  systemGuid: Struct.be64(120, "system_guid"),
  ports: Struct.array(Struct.pointer(128, "ports"), 10)
})

/** One element of the list that `umad_get_ca_device_list` returns. */
export const DeviceNode = Struct.make("struct umad_device_node", 16, {
  next: Struct.pointer(0, "next"),
  caName: Struct.pointer(8, "ca_name")
})

/** The header in front of the `length` bytes of a MAD that is sent or was received. */
export const UserMad = Struct.make("struct ib_user_mad", 64, {
  agentId: Struct.u32(0, "agent_id"),
  status: Struct.u32(4, "status"),
  timeoutMs: Struct.u32(8, "timeout_ms"),
  retries: Struct.u32(12, "retries"),
  length: Struct.u32(16, "length"),
  qpn: Struct.be32(20, "addr.qpn"),
  qkey: Struct.be32(24, "addr.qkey"),
  lid: Struct.be16(28, "addr.lid"),
  sl: Struct.u8(30, "addr.sl"),
  pathBits: Struct.u8(31, "addr.path_bits"),
  grhPresent: Struct.u8(32, "addr.grh_present"),
  gidIndex: Struct.u8(33, "addr.gid_index"),
  hopLimit: Struct.u8(34, "addr.hop_limit"),
  trafficClass: Struct.u8(35, "addr.traffic_class"),
  gid: Struct.bytes(36, 16, "addr.gid"),
  flowLabel: Struct.be32(52, "addr.flow_label"),
  pkeyIndex: Struct.u16(56, "addr.pkey_index")
})

/** What an agent is registered with by `umad_register2`. */
export const RegAttr = Struct.make("struct umad_reg_attr", 32, {
  mgmtClass: Struct.u8(0, "mgmt_class"),
  mgmtClassVersion: Struct.u8(1, "mgmt_class_version"),
  flags: Struct.u32(4, "flags"),
  methodMask: Struct.array(Struct.u64(8, "method_mask"), 2),
  oui: Struct.u32(24, "oui"),
  rmppVersion: Struct.u8(28, "rmpp_version")
})
