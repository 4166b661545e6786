/**
 * Domains on the real library.
 *
 * @since 0.1.0
 */
import * as Library from "@effect-rdma/core/Library"
import * as NativeMemory from "@effect-rdma/core/NativeMemory"
import * as ReturnConvention from "@effect-rdma/core/ReturnConvention"
import * as Effect from "effect/Effect"
import type * as Domain from "../../operations/Domain.ts"
import * as Codec from "../codec.ts"
import * as ContextOps from "../contextOps.ts"
import * as DeviceLayout from "../DeviceLayout.ts"
import * as DomainLayout from "../DomainLayout.ts"
import * as ExperimentalLayout from "../ExperimentalLayout.ts"
import { errorOf, unsupported } from "./error.ts"

export const make = (library: Library.Library): Domain.Operations => {
  const allocPd = library.bind("ibv_alloc_pd", ["pointer"], "pointer")
  const deallocPd = library.bind("ibv_dealloc_pd", ["pointer"], "int")
  const operations: Domain.Operations = {
    allocPd: (context) =>
      ReturnConvention.pointerOrErrno(() => allocPd(context), (errno) => errorOf("ibv_alloc_pd", errno)),
    deallocPd: (pd) => ReturnConvention.returnedErrno(() => deallocPd(pd), (errno) => errorOf("ibv_dealloc_pd", errno)),
    allocTd: (context) =>
      Effect.suspend(() => {
        const op = ContextOps.addressOf(context, DeviceLayout.contextOps.allocTd)
        return op === 0n
          ? Effect.fail(unsupported("ibv_alloc_td", "EOPNOTSUPP"))
          : ReturnConvention.pointerOrErrno(
            () =>
              Library.fromAddress(op, ["pointer", "buffer"], "pointer")(context, DomainLayout.TdInitAttr.allocate()),
            (errno) => errorOf("ibv_alloc_td", errno)
          )
      }),
    deallocTd: (td) =>
      Effect.suspend(() => {
        // A thread domain starts with the context that it was allocated from, and has no other way back to it.
        const context = NativeMemory.view(td, 8).getBigUint64(0, true)
        const op = ContextOps.addressOf(context, DeviceLayout.contextOps.deallocTd)
        return op === 0n
          ? Effect.fail(unsupported("ibv_dealloc_td", "EOPNOTSUPP"))
          : ReturnConvention.returnedErrno(
            () => Library.fromAddress(op, ["pointer"], "int")(td),
            (errno) => errorOf("ibv_dealloc_td", errno)
          )
      }),
    allocParentDomain: (context, { pd, td }) =>
      Effect.suspend(() => {
        const op = ContextOps.addressOf(context, DeviceLayout.contextOps.allocParentDomain)
        if (op === 0n) return Effect.fail(unsupported("ibv_alloc_parent_domain", "EOPNOTSUPP"))
        const attributes = DomainLayout.ParentDomainInitAttr.allocate()
        DomainLayout.ParentDomainInitAttr.write(attributes, { pd, td: td ?? 0n })
        return ReturnConvention.pointerOrErrno(
          () => Library.fromAddress(op, ["pointer", "buffer"], "pointer")(context, attributes),
          (errno) => errorOf("ibv_alloc_parent_domain", errno)
        )
      }),

    expCreateResDomain: (context, attributes) =>
      Effect.suspend(() => {
        const op = ContextOps.experimentalAddressOf(context, ExperimentalLayout.experimentalOps.createResDomain)
        return op === 0n
          ? Effect.fail(unsupported("ibv_exp_create_res_domain", "ENOSYS"))
          : ReturnConvention.pointerOrErrno(
            () =>
              Library.fromAddress(op, ["pointer", "buffer"], "pointer")(
                context,
                Codec.encodeResourceDomainAttributes(attributes)
              ),
            (errno) => errorOf("ibv_exp_create_res_domain", errno, attributes)
          )
      }),
    expDestroyResDomain: (context, domain) =>
      Effect.suspend(() => {
        const op = ContextOps.experimentalAddressOf(context, ExperimentalLayout.experimentalOps.destroyResDomain)
        return op === 0n
          ? Effect.fail(unsupported("ibv_exp_destroy_res_domain", "ENOSYS"))
          : ReturnConvention.returnedErrno(
            () =>
              Library.fromAddress(op, ["pointer", "pointer", "buffer"], "int")(
                context,
                domain,
                ExperimentalLayout.DestroyResDomainAttr.allocate()
              ),
            (errno) => errorOf("ibv_exp_destroy_res_domain", errno)
          )
      })
  }

  return operations
}
