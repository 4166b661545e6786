import type * as Domain from "@effect-rdma/verbs/operations/Domain"
import * as Effect from "effect/Effect"
import { FabricMisuse } from "../../FabricMisuse.ts"
import { fail, type OfContext, query, reclaim, rootOf, type ThreadDomainState, type VerbsState } from "./state.ts"

/** Protection, thread, parent and resource domains of one host. */
export const make = (state: VerbsState): Domain.Operations => {
  const { domains, host: { heap } } = state
  const threadDomains = heap.store<"ibv_td", ThreadDomainState>("ibv_td")
  const resourceDomains = heap.store<"ibv_exp_res_domain", OfContext>("ibv_exp_res_domain")
  state.onClose.push((context) => {
    reclaim(domains, context, (domain) => {
      if (domain.kind === "ProtectionDomain") domain.device.pds--
    })
    reclaim(threadDomains, context)
    reclaim(resourceDomains, context)
  })

  return {
    allocPd: (context) =>
      query(state, "ibv_alloc_pd", context, (device) => {
        if (device.pds >= device.description.attributes.maxPd) return fail("ibv_alloc_pd", "ENOMEM")
        device.pds++
        return Effect.succeed(domains.alloc({ kind: "ProtectionDomain", device, context, parts: [], users: 0 }))
      }),
    deallocPd: (pd) =>
      Effect.suspend(() => {
        const call = "ibv_dealloc_pd"
        const domain = domains.get(call, pd)
        if (!domain.device.plugged) return fail(call, "EIO")
        if (domain.users > 0) return fail(call, "EBUSY")
        domains.free(call, pd)
        if (domain.kind === "ProtectionDomain") domain.device.pds--
        for (const part of domain.parts) part.users--
        return Effect.void
      }),
    allocTd: (context) =>
      query(state, "ibv_alloc_td", context, (device) =>
        device.description.provider === "mlx5"
          ? Effect.succeed(threadDomains.alloc({ kind: "ThreadDomain", device, context, users: 0 }))
          : fail("ibv_alloc_td", "EOPNOTSUPP")),
    deallocTd: (td) =>
      Effect.suspend(() => {
        const call = "ibv_dealloc_td"
        const domain = threadDomains.get(call, td)
        if (!domain.device.plugged) return fail(call, "EIO")
        if (domain.users > 0) return fail(call, "EBUSY")
        threadDomains.free(call, td)
        return Effect.void
      }),
    allocParentDomain: (context, { pd, td }) =>
      query(state, "ibv_alloc_parent_domain", context, (device) => {
        const call = "ibv_alloc_parent_domain"
        const domain = domains.get(call, pd)
        const parts = td === undefined ? [domain] : [domain, threadDomains.get(call, td)]
        if (device.description.provider !== "mlx5") return fail(call, "EOPNOTSUPP")
        if (parts.some((part) => part.context !== context)) {
          throw new FabricMisuse({ call, problem: "the parts are of different contexts" })
        }
        for (const part of parts) part.users++
        return Effect.succeed(
          domains.alloc({ kind: "ParentDomain", root: rootOf(domain), device, context, parts, users: 0 })
        )
      }),

    expCreateResDomain: (context) =>
      query(state, "ibv_exp_create_res_domain", context, (device) =>
        device.description.experimental
          ? Effect.succeed(resourceDomains.alloc({ kind: "ResourceDomain", device, context }))
          : fail("ibv_exp_create_res_domain", "ENOSYS")),
    expDestroyResDomain: (context, domain) =>
      query(state, "ibv_exp_destroy_res_domain", context, () => {
        const call = "ibv_exp_destroy_res_domain"
        if (resourceDomains.get(call, domain).context !== context) {
          throw new FabricMisuse({ call, problem: "the domain is of another context" })
        }
        resourceDomains.free(call, domain)
        return Effect.void
      })
  }
}
