/**
 * A protection domain: `ibv_alloc_pd(3)` and `ibv_dealloc_pd`.
 *
 * @since 0.1.0
 */
import * as CreationSite from "@effect-rdma/core/CreationSite"
import type * as Pointer from "@effect-rdma/core/Pointer"
import * as Resource from "@effect-rdma/core/Resource"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import type * as DeviceContext from "./DeviceContext.ts"
import * as MemoryAttributes from "./MemoryAttributes.ts"
import type * as ParentDomain from "./ParentDomain.ts"
import type { VerbsError } from "./VerbsError.ts"

/**
 * A protection domain: queue pairs, memory regions and address handles work together only within one.
 *
 * @category models
 * @since 0.1.0
 */
export interface ProtectionDomain extends Resource.Resource<"ProtectionDomain", Pointer.Pointer<"ibv_pd">> {
  readonly context: DeviceContext.DeviceContext
}

/**
 * What can stand where C takes a `struct ibv_pd *`.
 *
 * @category models
 * @since 0.1.0
 */
export type AnyDomain = ProtectionDomain | ParentDomain.ParentDomain

/**
 * Allocates a protection domain, owned by the scope. Whatever was made in it is released before it. Blocks for a system
 * call. Fails with `ENOMEM` when the device has no more.
 *
 * @category constructors
 * @since 0.1.0
 */
export const alloc = (
  context: DeviceContext.DeviceContext
): Effect.Effect<ProtectionDomain, VerbsError, Scope.Scope> =>
  Resource.make({
    kind: "ProtectionDomain",
    pair: ["ibv_alloc_pd", "ibv_dealloc_pd"],
    site: CreationSite.capture(alloc),
    parents: [context],
    goneWithDevice: true,
    acquire: Resource.use(context, context.verbs.allocPd),
    release: context.verbs.deallocPd,
    fields: () => ({ context })
  })

/**
 * A domain that somebody else has, such as librdmacm for each device: it is listed, and what is made in it is released before
 * `owner`, but it is never deallocated by us.
 *
 * @category constructors
 * @since 0.1.0
 */
export const borrow = (
  context: DeviceContext.DeviceContext,
  pointer: Pointer.Pointer<"ibv_pd">,
  owner: Resource.Any,
  site: CreationSite.CreationSite | undefined = CreationSite.capture(borrow)
): Effect.Effect<ProtectionDomain, never, Scope.Scope> =>
  Resource.make({
    kind: "ProtectionDomain",
    pair: ["ibv_alloc_pd", "ibv_dealloc_pd"],
    site,
    parents: [context, owner],
    ownership: "borrowed",
    acquire: Effect.succeed(pointer),
    release: () => Effect.void,
    fields: () => ({ context })
  })

/**
 * Imports the domain of a handle that another context of the same device file allocated: `ibv_import_pd(3)`. It is
 * borrowed: the release, `ibv_unimport_pd`, leaves the domain to whoever allocated it, who must keep it until then. What
 * was made in it here is released before; if that fails, it is not unimported. Fails with `EINVAL` or `ENOENT` for an
 * unknown handle, with `EOPNOTSUPP` where the provider cannot import, as all but mlx5.
 *
 * @category constructors
 * @since 0.1.0
 */
export const import_ = (
  context: DeviceContext.DeviceContext,
  handle: number
): Effect.Effect<ProtectionDomain, VerbsError | Schema.SchemaError, Scope.Scope> => {
  const site = CreationSite.capture(import_)
  return Effect.flatMap(Schema.decodeEffect(MemoryAttributes.Handle)(handle), (handle) =>
    Resource.make({
      kind: "ProtectionDomain",
      pair: ["ibv_import_pd", "ibv_unimport_pd"],
      site,
      parents: [context],
      cannotRefuse: true,
      acquire: Resource.use(context, (pointer) => context.verbs.importPd(pointer, handle)),
      release: context.verbs.unimportPd,
      fields: () => ({ context })
    }))
}
export { import_ as import }

/**
 * The number of a domain in the kernel, for {@link import} on another context of the same device file.
 *
 * @category getters
 * @since 0.1.0
 */
export const handle = (self: ProtectionDomain): Effect.Effect<number> =>
  Resource.use(self, self.context.verbs.getPdHandle)
