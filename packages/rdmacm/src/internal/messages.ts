/**
 * Messages through a queue pair: a pool of receives that are posted, one of places to send from, and the end of both.
 *
 * @since 0.1.0
 */
import * as Resource from "@effect-rdma/core/Resource"
import * as CompletionChannel from "@effect-rdma/verbs/CompletionChannel"
import * as CompletionQueue from "@effect-rdma/verbs/CompletionQueue"
import type * as DeviceContext from "@effect-rdma/verbs/DeviceContext"
import * as MemoryRegion from "@effect-rdma/verbs/MemoryRegion"
import * as ProtectionDomain from "@effect-rdma/verbs/ProtectionDomain"
import * as QueuePair from "@effect-rdma/verbs/QueuePair"
import * as ReceivedDatagram from "@effect-rdma/verbs/ReceivedDatagram"
import type { VerbsError } from "@effect-rdma/verbs/VerbsError"
import * as WorkCompletion from "@effect-rdma/verbs/WorkCompletion"
import type * as WorkRequest from "@effect-rdma/verbs/WorkRequest"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Queue from "effect/Queue"
import * as Scope from "effect/Scope"
import * as Semaphore from "effect/Semaphore"
import * as ConnectionError from "../ConnectionError.ts"
import type { RdmaCmError } from "../RdmaCmError.ts"
import { refused } from "./idOperation.ts"

/** Why nothing more is sent or received. */
export type Failure =
  | VerbsError
  | WorkCompletion.WorkCompletionError
  | RdmaCmError
  | ConnectionError.ConnectionError

export interface Messages<out Type extends "rc" | "ud"> {
  readonly queuePair: QueuePair.QueuePair<Type>
  readonly domain: ProtectionDomain.ProtectionDomain
  readonly region: MemoryRegion.MemoryRegion
  /** The most bytes of a message. */
  readonly size: number
  /** What is in front of each that is received. */
  readonly header: number
  readonly receiveDepth: number
  readonly recvCq: CompletionQueue.CompletionQueue
  readonly inbox: Queue.Queue<Received, Failure>
  readonly freePlaces: Array<number>
  readonly places: Semaphore.Semaphore
  /** Of the fibers that work for it; closed before any of its resources is released. */
  readonly workers: Scope.Scope
  /** How many receives the device has. */
  posted: number
  failure: Failure | undefined
  /** Tells the other side. */
  onFailure: Effect.Effect<void>
}

interface Received {
  readonly place: number
  readonly completion: WorkCompletion.Succeeded
}

export interface Options {
  readonly messageSize: number
  readonly sendDepth: number
  readonly receiveDepth: number
  readonly domain: ProtectionDomain.ProtectionDomain | undefined
}

/** Makes the queues and the memory, on the device of the context. */
export const make = Effect.fnUntraced(function*<const Type extends "rc" | "ud">(
  context: DeviceContext.DeviceContext,
  qpType: Type,
  { domain: given, messageSize: size, receiveDepth, sendDepth }: Options
) {
  if (given !== undefined && Resource.raw(given.context) !== Resource.raw(context)) {
    return yield* refused("ibv_create_qp", "EINVAL", "Make the domain on the context of the id: CmId.context", {
      domain: String(given)
    })
  }
  const domain = given ?? (yield* ProtectionDomain.alloc(context))
  const channel = yield* CompletionChannel.make(domain.context)
  const sendCq = yield* CompletionQueue.make(domain.context, { cqe: sendDepth, channel })
  const recvCq = yield* CompletionQueue.make(domain.context, { cqe: receiveDepth, channel })
  const header = qpType === "ud" ? ReceivedDatagram.routingHeaderBytes : 0
  // The queue pair goes first.
  const region = yield* MemoryRegion.alloc(domain, {
    length: receiveDepth * (header + size) + sendDepth * size,
    access: ["localWrite"]
  })
  const queuePair = yield* QueuePair.make(domain, {
    qpType,
    sendCq,
    recvCq,
    cap: { maxSendWr: sendDepth, maxRecvWr: receiveDepth, maxSendSge: 1, maxRecvSge: 1 }
  })
  const messages: Messages<Type> = {
    queuePair,
    domain,
    region,
    size,
    header,
    receiveDepth,
    recvCq,
    inbox: yield* Queue.bounded<Received, Failure>(receiveDepth),
    freePlaces: Array.from({ length: sendDepth }, (_, place) => place),
    places: Semaphore.makeUnsafe(sendDepth),
    workers: yield* Scope.fork(yield* Effect.scope),
    posted: 0,
    failure: undefined,
    onFailure: Effect.void
  }
  return messages
})

/** Posts all receives, from INIT on, and takes what arrives. */
export const start = (self: Messages<"rc" | "ud">) =>
  Effect.uninterruptible(Effect.andThen(
    QueuePair.postRecv(
      self.queuePair,
      Array.from({ length: self.receiveDepth }, (_, place) => receiveInto(self, place))
    ),
    Effect.suspend(() => {
      self.posted = self.receiveDepth
      return work(self, takeArrivals(self))
    })
  ))

/** Runs what works for the messages until they end. */
export const work = <R>(self: Messages<"rc" | "ud">, effect: Effect.Effect<void, never, R>) =>
  Effect.asVoid(Effect.forkIn(effect, self.workers, { startImmediately: true }))

/**
 * The next message, read by `read` from the bytes of its place, which then is for another one. Interrupted while it waits, it
 * has taken none.
 */
export const receive = <A>(
  self: Messages<"rc" | "ud">,
  read: (bytes: Uint8Array, completion: WorkCompletion.Succeeded) => A
): Effect.Effect<A, Failure> =>
  Effect.uninterruptibleMask((restore) => {
    const next: Effect.Effect<A, Failure> = Effect.suspend(() => {
      Resource.raw(self.region)
      const taken = Queue.takeUnsafe(self.inbox)
      if (taken === undefined) return Effect.andThen(restore(Queue.peek(self.inbox)), next)
      if (Exit.isFailure(taken)) return Effect.failCause(taken.cause)
      const { completion, place } = taken.value
      const from = place * (self.header + self.size)
      const value = read(self.region.bytes.subarray(from, from + completion.byteLen), completion)
      return Effect.as(postAgain(self, place), value)
    })
    return next
  })

/**
 * Sends a copy of the bytes, when there is a place for it. Who is interrupted before that has sent nothing; after that the
 * message goes out, and nobody waits for its completion.
 */
export const send = (
  self: Messages<"rc" | "ud">,
  bytes: Uint8Array,
  to?: WorkRequest.Datagram
): Effect.Effect<void, Failure> =>
  Effect.suspend(() => {
    Resource.raw(self.queuePair)
    if (bytes.length > self.size) {
      return Effect.fail(
        refused("ibv_post_send", "EMSGSIZE", `A message has at most ${self.size} bytes`, { length: bytes.length })
      )
    }
    return Effect.uninterruptibleMask((restore) =>
      Effect.flatMap(restore(self.places.take(1)), () => {
        if (self.failure !== undefined) return Effect.andThen(self.places.release(1), Effect.fail(self.failure))
        return Effect.flatMap(
          Effect.forkIn(sendFrom(self, bytes, to), self.workers, { startImmediately: true }),
          // Where the end comes before the completion, it is the end that is told.
          (fiber) =>
            Effect.flatMap(
              restore(Fiber.await(fiber)),
              (exit) => self.failure !== undefined && Exit.hasInterrupts(exit) ? Effect.fail(self.failure) : exit
            )
        )
      })
    )
  })

/** How a request to the other side fails once the messages have ended. */
export const guarded = <A>(
  self: Messages<"rc" | "ud">,
  request: Effect.Effect<A, VerbsError | WorkCompletion.WorkCompletionError>
): Effect.Effect<A, Failure> =>
  Effect.suspend(() => {
    Resource.raw(self.queuePair)
    if (self.failure !== undefined) return Effect.fail(self.failure)
    return Effect.catchIf(
      request,
      isEnd,
      (error) => Effect.flatMap(fail(self, error), () => Effect.fail(self.failure ?? error))
    )
  })

/** Ends the messages for a reason: those that have arrived can still be taken. */
export const fail = (self: Messages<"rc" | "ud">, failure: Failure): Effect.Effect<void> =>
  Effect.uninterruptible(Effect.suspend(() => {
    if (self.failure !== undefined) return Effect.void
    self.failure = endOf(failure)
    return self.onFailure.pipe(
      Effect.andThen(Effect.exit(QueuePair.toErr(self.queuePair))),
      // Else the flushed receives come after what has arrived.
      Effect.map((exit) => {
        if (Exit.isFailure(exit) || self.posted === 0) close(self, failure)
      })
    )
  }))

/** Tells those who wait for messages that none will come. */
export const close = (self: Messages<"rc" | "ud">, failure: Failure): void => {
  self.failure ??= endOf(failure)
  Queue.failCauseUnsafe(self.inbox, Cause.fail(self.failure))
}

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

/** What says that a device is gone, at whichever call it is seen first. */
const isGone = (failure: Failure): failure is VerbsError =>
  failure._tag === "VerbsError" && failure.reason._tag === "EIO"

const isEnd = (error: VerbsError | WorkCompletion.WorkCompletionError): boolean =>
  error._tag === "WorkCompletionError" || isGone(error)

const endOf = (failure: Failure): Failure =>
  isGone(failure) ? new ConnectionError.DeviceRemoved({ call: failure.call, status: 0 }) : failure

const receiveInto = ({ header, region, size }: Messages<"rc" | "ud">, place: number): WorkRequest.ReceiveRequest => ({
  wrId: BigInt(place),
  sgList: [{ region, offset: place * (header + size), length: header + size }]
})

const takeArrivals = (self: Messages<"rc" | "ud">): Effect.Effect<void> =>
  Effect.flatMap(CompletionQueue.next(self.recvCq, self.receiveDepth), (completions) => {
    self.posted -= completions.length
    for (const completion of completions) {
      if (completion.status !== "success") return WorkCompletion.orFail(completion, "recv", self.queuePair)
      Queue.offerUnsafe(self.inbox, { place: Number(completion.wrId), completion })
    }
    return Effect.void
  }).pipe(
    Effect.matchEffect({
      onFailure: (error) => Effect.andThen(fail(self, error), Effect.sync(() => close(self, error))),
      onSuccess: () => takeArrivals(self)
    })
  )

const postAgain = (self: Messages<"rc" | "ud">, place: number): Effect.Effect<void> =>
  Effect.suspend(() => {
    // What is posted after the flush may never complete.
    if (self.failure !== undefined) return Effect.void
    self.posted++
    return Effect.catch(QueuePair.postRecv(self.queuePair, [receiveInto(self, place)]), (error) => {
      self.posted--
      return fail(self, error)
    })
  })

const sendFrom = (self: Messages<"rc" | "ud">, bytes: Uint8Array, to: WorkRequest.Datagram | undefined) =>
  Effect.suspend(() => {
    const place = self.freePlaces.pop()!
    const { header, queuePair, receiveDepth, region, size } = self
    const offset = receiveDepth * (header + size) + place * size
    return guarded(
      self,
      Effect.suspend(() => {
        Resource.raw(region)
        region.bytes.set(bytes, offset)
        return QueuePair.send(queuePair, {
          sgList: bytes.length === 0 ? [] : [{ region, offset, length: bytes.length }],
          ...(to === undefined ? undefined : { to })
        })
      })
    ).pipe(
      Effect.asVoid,
      Effect.ensuring(Effect.suspend(() => {
        self.freePlaces.push(place)
        return self.places.release(1)
      }))
    )
  })
