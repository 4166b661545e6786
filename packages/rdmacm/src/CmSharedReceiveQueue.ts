/**
 * A shared receive queue that librdmacm makes on an id: `rdma_create_srq(3)` and `rdma_destroy_srq`. For moving data make one
 * through verbs, with `SharedReceiveQueue.make`.
 *
 * @since 0.1.0
 */
import * as CreationSite from "@effect-rdma/core/CreationSite"
import type * as Pointer from "@effect-rdma/core/Pointer"
import * as Resource from "@effect-rdma/core/Resource"
import type * as ProtectionDomain from "@effect-rdma/verbs/ProtectionDomain"
import * as SharedReceiveQueueAttributes from "@effect-rdma/verbs/SharedReceiveQueueAttributes"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import type * as CmId from "./CmId.ts"
import { onDevice, refused } from "./internal/idOperation.ts"
import type { RdmaCmError } from "./RdmaCmError.ts"

/**
 * A shared receive queue on an id, with the room that it was made with.
 *
 * @category models
 * @since 0.1.0
 */
export interface CmSharedReceiveQueue
  extends Resource.Resource<"CmSharedReceiveQueue", { readonly id: Pointer.Pointer<"rdma_cm_id"> }>
{
  readonly cmId: CmId.CmId
  readonly maxWr: number
  readonly maxSge: number
}

/**
 * Makes a shared receive queue on an id, owned by the scope and released before the id and its domain; without a domain it is in
 * librdmacm's own of the device. A queue pair that is made on the id later receives from it, and is released before it.
 *
 * Fails with `EINVAL` before the call when the id is bound to no device, when the domain is of another context than
 * `CmId.context`, and when the id has a shared receive queue or a queue pair already: librdmacm would lose what that has. From
 * it as `SharedReceiveQueue.make`.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = (
  cmId: CmId.CmId,
  { domain, ...attributes }:
    & typeof SharedReceiveQueueAttributes.SharedReceiveQueueAttributes.Encoded
    & { readonly domain?: ProtectionDomain.AnyDomain }
): Effect.Effect<CmSharedReceiveQueue, RdmaCmError | Schema.SchemaError, Scope.Scope> => {
  const site = CreationSite.capture(make)
  return Effect.flatMap(decode(attributes), (attributes) => {
    const used = domain === undefined ? [] : [domain]
    let room = attributes
    const make = Resource.make({
      kind: "CmSharedReceiveQueue",
      pair: ["rdma_create_srq", "rdma_destroy_srq"],
      site,
      parents: [cmId, ...used],
      cannotRefuse: true,
      acquire: onDevice(cmId, call, (id, { qp, srq }) =>
        qp !== undefined || srq !== undefined
          ? Effect.fail(refused(call, "EINVAL", "An id has one shared receive queue, made before its queue pair"))
          : Effect.map(
            cmId.channel.cm.createSrq(id, domain && Resource.raw(domain), attributes),
            ({ maxSge, maxWr }) => {
              room = { maxSge, maxWr }
              return { id }
            }
          ), used),
      release: ({ id }) => cmId.channel.cm.destroySrq(id),
      fields: () => ({ cmId, ...room })
    })
    return Effect.map(make, (self: CmSharedReceiveQueue) => {
      sharedReceiveQueueOf.set(cmId, self)
      return self
    })
  })
}

/**
 * The last one that was made on each id. What is made on the id later uses it.
 *
 * @internal
 */
export const sharedReceiveQueueOf = new WeakMap<CmId.CmId, CmSharedReceiveQueue>()

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

const call = "rdma_create_srq"

const decode = Schema.decodeEffect(SharedReceiveQueueAttributes.SharedReceiveQueueAttributes)
