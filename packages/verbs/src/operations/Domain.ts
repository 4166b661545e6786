/**
 * The part of the seam of libibverbs for protection, thread, parent and resource domains.
 *
 * @since 0.1.0
 */
import type * as Pointer from "@effect-rdma/core/Pointer"
import type * as Effect from "effect/Effect"
import type * as ResourceDomainAttributes from "../ResourceDomainAttributes.ts"
import type { VerbsError } from "../VerbsError.ts"

/**
 * What other objects are made in.
 *
 * @category services
 * @since 0.1.0
 */
export interface Operations {
  readonly allocPd: (context: Pointer.Pointer<"ibv_context">) => Effect.Effect<Pointer.Pointer<"ibv_pd">, VerbsError>
  readonly deallocPd: (pd: Pointer.Pointer<"ibv_pd">) => Effect.Effect<void, VerbsError>
  readonly allocTd: (context: Pointer.Pointer<"ibv_context">) => Effect.Effect<Pointer.Pointer<"ibv_td">, VerbsError>
  readonly deallocTd: (td: Pointer.Pointer<"ibv_td">) => Effect.Effect<void, VerbsError>
  /** Released by `deallocPd`, since it is a PD in C. */
  readonly allocParentDomain: (
    context: Pointer.Pointer<"ibv_context">,
    attributes: { readonly pd: Pointer.Pointer<"ibv_pd">; readonly td: Pointer.Pointer<"ibv_td"> | undefined }
  ) => Effect.Effect<Pointer.Pointer<"ibv_pd">, VerbsError>

  /** Experimental: only where the library is MLNX_OFED's, else `EOPNOTSUPP`. */
  readonly expCreateResDomain: (
    context: Pointer.Pointer<"ibv_context">,
    attributes: ResourceDomainAttributes.ResourceDomainAttributes
  ) => Effect.Effect<Pointer.Pointer<"ibv_exp_res_domain">, VerbsError>
  readonly expDestroyResDomain: (
    context: Pointer.Pointer<"ibv_context">,
    domain: Pointer.Pointer<"ibv_exp_res_domain">
  ) => Effect.Effect<void, VerbsError>
}
