/**
 * The layouts of `infiniband/verbs.h` for protection, thread and parent domains, compared with the C compiler by the ABI test.
 *
 * @since 0.1.0
 */
import * as Struct from "@effect-rdma/core/Struct"

/** A protection domain. */
export const Pd = Struct.make("struct ibv_pd", 16, {
  context: Struct.pointer(0, "context"),
  handle: Struct.u32(8, "handle")
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
