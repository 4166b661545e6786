/**
 * How the three constructors of a queue pair acquire it.
 *
 * @since 0.1.0
 */
import type * as CreationSite from "@effect-rdma/core/CreationSite"
import * as Identifier from "@effect-rdma/core/Identifier"
import type * as Pointer from "@effect-rdma/core/Pointer"
import * as Resource from "@effect-rdma/core/Resource"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as DeviceContext from "../DeviceContext.ts"
import type * as Queue from "../operations/Queue.ts"
import type * as ProtectionDomain from "../ProtectionDomain.ts"
import type { QueuePair, Queues } from "../QueuePair.ts"
import type * as QueuePairAttributes from "../QueuePairAttributes.ts"
import type * as QueuePairType from "../QueuePairType.ts"
import type { VerbsError } from "../VerbsError.ts"
import type * as XrcDomain from "../XrcDomain.ts"
import * as Completions from "./completions.ts"
import * as Work from "./queuePairWork.ts"
import { refused } from "./refused.ts"

export const noRoom: QueuePairAttributes.Capacities = {
  maxSendWr: 0,
  maxRecvWr: 0,
  maxSendSge: 0,
  maxRecvSge: 0,
  maxInlineData: 0
}

/**
 * Receives that go elsewhere need no room here; with an indirection table asking for some is refused. Without a queue for
 * completions of sends there are none: only a table lets that be.
 */
export const capOf = (
  cap: QueuePairAttributes.Capacities,
  { rwqIndTbl, sendCq, srq }: { readonly [Name in "rwqIndTbl" | "sendCq" | "srq"]: object | undefined }
): QueuePairAttributes.Capacities => ({
  ...cap,
  ...(srq === undefined && rwqIndTbl === undefined ? {} : { maxRecvWr: 0, maxRecvSge: 0 }),
  ...(rwqIndTbl === undefined || sendCq !== undefined ? {} : { maxSendWr: 0, maxSendSge: 0 })
})

/** The library follows the pointers of these without a look: NULL would be the end of the process. */
const ensureQueues = (
  call: string,
  qpType: QueuePairType.QueuePairType,
  { recvCq, sendCq }: { readonly [Name in keyof Queues]: object | undefined },
  hasTable: boolean
): Effect.Effect<void, VerbsError> => {
  if (qpType === "xrcRecv" || hasTable) return Effect.void
  const missing = [
    ...(sendCq === undefined ? ["sendCq"] : []),
    ...(recvCq === undefined && qpType !== "xrcSend" ? ["recvCq"] : [])
  ]
  return missing.length === 0
    ? Effect.void
    : Effect.fail(refused(call, "EINVAL", `A queue pair of this type needs a ${missing.join(" and a ")}`, { qpType }))
}

/** A provider follows the domain that it expects without a look: the wrong kind would be the end of the process. */
const ensureOwner = (
  call: string,
  qpType: QueuePairType.QueuePairType,
  { kind }: ProtectionDomain.AnyDomain | XrcDomain.XrcDomain
): Effect.Effect<void, VerbsError> =>
  (qpType === "xrcRecv") === (kind === "XrcDomain")
    ? Effect.void
    : Effect.fail(refused(call, "EINVAL", "Only the receiving side of XRC is made in an XRC domain", { qpType, kind }))

interface Acquisition<Type extends QueuePairType.QueuePairType> {
  readonly pair: readonly [acquire: string, release: string]
  readonly site: CreationSite.CreationSite | undefined
  readonly owner: ProtectionDomain.AnyDomain | XrcDomain.XrcDomain
  readonly queues: { readonly [Name in keyof Queues]-?: Queues[Name] | undefined }
  readonly others: ReadonlyArray<Resource.Any & { readonly context: DeviceContext.DeviceContext }>
  readonly fields: Pick<QueuePair<Type>, "qpType" | "sendOpsFlags">
  readonly sqSigAll: boolean
  readonly create: (queues: Queue.Queues) => Effect.Effect<Queue.MadeQueuePair, VerbsError>
}

export const acquire = <Type extends QueuePairType.QueuePairType>(
  { create, fields, others, owner, pair, queues, site, sqSigAll }: Acquisition<Type>
): Effect.Effect<QueuePair<Type>, VerbsError, Scope.Scope> =>
  Effect.suspend(() => {
    const { context } = owner
    const { recvCq, sendCq, srq } = queues
    const needed = [...others, ...new Set([sendCq, recvCq, srq].filter((queue) => queue !== undefined))]
    let made: Omit<Queue.MadeQueuePair, "qp"> = { qpNum: Identifier.Qpn.make(0), cap: noRoom }
    let work: Work.Work | undefined
    let cq: Pointer.Pointer<"ibv_cq"> | undefined
    return Resource.make({
      kind: "QueuePair",
      pair,
      site,
      parents: [owner, ...needed],
      goneWithDevice: true,
      acquire: Effect.andThen(
        Effect.andThen(
          Effect.andThen(
            ensureOwner(pair[0], fields.qpType, owner),
            ensureQueues(pair[0], fields.qpType, queues, others.length > 0)
          ),
          Effect.forEach(needed, (handle) => DeviceContext.ensureSame(pair[0], owner, handle), { discard: true })
        ),
        Effect.suspend(() =>
          Effect.map(
            create({
              sendCq: sendCq && Resource.raw(sendCq),
              recvCq: cq = recvCq && Resource.raw(recvCq),
              srq: srq && Resource.raw(srq)
            }),
            ({ qp, ...rest }) => {
              made = rest
              return qp
            }
          )
        )
      ),
      release: (qp: Pointer.Pointer<"ibv_qp">) =>
        Effect.onExit(
          Effect.andThen(Completions.beforeDrop({ context, recvCq, srq }, cq), context.verbs.destroyQp(qp)),
          () =>
            Effect.sync(() => {
              if (work !== undefined) Work.close(work)
            })
        ),
      fields: () => ({
        context,
        domain: owner.kind === "XrcDomain" ? undefined : owner,
        xrcDomain: owner.kind === "XrcDomain" ? owner : undefined,
        sendCq,
        recvCq,
        srq,
        ...fields,
        ...made,
        work: work = Work.make(srq === undefined ? made.cap : { ...made.cap, maxRecvWr: 0 }, sqSigAll)
      })
    })
  })
