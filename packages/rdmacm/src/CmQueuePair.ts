/**
 * A queue pair that librdmacm makes on an id and moves by itself: `rdma_create_qp(3)` and `rdma_destroy_qp`.
 *
 * For moving data make one through verbs, with `QueuePair.make` on `CmId.context`: librdmacm's leaks when it cannot be made, and
 * hides why it cannot be released.
 *
 * @since 0.1.0
 */
import * as CreationSite from "@effect-rdma/core/CreationSite"
import * as Identifier from "@effect-rdma/core/Identifier"
import type * as Pointer from "@effect-rdma/core/Pointer"
import * as Resource from "@effect-rdma/core/Resource"
import type * as Queue from "@effect-rdma/verbs/operations/Queue"
import type * as ProtectionDomain from "@effect-rdma/verbs/ProtectionDomain"
import type * as QueuePair from "@effect-rdma/verbs/QueuePair"
import type * as QueuePairAttributes from "@effect-rdma/verbs/QueuePairAttributes"
import * as QueuePairInitAttributes from "@effect-rdma/verbs/QueuePairInitAttributes"
import type * as QueuePairType from "@effect-rdma/verbs/QueuePairType"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import type * as CmId from "./CmId.ts"
import { sharedReceiveQueueOf } from "./CmSharedReceiveQueue.ts"
import { lacksQueue, onDevice, refused } from "./internal/idOperation.ts"
import type { RdmaCmError } from "./RdmaCmError.ts"

/**
 * A queue pair on an id. `cap` is the room that it was made with.
 *
 * @category models
 * @since 0.1.0
 */
export interface CmQueuePair extends Resource.Resource<"CmQueuePair", { readonly id: Pointer.Pointer<"rdma_cm_id"> }> {
  readonly cmId: CmId.CmId
  readonly qpType: QueuePairType.QueuePairType
  readonly qpNum: Identifier.Qpn
  readonly cap: QueuePairAttributes.Capacities
}

/**
 * What {@link make} takes. Without a domain it is librdmacm's own of the device. Completion queues are given both, or librdmacm
 * makes both.
 *
 * @category models
 * @since 0.1.0
 */
export type Options =
  & typeof QueuePairInitAttributes.QueuePairInitAttributes.Encoded
  & QueuePair.Queues
  & { readonly domain?: ProtectionDomain.AnyDomain }

/**
 * Makes a queue pair on an id and brings it to INIT, for datagrams to RTS; owned by the scope, and released before the id, its
 * domain and its queues. From then on connecting and accepting move it. Blocks for a few system calls.
 *
 * Fails with `EINVAL` before the call when the id is bound to no device, when a handle is of another context than
 * `CmId.context`, when one of the completion queues is missing: librdmacm would lose the other one; and when it would have to
 * make one without room, as for receives that come from an `srq`: that ends the process. From it `EINVAL` when the id has a
 * queue pair already, and as `QueuePair.make`.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = (
  cmId: CmId.CmId,
  { domain, recvCq, sendCq, srq, ...attributes }: Options
): Effect.Effect<CmQueuePair, RdmaCmError | Schema.SchemaError, Scope.Scope> => {
  const site = CreationSite.capture(make)
  return Effect.flatMap(decode(attributes), (init) => {
    const used = [domain, ...new Set([sendCq, recvCq, srq])].filter((handle) => handle !== undefined)
    // librdmacm makes it on the shared queue of the id.
    const own = sharedReceiveQueueOf.get(cmId)
    const cap = srq === undefined ? init.cap : { ...init.cap, maxRecvWr: 0, maxRecvSge: 0 }
    const problem = (sendCq === undefined) !== (recvCq === undefined)
      ? refused(call, "EINVAL", "Give both completion queues, or none")
      : sendCq === undefined
      ? lacksQueue(call, cap)
      : undefined
    let made: Omit<Queue.MadeQueuePair, "qp"> = { qpNum: Identifier.Qpn.make(0), cap: init.cap }
    const create = onDevice(cmId, call, (id) =>
      Effect.map(
        cmId.channel.cm.createQp(id, domain && Resource.raw(domain), {
          ...init,
          cap,
          sendCq: sendCq && Resource.raw(sendCq),
          recvCq: recvCq && Resource.raw(recvCq),
          srq: srq && Resource.raw(srq)
        }),
        ({ cap, qpNum }) => {
          made = { cap, qpNum }
          return { id }
        }
      ), used)
    return Resource.make({
      kind: "CmQueuePair",
      pair: ["rdma_create_qp", "rdma_destroy_qp"],
      site,
      parents: [cmId, ...used, ...(own !== undefined && Resource.isLive(own) ? [own] : [])],
      cannotRefuse: true,
      acquire: problem === undefined ? create : Effect.fail(problem),
      release: ({ id }) => cmId.channel.cm.destroyQp(id),
      fields: () => ({ cmId, qpType: init.qpType, ...made })
    })
  })
}

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

const call = "rdma_create_qp"

const decode = Schema.decodeEffect(QueuePairInitAttributes.QueuePairInitAttributes)
