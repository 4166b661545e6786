/**
 * The layouts of the experimental verbs that MLNX_OFED shipped up to version 4. No header of today has them, so
 * the ABI test cannot compare them with one; the echo provider stands in.
 *
 * Below the `struct ibv_context` that the program holds lies `struct verbs_context`, and below that, when its
 * `hasCompMask` has {@link hasExperimental}, `struct verbs_context_exp`. Both grow at their low end.
 *
 * @since 0.1.0
 */
import * as Struct from "@effect-rdma/core/Struct"

/** The bit of `hasCompMask` that says that an experimental context is there; rdma-core keeps that word at 0. */
export const hasExperimental = 1n << 62n

/**
 * The operations of `struct verbs_context_exp`, each as its distance in bytes below the start of `struct
 * verbs_context`, which is at `context - sz + Context.size`. An operation is there when the experimental `sz` is at
 * least its distance and its pointer is not NULL.
 */
export const experimentalOps = {
  sz: { below: 8 },
  destroyResDomain: { below: 416 },
  createResDomain: { below: 424 }
} as const

/** `comp_mask` of {@link ResDomainInitAttr}. A larger number than both together is refused with EINVAL. */
export const resDomainInitMask = { threadModel: 1, msgModel: 2 } as const

/** What a resource domain is made from; never NULL, the inline of C dereferences it. */
export const ResDomainInitAttr = Struct.make("struct ibv_exp_res_domain_init_attr", 12, {
  compMask: Struct.u32(0, "comp_mask"),
  threadModel: Struct.i32(4, "thread_model"),
  msgModel: Struct.i32(8, "msg_model")
})

/** What a resource domain is destroyed with; `compMask` is 0. */
export const DestroyResDomainAttr = Struct.make("struct ibv_exp_destroy_res_domain_attr", 4, {
  compMask: Struct.u32(0, "comp_mask")
})

/** A resource domain; the provider's struct is larger. */
export const ResDomain = Struct.make("struct ibv_exp_res_domain", 8, { context: Struct.pointer(0, "context") })
