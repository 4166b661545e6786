/**
 * The structs of completion counters, which no header of rdma-core 44 declares: the ABI test cannot compare them with it.
 *
 * @since 0.1.0
 */
import * as Struct from "@effect-rdma/core/Struct"

/** What a completion counter is made from. */
export const CompCntrInitAttr = Struct.make("struct ibv_comp_cntr_init_attr", 12, {
  compMask: Struct.u32(0, "comp_mask"),
  type: Struct.i32(4, "type"),
  flags: Struct.u32(8, "flags")
})

/** What completion counters of a device can do. */
export const CompCntrCaps = Struct.make("struct ibv_comp_cntr_caps", 16, {
  maxValue: Struct.u64(0, "max_value"),
  maxCounters: Struct.u32(8, "max_counters"),
  supportedQpAttachOps: Struct.u32(12, "supported_qp_attach_ops")
})

/** What a completion counter is attached to a queue pair for. */
export const QpAttachCompCntrAttr = Struct.make("struct ibv_qp_attach_comp_cntr_attr", 8, {
  compMask: Struct.u32(0, "comp_mask"),
  opMask: Struct.u32(4, "op_mask")
})
