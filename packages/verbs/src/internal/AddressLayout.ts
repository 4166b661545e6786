/**
 * The layouts of `infiniband/verbs.h` for addresses, compared with the C compiler by the ABI test.
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

/** An address handle. */
export const Ah = Struct.make("struct ibv_ah", 24, {
  context: Struct.pointer(0, "context"),
  pd: Struct.pointer(8, "pd"),
  handle: Struct.u32(16, "handle")
})
