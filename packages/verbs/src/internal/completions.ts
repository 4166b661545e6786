/**
 * Where the completions of a queue go: to those who await their request, and to those who poll.
 *
 * @since 0.1.0
 */
import type * as Pointer from "@effect-rdma/core/Pointer"
import * as Resource from "@effect-rdma/core/Resource"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type * as CompletionQueue from "../CompletionQueue.ts"
import type * as ExtendedCompletion from "../ExtendedCompletion.ts"
import type * as DataPath from "../operations/DataPath.ts"
import type * as QueuePair from "../QueuePair.ts"
import type { VerbsError } from "../VerbsError.ts"
import type * as WorkCompletion from "../WorkCompletion.ts"
import * as ChannelEvents from "./channelEvents.ts"
import * as Waiting from "./completionWaiting.ts"
import { withDataPath } from "./dataPath.ts"
import { refused } from "./refused.ts"
import * as RequestQueue from "./requestQueue.ts"

/** Of one queue. */
export interface Completions {
  /** What those who await a request took from the device, and is for those who poll. */
  readonly taken: Array<
    { readonly completion: WorkCompletion.WorkCompletion; readonly of: Pick<RequestQueue.RequestQueue, "undelivered"> }
  >
  /** Those who sleep until there is something. */
  readonly sleeping: Set<() => void>
  /** Those who need somebody to poll, told when nobody can any more. */
  readonly needing: Set<(error: VerbsError) => void>
  isDriven: boolean
}

export const make = (): Completions => ({ taken: [], sleeping: new Set(), needing: new Set(), isDriven: false })

/** At most so many completions that nobody awaits; all in one turn. */
export const poll = (
  self: CompletionQueue.CompletionQueue,
  dataPath: DataPath.DataPath,
  max: number
): DataPath.Polled => {
  const { taken } = self.completions
  const cq = Resource.raw(self)
  if (taken.length > 0) {
    const given = taken.splice(0, max)
    for (const { of } of given) of.undelivered--
    return { completions: given.map(({ completion }) => completion), error: undefined }
  }
  for (;;) {
    const polled = dataPath.pollCq(cq, max)
    if (polled.error !== undefined || polled.completions.length === 0) return polled
    const deliveries = makeDeliveries()
    const completions = forPoller(polled.completions, deliveries)
    deliver(deliveries)
    if (completions.length > 0 || polled.completions.length < max) return { completions, error: undefined }
  }
}

/** The oldest of what was taken and is for those who poll, for one who polls an extended queue. */
export const shift = ({ taken }: Completions): ExtendedCompletion.ExtendedCompletion | undefined => {
  const first = taken.shift()
  if (first === undefined) return undefined
  first.of.undelivered--
  const { completion } = first
  if (completion.status !== "success") return completion
  const { hasGrh, immData, invalidatedRkey, pkeyIndex: _, ...rest } = completion
  return {
    ...rest,
    wcFlags: (hasGrh ? withGrh : 0) | (immData === undefined ? 0 : withImm) |
      (invalidatedRkey === undefined ? 0 : withInv),
    ...(immData === undefined ? {} : { immData }),
    ...(invalidatedRkey === undefined ? {} : { invalidatedRkey })
  }
}

/** Handing completions over to those who await them: their fibers may go on at once, so it comes after all else. */
export interface Deliveries {
  awaited: Array<() => void> | undefined
  queues: Set<RequestQueue.RequestQueue> | undefined
}

// Mostly there are none.
export const makeDeliveries = (): Deliveries => ({ awaited: undefined, queues: undefined })

export const deliver = (deliveries: Deliveries): void => {
  const { awaited, queues } = deliveries
  if (awaited === undefined && queues === undefined) return
  if (nested === mostNested) {
    setImmediate(() => deliver(deliveries))
    return
  }
  nested++
  // First, lest those who go on now take the places of those who wait for them.
  if (queues !== undefined) { for (const queue of queues) if (queue.waiting.size > 0) RequestQueue.tellWaiting(queue) }
  if (awaited !== undefined) { for (const tell of awaited) tell() }
  nested--
}

/**
 * Whether a completion is for those who poll; then it has the `wrId` that was given with the request. One that is awaited
 * is a delivery, and one of a queue that is no more is nobody's.
 */
export const isForPoller = (completion: ExtendedCompletion.ExtendedCompletion, deliveries: Deliveries): boolean =>
  receiverOf(completion, deliveries) !== undefined

/** Sees to it that somebody polls the queue as long as anybody needs it. */
export const drive = (self: CompletionQueue.CompletionQueue): Effect.Effect<void> =>
  Effect.suspend(() => {
    const { completions } = self
    if (completions.isDriven) return Effect.void
    completions.isDriven = true
    const driver = Waiting.until(self, (dataPath) => {
      const error = sweep(self, dataPath)
      if (error !== undefined) return Effect.fail(error)
      if (completions.needing.size > 0) return undefined
      // In the same turn: whoever comes later starts another one.
      completions.isDriven = false
      return Effect.void
    })
    return Effect.asVoid(Effect.forkDetach(Effect.catchCause(driver, (cause) =>
      Effect.sync(() => {
        completions.isDriven = false
        // When the queue was released nobody is left: its queue pairs went before it.
        const error = Option.getOrElse(Cause.findErrorOption(cause), () => notPolled(cause))
        // Those who are there now: who is told may come back at once.
        for (const tell of Array.from(completions.needing)) tell(error)
      }))))
  })

/** Ends the need for somebody who polls; one who sleeps only for that must know. */
export const leave = ({ completions }: CompletionQueue.CompletionQueue, tell: (error: VerbsError) => void): void => {
  completions.needing.delete(tell)
  if (completions.needing.size === 0) ChannelEvents.tellAll(completions.sleeping)
}

/** Takes what the device has: what is awaited is handed over, the rest is kept for those who poll. */
export const sweep = (
  self: CompletionQueue.CompletionQueue,
  dataPath: DataPath.DataPath,
  cq: Pointer.Pointer<"ibv_cq"> = Resource.raw(self)
): VerbsError | undefined => {
  const { sleeping, taken } = self.completions
  // A device that is faster than this cannot keep the thread.
  for (let swept = 0; swept <= self.cqe; swept += atOnce) {
    const { completions, error } = dataPath.pollCq(cq, atOnce)
    if (error !== undefined) return error
    const deliveries = makeDeliveries()
    let isKept = false
    for (const completion of completions) {
      const of = receiverOf(completion, deliveries)
      if (of === undefined) continue
      of.undelivered++
      taken.push({ completion, of })
      isKept = true
    }
    if (isKept) ChannelEvents.tellAll(sleeping)
    deliver(deliveries)
    if (completions.length < atOnce) break
  }
  return undefined
}

/**
 * Takes what a queue pair on a shared receive queue has completed before it drops that: some providers take it out of the
 * completion queue then, and its places in the shared queue would stay taken.
 */
export const beforeDrop = (
  { context, recvCq, srq }: Pick<QueuePair.QueuePair, "context" | "recvCq" | "srq">,
  cq: Pointer.Pointer<"ibv_cq"> | undefined
): Effect.Effect<void> =>
  recvCq === undefined || srq === undefined || srq.receives.inFlight === 0 || cq === undefined
    ? Effect.void
    : Effect.ignore(withDataPath(context, (dataPath) => {
      sweep(recvCq, dataPath, cq)
      return Effect.void
    }))

/** Drops what nobody polled, which would count as undelivered for a shared receive queue that lives on. */
export const close = ({ taken }: Completions): void => {
  for (const { of } of taken.splice(0)) of.undelivered--
}

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

/** Who is told may post at once, and so end the wait of the next one: a long chain of them must not be on one stack. */
let nested = 0
const mostNested = 16

const atOnce = 32

/** `enum ibv_wc_flags`. */
const withGrh = 1
const withImm = 2
const withInv = 8

const notPolled = (cause: Cause.Cause<unknown>): VerbsError =>
  refused("ibv_poll_cq", "EIO", `The completion queue cannot be polled: ${Cause.pretty(cause)}`)

/** Mostly all are: then nothing is copied. */
const forPoller = (
  completions: ReadonlyArray<WorkCompletion.WorkCompletion>,
  deliveries: Deliveries
): ReadonlyArray<WorkCompletion.WorkCompletion> => {
  let some: Array<WorkCompletion.WorkCompletion> | undefined
  for (let index = 0; index < completions.length; index++) {
    const completion = completions[index]!
    if (receiverOf(completion, deliveries) === undefined) some ??= completions.slice(0, index)
    else if (some !== undefined) some.push(completion)
  }
  return some ?? completions
}

/** Of those who post through the seam, with numbers of their own. */
const foreign: Pick<RequestQueue.RequestQueue, "undelivered"> = { undelivered: 0 }

type Mutable<A> = { -readonly [K in keyof A]: A[K] }

const receiverOf = (
  completion: WorkCompletion.WorkCompletion | ExtendedCompletion.ExtendedCompletion,
  deliveries: Deliveries
): Pick<RequestQueue.RequestQueue, "undelivered"> | undefined => {
  const ended = RequestQueue.end(completion.wrId)
  if (ended === undefined) return RequestQueue.isForeign(completion.wrId) ? foreign : undefined
  const { queue, underWay } = ended
  if (queue.waiting.size > 0) (deliveries.queues ??= new Set()).add(queue)
  // The poll made it for us alone.
  const own: Mutable<typeof completion> = completion
  if (typeof underWay === "bigint") {
    own.wrId = underWay
    return queue
  }
  own.wrId = underWay.wrId
  const tell = () => underWay.ended(plain(completion))
  if (deliveries.awaited === undefined) deliveries.awaited = [tell]
  else deliveries.awaited.push(tell)
  return undefined
}

/** A failed one is the same for both. */
const isExtended = (
  completion: WorkCompletion.WorkCompletion | ExtendedCompletion.ExtendedCompletion
): completion is ExtendedCompletion.ExtendedCompletion => completion.qpNum === undefined || !("hasGrh" in completion)

/** What an extended queue was not asked for is not there. */
const plain = (
  completion: WorkCompletion.WorkCompletion | ExtendedCompletion.ExtendedCompletion
): WorkCompletion.WorkCompletion => {
  if (!isExtended(completion)) return completion
  const { byteLen = 0, dlidPathBits = 0, qpNum = 0, slid = 0, sl = 0, srcQp = 0, status, vendorErr, wrId } = completion
  if (status !== "success") return { wrId, status, vendorErr, qpNum }
  const { immData, invalidatedRkey, opcode = "unknown", wcFlags = 0 } = completion
  const hasGrh = (wcFlags & withGrh) !== 0
  return {
    wrId,
    status,
    vendorErr,
    qpNum,
    opcode,
    byteLen,
    immData,
    invalidatedRkey,
    srcQp,
    hasGrh,
    pkeyIndex: 0,
    slid,
    sl,
    dlidPathBits
  }
}
