/**
 * A queue pair: `ibv_create_qp(3)`, `ibv_create_qp_ex(3)`, `ibv_open_qp(3)` and `ibv_destroy_qp`, its states by
 * `ibv_modify_qp(3)`, and `ibv_query_qp(3)`.
 *
 * @since 0.1.0
 */
import * as CreationSite from "@effect-rdma/core/CreationSite"
import * as Identifier from "@effect-rdma/core/Identifier"
import type * as Pointer from "@effect-rdma/core/Pointer"
import * as Resource from "@effect-rdma/core/Resource"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import type * as CompletionQueue from "./CompletionQueue.ts"
import type * as DeviceContext from "./DeviceContext.ts"
import * as Ece from "./Ece.ts"
import { acquire, capOf, noRoom } from "./internal/queuePairAcquire.ts"
import * as Connect from "./internal/queuePairConnect.ts"
import * as Path from "./internal/queuePairPath.ts"
import type * as Work from "./internal/queuePairWork.ts"
import type * as Queue from "./operations/Queue.ts"
import type * as ProtectionDomain from "./ProtectionDomain.ts"
import * as QueuePairAttributes from "./QueuePairAttributes.ts"
import type * as QueuePairEndpoint from "./QueuePairEndpoint.ts"
import * as QueuePairInitAttributes from "./QueuePairInitAttributes.ts"
import type * as QueuePairState from "./QueuePairState.ts"
import * as QueuePairSteps from "./QueuePairSteps.ts"
import type * as QueuePairType from "./QueuePairType.ts"
import * as RateLimit from "./RateLimit.ts"
import type * as SharedReceiveQueue from "./SharedReceiveQueue.ts"
import type { VerbsError } from "./VerbsError.ts"
import type * as XrcDomain from "./XrcDomain.ts"

/**
 * A queue pair. `cap` is the room that it was made with. One that was opened (`ibv_open_qp`) or receives by XRC has no
 * domain and no queues of its own.
 *
 * @category models
 * @since 0.1.0
 */
export interface QueuePair<out Type extends QueuePairType.QueuePairType = QueuePairType.QueuePairType>
  extends Resource.Resource<"QueuePair", Pointer.Pointer<"ibv_qp">>
{
  readonly context: DeviceContext.DeviceContext
  readonly domain: ProtectionDomain.AnyDomain | undefined
  readonly xrcDomain: XrcDomain.XrcDomain | undefined
  readonly sendCq: CompletionQueue.CompletionQueue | undefined
  readonly recvCq: CompletionQueue.CompletionQueue | undefined
  readonly srq: SharedReceiveQueue.SharedReceiveQueue | undefined
  readonly qpType: Type
  readonly qpNum: Identifier.Qpn
  readonly cap: QueuePairAttributes.Capacities
  /** The kinds of requests that a batch may hold: none unless made with them. */
  readonly sendOpsFlags: ReadonlyArray<QueuePairInitAttributes.SendOperation>
  /** @internal */
  readonly work: Work.Work
}

/**
 * The queues that a queue pair works with, of the same device.
 *
 * @category models
 * @since 0.1.0
 */
export interface Queues {
  readonly sendCq?: CompletionQueue.CompletionQueue
  readonly recvCq?: CompletionQueue.CompletionQueue
  readonly srq?: SharedReceiveQueue.SharedReceiveQueue
}

/**
 * What {@link make} takes.
 *
 * @category models
 * @since 0.1.0
 */
export type Options<Type extends QueuePairType.QueuePairType> =
  & Omit<typeof QueuePairInitAttributes.QueuePairInitAttributes.Encoded, "qpType">
  & Queues
  & { readonly qpType: Type }

/**
 * What {@link makeExtended} takes: an `rwqIndTbl` spreads the packets that arrive over its work queues.
 *
 * @category models
 * @since 0.1.0
 */
export type ExtendedOptions<Type extends QueuePairType.QueuePairType> =
  & Omit<typeof QueuePairInitAttributes.ExtendedAttributes.Encoded, "qpType">
  & Queues
  & {
    readonly qpType: Type
    readonly rwqIndTbl?: Resource.Resource<string, Pointer.Pointer<"ibv_rwq_ind_table">> & {
      readonly context: DeviceContext.DeviceContext
    }
  }

/**
 * Creates a queue pair in RESET, owned by the scope. It is released before its domain, its completion queues and its
 * shared receive queue, and after what was attached to it. Blocks for a system call. Requests that are under way when it is
 * released are dropped without a completion; their memory may be used again after the release.
 *
 * Bad attributes fail as a `SchemaError`, handles of different devices and a completion queue that the type needs and lacks
 * with `EINVAL`, before any call. `EINVAL` when
 * the device cannot hold as much (`maxQpWr`, `maxSge`), or has no such type; `EPERM` for raw packets without
 * `CAP_NET_RAW`; `EOPNOTSUPP` for a type that the provider lacks; `ENOMEM` when the device has no more. A provider may refuse
 * without saying why: then the reason is `UnknownErrno` with number 0.
 *
 * ```ts
 * import { CompletionQueue, QueuePair } from "@effect-rdma/verbs"
 * import type { ProtectionDomain } from "@effect-rdma/verbs"
 * import { Effect } from "effect"
 *
 * const reliable = Effect.fnUntraced(function*(domain: ProtectionDomain.ProtectionDomain) {
 *   const queue = yield* CompletionQueue.make(domain.context, { cqe: 32 })
 *   return yield* QueuePair.make(domain, { qpType: "rc", sendCq: queue, recvCq: queue, cap: { maxSendWr: 32 } })
 * })
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = <const Type extends QueuePairType.QueuePairType>(
  domain: ProtectionDomain.AnyDomain,
  { recvCq, sendCq, srq, ...attributes }: Options<Type>
): Effect.Effect<QueuePair<Type>, VerbsError | Schema.SchemaError, Scope.Scope> => {
  const site = CreationSite.capture(make)
  return Effect.flatMap(decodeInit(attributes), (init) =>
    acquire({
      pair: ["ibv_create_qp", "ibv_destroy_qp"],
      site,
      owner: domain,
      queues: { sendCq, recvCq, srq },
      others: [],
      fields: { qpType: attributes.qpType, sendOpsFlags: [] },
      sqSigAll: init.sqSigAll,
      create: (queues) =>
        domain.context.verbs.createQp(Resource.raw(domain), {
          ...init,
          cap: capOf(init.cap, { srq, sendCq, rwqIndTbl: undefined }),
          ...queues
        })
    }))
}

/**
 * Creates a queue pair with what `ibv_create_qp_ex` knows beyond {@link make}, owned by the scope and released as that
 * one. The receiving side of XRC is made in its XRC domain, every other type in a protection domain. Fails as
 * {@link make}; a flag that the provider lacks is `EOPNOTSUPP` or `EINVAL`.
 *
 * @category constructors
 * @since 0.1.0
 */
export const makeExtended = <const Type extends QueuePairType.QueuePairType>(
  owner: Type extends "xrcRecv" ? XrcDomain.XrcDomain : ProtectionDomain.AnyDomain,
  { recvCq, rwqIndTbl, sendCq, srq, ...attributes }: ExtendedOptions<Type>
): Effect.Effect<QueuePair<Type>, VerbsError | Schema.SchemaError, Scope.Scope> => {
  const site = CreationSite.capture(makeExtended)
  const of: XrcDomain.XrcDomain | ProtectionDomain.AnyDomain = owner
  return Effect.flatMap(decodeExtended(attributes), (init) =>
    acquire({
      pair: ["ibv_create_qp_ex", "ibv_destroy_qp"],
      site,
      owner: of,
      queues: { sendCq, recvCq, srq },
      others: rwqIndTbl === undefined ? [] : [rwqIndTbl],
      fields: { qpType: attributes.qpType, sendOpsFlags: init.sendOpsFlags ?? [] },
      sqSigAll: init.sqSigAll,
      create: (queues) =>
        of.context.verbs.createQpEx(Resource.raw(of.context), {
          ...init,
          cap: capOf(init.cap, { srq, sendCq, rwqIndTbl }),
          ...queues,
          pd: of.kind === "XrcDomain" ? undefined : Resource.raw(of),
          xrcd: of.kind === "XrcDomain" ? Resource.raw(of) : undefined,
          rwqIndTbl: rwqIndTbl && Resource.raw(rwqIndTbl)
        })
    }))
}

/**
 * Opens the receiving side of XRC that another process made in the same XRC domain, by its number: `ibv_open_qp`. Owned by
 * the scope, which gives up this handle only; released before its domain. Fails with `EINVAL` for a number that is none,
 * and with `EOPNOTSUPP` where the provider has no XRC.
 *
 * @category constructors
 * @since 0.1.0
 */
export const open = (
  domain: XrcDomain.XrcDomain,
  qpNum: number
): Effect.Effect<QueuePair<"xrcRecv">, VerbsError | Schema.SchemaError, Scope.Scope> => {
  const site = CreationSite.capture(open)
  return Effect.flatMap(Schema.decodeEffect(Identifier.Qpn)(qpNum), (qpNum) =>
    acquire({
      pair: ["ibv_open_qp", "ibv_destroy_qp"],
      site,
      owner: domain,
      queues: { sendCq: undefined, recvCq: undefined, srq: undefined },
      others: [],
      fields: { qpType: "xrcRecv", sendOpsFlags: [] },
      sqSigAll: false,
      create: () =>
        Effect.map(
          domain.context.verbs.openQp(Resource.raw(domain.context), {
            xrcd: Resource.raw(domain),
            qpNum,
            qpType: "xrcRecv"
          }),
          (qp) => ({ qp, qpNum, cap: noRoom })
        )
    }))
}

/**
 * Every attribute of the queue pair now, and its room: `ibv_query_qp(3)`. Blocks for a system call.
 *
 * @category queries
 * @since 0.1.0
 */
export const query = (self: QueuePair): Effect.Effect<Queue.QueriedQueuePair, VerbsError> =>
  Resource.use(self, self.context.verbs.queryQp)

/**
 * The state that the device says the queue pair is in: an error of a peer moves it without a call.
 *
 * @category queries
 * @since 0.1.0
 */
export const state = (self: QueuePair): Effect.Effect<QueuePairState.ReportedQueuePairState, VerbsError> =>
  Effect.map(query(self), ({ attributes }) => attributes.qpState)

/**
 * Sets attributes, with a `qpState` among them for a transition: `ibv_modify_qp(3)`. The mask follows from those that are
 * there. On RoCE the kernel resolves the neighbour on the way to RTR, which blocks the JS thread for up to a second when nobody
 * answers.
 *
 * Before the call: a `SchemaError` for values out of range and unknown names; `EINVAL` for an `ahAttr` without a `grh` on
 * RoCE, and for a `pathMtu` above the active one of the port. From the call: `EINVAL`, compared with
 * `QueuePairTransition`, so that the message says what is missing or too much; `ETIMEDOUT` when no neighbour answers.
 *
 * @category combinators
 * @since 0.1.0
 */
export const modify = (
  self: QueuePair,
  attributes: typeof QueuePairAttributes.Modification.Encoded
): Effect.Effect<void, VerbsError | Schema.SchemaError> =>
  Effect.flatMap(decodeModification(attributes, exactly), (attributes) => Path.modify(self, attributes))

/**
 * RESET to INIT, with exactly the attributes that the type takes: receives may be posted from here. Fails as {@link modify}.
 *
 * @category combinators
 * @since 0.1.0
 */
export const toInit = <Type extends QueuePairType.QueuePairType>(
  self: QueuePair<Type>,
  attributes: QueuePairSteps.Init<NoInfer<Type>>
): Effect.Effect<void, VerbsError | Schema.SchemaError> =>
  Effect.flatMap(
    Schema.decodeEffect(QueuePairSteps.init[self.qpType])(attributes, exactly),
    (attributes) => Path.modify(self, { ...attributes, qpState: "init" })
  )

/**
 * INIT to RTR: from here the queue pair receives. Without a `pathMtu` it is the active one of the port. Fails as
 * {@link modify}.
 *
 * @category combinators
 * @since 0.1.0
 */
export const toRtr = <Type extends QueuePairType.QueuePairType>(
  self: QueuePair<Type>,
  attributes: QueuePairSteps.Rtr<NoInfer<Type>>
): Effect.Effect<void, VerbsError | Schema.SchemaError> =>
  Effect.flatMap(
    Schema.decodeEffect(QueuePairSteps.rtr[self.qpType])(attributes, exactly),
    (attributes) =>
      "ahAttr" in attributes && attributes.pathMtu === undefined
        ? Effect.flatMap(
          Effect.suspend(() => Path.activeMtu(self, attributes.ahAttr.portNum)),
          (pathMtu) => Path.modify(self, { ...attributes, pathMtu, qpState: "rtr" })
        )
        : Path.modify(self, { ...attributes, qpState: "rtr" })
  )

/**
 * RTR to RTS: from here the queue pair sends. Fails as {@link modify}.
 *
 * @category combinators
 * @since 0.1.0
 */
export const toRts = <Type extends QueuePairType.QueuePairType>(
  self: QueuePair<Type>,
  attributes: QueuePairSteps.Rts<NoInfer<Type>>
): Effect.Effect<void, VerbsError | Schema.SchemaError> =>
  Effect.flatMap(
    Schema.decodeEffect(QueuePairSteps.rts[self.qpType])(attributes, exactly),
    (attributes) => Path.modify(self, { ...attributes, qpState: "rts" })
  )

/**
 * From any state but RESET to ERR: every request under way completes with a flush error. Fails as {@link modify}.
 *
 * @category combinators
 * @since 0.1.0
 */
export const toErr = (self: QueuePair): Effect.Effect<void, VerbsError> => Path.modify(self, { qpState: "err" })

/**
 * From any state back to RESET: requests under way are dropped without a completion. Fails as {@link modify}, and with `EBUSY`
 * inside of the `build` of a `SendBatch` of the same queue pair.
 *
 * @category combinators
 * @since 0.1.0
 */
export const toReset = (self: QueuePair): Effect.Effect<void, VerbsError> => Path.modify(self, { qpState: "reset" })

/**
 * What the other end must know of this one: its number, a random first sequence number, and where it is. The GID of the
 * port is chosen by `GidSelection`, unless `gidIndex` names a place or `address` an address. Fails with `ENODATA` when nothing
 * of the table will do, and as the queries of the port.
 *
 * @category queries
 * @since 0.1.0
 */
export const endpoint = (
  self: QueuePair,
  options: Connect.EndpointOptions = {}
): Effect.Effect<QueuePairEndpoint.QueuePairEndpoint, VerbsError | Schema.SchemaError> =>
  Connect.endpoint(self, options)

/**
 * Connects a queue pair in RESET with the other end: INIT, then `receives`, which may post receives before a peer can
 * send, then RTR and RTS. `local` is what the peer was told of this end. The path MTU is the largest that both ends and the port
 * carry. When a step fails the queue pair is back in RESET.
 *
 * Fails as {@link modify}, with `EINVAL` before any call when `local` is of another queue pair, and as `receives` does.
 *
 * ```ts
 * import { QueuePair } from "@effect-rdma/verbs"
 * import type { QueuePairEndpoint } from "@effect-rdma/verbs"
 * import { Effect } from "effect"
 *
 * const connected = Effect.fnUntraced(function*(
 *   queuePair: QueuePair.QueuePair<"rc">,
 *   exchange: (local: QueuePairEndpoint.QueuePairEndpoint) => Effect.Effect<QueuePairEndpoint.QueuePairEndpoint>
 * ) {
 *   const local = yield* QueuePair.endpoint(queuePair)
 *   const remote = yield* exchange(local)
 *   yield* QueuePair.connect(queuePair, local, remote, { qpAccessFlags: ["remoteWrite"] })
 * })
 * ```
 *
 * @category combinators
 * @since 0.1.0
 */
export const connect = <E = never, R = never>(
  self: QueuePair<Connect.Connected>,
  local: QueuePairEndpoint.QueuePairEndpoint,
  remote: QueuePairEndpoint.QueuePairEndpoint,
  options: Connect.Options<E, R> = {}
): Effect.Effect<void, VerbsError | Schema.SchemaError | E, R> => Connect.connect(self, local, remote, options)

export {
  atomicCmpAndSwp,
  atomicFetchAndAdd,
  bindMw,
  localInv,
  postRecv,
  postSend,
  rdmaRead,
  rdmaWrite,
  recv,
  send
} from "./internal/queuePairRequests.ts"

/**
 * The options that the device proposes for a connection: `ibv_query_ece(3)`. Fails with `EOPNOTSUPP` where the provider or
 * the library has none.
 *
 * @category queries
 * @since 0.1.0
 */
export const queryEce = (self: QueuePair): Effect.Effect<Ece.Ece, VerbsError> =>
  Resource.use(self, self.context.verbs.queryEce)

/**
 * Accepts the options of the other end, in INIT before RTR: `ibv_set_ece(3)`. Fails with `EOPNOTSUPP` where the provider or
 * the library has none, and for a `vendorId` of 0.
 *
 * @category combinators
 * @since 0.1.0
 */
export const setEce = (self: QueuePair, ece: Ece.Ece): Effect.Effect<void, VerbsError | Schema.SchemaError> =>
  Effect.flatMap(
    Schema.decodeEffect(Ece.Ece)(ece),
    (ece) => Resource.use(self, (pointer) => self.context.verbs.setEce(pointer, ece))
  )

/**
 * How fast a queue pair that can send may do so: `ibv_modify_qp_rate_limit(3)`. Blocks for a system call. Fails with
 * `EINVAL` for a rate beyond `packetPacingCaps` of the device, a burst that it cannot bound, and a state or type without
 * limits (a raw packet queue pair in RTS has them); with `EOPNOTSUPP` where the provider or the library has none.
 *
 * @category combinators
 * @since 0.1.0
 */
export const modifyRateLimit = (
  self: QueuePair,
  attributes: typeof RateLimit.RateLimit.Encoded
): Effect.Effect<void, VerbsError | Schema.SchemaError> =>
  Effect.flatMap(
    Schema.decodeEffect(RateLimit.RateLimit)(attributes, exactly),
    (attributes) => Resource.use(self, (pointer) => self.context.verbs.modifyQpRateLimit(pointer, attributes))
  )

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

const exactly = { onExcessProperty: "error" } as const
const decodeInit = Schema.decodeEffect(QueuePairInitAttributes.QueuePairInitAttributes)
const decodeExtended = Schema.decodeEffect(QueuePairInitAttributes.ExtendedAttributes)
const decodeModification = Schema.decodeEffect(QueuePairAttributes.Modification)
