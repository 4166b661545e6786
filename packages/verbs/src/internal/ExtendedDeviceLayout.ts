/**
 * The layouts of the extended queries of a device, compared with the C compiler by the ABI test.
 *
 * @since 0.1.0
 */
import * as Struct from "@effect-rdma/core/Struct"
import * as DeviceLayout from "./DeviceLayout.ts"

export const OdpCaps = Struct.make("struct ibv_odp_caps", 24, {
  generalCaps: Struct.u64(0, "general_caps"),
  rcOdpCaps: Struct.u32(8, "per_transport_caps.rc_odp_caps"),
  ucOdpCaps: Struct.u32(12, "per_transport_caps.uc_odp_caps"),
  udOdpCaps: Struct.u32(16, "per_transport_caps.ud_odp_caps")
})

export const TsoCaps = Struct.make("struct ibv_tso_caps", 8, {
  maxTso: Struct.u32(0, "max_tso"),
  supportedQpts: Struct.u32(4, "supported_qpts")
})

export const RssCaps = Struct.make("struct ibv_rss_caps", 32, {
  supportedQpts: Struct.u32(0, "supported_qpts"),
  maxRwqIndirectionTables: Struct.u32(4, "max_rwq_indirection_tables"),
  maxRwqIndirectionTableSize: Struct.u32(8, "max_rwq_indirection_table_size"),
  rxHashFieldsMask: Struct.u64(16, "rx_hash_fields_mask"),
  rxHashFunction: Struct.u8(24, "rx_hash_function")
})

export const PacketPacingCaps = Struct.make("struct ibv_packet_pacing_caps", 12, {
  qpRateLimitMin: Struct.u32(0, "qp_rate_limit_min"),
  qpRateLimitMax: Struct.u32(4, "qp_rate_limit_max"),
  supportedQpts: Struct.u32(8, "supported_qpts")
})

export const TmCaps = Struct.make("struct ibv_tm_caps", 20, {
  maxRndvHdrSize: Struct.u32(0, "max_rndv_hdr_size"),
  maxNumTags: Struct.u32(4, "max_num_tags"),
  flags: Struct.u32(8, "flags"),
  maxOps: Struct.u32(12, "max_ops"),
  maxSge: Struct.u32(16, "max_sge")
})

export const CqModerationCaps = Struct.make("struct ibv_cq_moderation_caps", 4, {
  maxCqCount: Struct.u16(0, "max_cq_count"),
  maxCqPeriod: Struct.u16(2, "max_cq_period")
})

export const PciAtomicCaps = Struct.make("struct ibv_pci_atomic_caps", 6, {
  fetchAdd: Struct.u16(0, "fetch_add"),
  swap: Struct.u16(2, "swap"),
  compareSwap: Struct.u16(4, "compare_swap")
})

export const DeviceAttrEx = Struct.make("struct ibv_device_attr_ex", 400, {
  origAttr: Struct.nested(0, DeviceLayout.DeviceAttr, "orig_attr"),
  compMask: Struct.u32(232, "comp_mask"),
  odpCaps: Struct.nested(240, OdpCaps, "odp_caps"),
  completionTimestampMask: Struct.u64(264, "completion_timestamp_mask"),
  hcaCoreClock: Struct.u64(272, "hca_core_clock"),
  deviceCapFlagsEx: Struct.u64(280, "device_cap_flags_ex"),
  tsoCaps: Struct.nested(288, TsoCaps, "tso_caps"),
  rssCaps: Struct.nested(296, RssCaps, "rss_caps"),
  maxWqTypeRq: Struct.u32(328, "max_wq_type_rq"),
  packetPacingCaps: Struct.nested(332, PacketPacingCaps, "packet_pacing_caps"),
  rawPacketCaps: Struct.u32(344, "raw_packet_caps"),
  tmCaps: Struct.nested(348, TmCaps, "tm_caps"),
  cqModCaps: Struct.nested(368, CqModerationCaps, "cq_mod_caps"),
  maxDmSize: Struct.u64(376, "max_dm_size"),
  pciAtomicCaps: Struct.nested(384, PciAtomicCaps, "pci_atomic_caps"),
  xrcOdpCaps: Struct.u32(392, "xrc_odp_caps"),
  physPortCntEx: Struct.u32(396, "phys_port_cnt_ex")
})

export const ValuesEx = Struct.make("struct ibv_values_ex", 24, {
  compMask: Struct.u32(0, "comp_mask"),
  tvSec: Struct.i64(8, "raw_clock.tv_sec"),
  tvNsec: Struct.i64(16, "raw_clock.tv_nsec")
})
