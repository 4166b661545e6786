/**
 * What is under way on one send, receive or shared receive queue: how much room is left, and whom a completion is for.
 *
 * The library is told numbers of ours as `wr_id`, a queue and a place in it. So a completion that arrives after its queue
 * was destroyed, or whose number came back with another queue, is nobody's instead of somebody else's.
 *
 * @since 0.1.0
 */
import type * as WorkCompletion from "../WorkCompletion.ts"

/** A request that somebody awaits. */
export interface Awaited {
  readonly wrId: bigint
  /** Told once: the completion, or `undefined` when none will come, because the queue pair was reset or destroyed. */
  readonly ended: (completion: WorkCompletion.WorkCompletion | undefined) => void
}

/** What stands for a request: whom it tells, or the `wrId` that the caller gave. */
export type UnderWay = bigint | Awaited

export interface RequestQueue {
  /** Requests complete in the order in which they were posted, but for those of a shared receive queue. */
  readonly isOrdered: boolean
  /** The number of its first place. */
  base: number
  capacity: number
  /** How many have not completed. */
  inFlight: number
  /** How many of those will have a completion even when they succeed. */
  signaled: number
  /** How many completions were taken from the device but not by the program, so that these are bounded too. */
  undelivered: number
  /** The next place, and of an ordered queue the oldest one. */
  head: number
  tail: number
  places: Array<Place>
  readonly free: Array<number>
  /** How many places are kept for those who were told of them and have not posted yet. */
  promised: number
  /** Those who wait for a place, told when one is theirs. */
  readonly waiting: Set<() => void>
}

interface Place {
  /** What the library is told. */
  readonly wrId: bigint
  underWay: UnderWay | undefined
  isSignaled: boolean
}

/** Places in one queue: more than any device has. */
const places = 2 ** 24

const queues = new Map<number, RequestQueue>()

/** That of the completion before, which mostly is that of the next one too. It has another base once it is dropped. */
let lastEnded: RequestQueue | undefined

const halves = new DataView(new ArrayBuffer(8))

// 0 is the queue of those who post through the seam, with numbers of their own.
let lastQueue = 0

export const make = (capacity: number, isOrdered: boolean): RequestQueue => {
  const queue: RequestQueue = {
    isOrdered,
    base: ++lastQueue * places,
    capacity: capacityOf(capacity),
    inFlight: 0,
    signaled: 0,
    undelivered: 0,
    head: 0,
    tail: 0,
    places: [],
    free: [],
    promised: 0,
    waiting: new Set()
  }
  queues.set(lastQueue, queue)
  return queue
}

/** The room of the device has changed. */
export const resize = (queue: RequestQueue, capacity: number): void => {
  queue.capacity = capacityOf(capacity)
}

export const hasRoom = (queue: RequestQueue, count: number): boolean =>
  queue.inFlight + queue.promised + count <= queue.capacity

/** Takes the next place, of which there is one, and gives its number. */
export const begin = (queue: RequestQueue, underWay: UnderWay, isSignaled: boolean): bigint => {
  let at = queue.head
  if (queue.isOrdered) queue.head = at + 1 === queue.capacity ? 0 : at + 1
  else at = queue.free.pop() ?? queue.head++
  const place = queue.places[at] ??= { wrId: BigInt(queue.base + at), underWay: undefined, isSignaled: false }
  place.underWay = underWay
  place.isSignaled = isSignaled
  queue.inFlight++
  if (isSignaled) queue.signaled++
  return place.wrId
}

/** Gives the place of the last request back that was not given back yet: it was not posted. */
export const undo = (queue: RequestQueue, wrId: bigint): void => {
  const at = Number(wrId) - queue.base
  if (queue.isOrdered) queue.head = at
  else queue.free.push(at)
  vacate(queue, at)
}

/**
 * Whom a completion is for, whose place it frees, and of an ordered queue all before it: those were not signaled.
 * `undefined` when it is nobody's.
 */
export const end = (wrId: bigint): { readonly queue: RequestQueue; readonly underWay: UnderWay } | undefined => {
  // In halves: a number from a bigint, and its remainder, cost more than all of the rest.
  halves.setBigUint64(0, wrId, true)
  const low = halves.getUint32(0, true)
  const at = low & 0xff_ffff
  const base = halves.getUint32(4, true) * 0x1_0000_0000 + (low - at)
  if (lastEnded?.base !== base) lastEnded = queues.get(base / places)
  const queue = lastEnded
  if (queue === undefined) return undefined
  const underWay = queue.places[at]?.underWay
  if (underWay === undefined) return undefined
  if (queue.isOrdered) {
    while (queue.tail !== at) {
      vacate(queue, queue.tail)
      queue.tail = queue.tail + 1 === queue.capacity ? 0 : queue.tail + 1
    }
    queue.tail = at + 1 === queue.capacity ? 0 : at + 1
  } else queue.free.push(at)
  vacate(queue, at)
  return { queue, underWay }
}

/** Whether a number was never told to the library here: those who post through the seam have numbers of their own. */
export const isForeign = (wrId: bigint): boolean => {
  const queue = Math.floor(Number(wrId) / places)
  return queue === 0 || queue > lastQueue
}

/** Promises a place to as many as there is room for, the first ones first: whoever comes meanwhile is behind them. */
export const tellWaiting = (queue: RequestQueue): void => {
  for (const tell of queue.waiting) {
    if (!hasRoom(queue, 1)) return
    promise(queue, tell)
  }
}

/**
 * Drops all that is under way, as the device does at a reset. The numbers are new ones from then on, since completions
 * from before may still be in the completion queue.
 */
export const drop = (queue: RequestQueue): void => {
  const dropped = queue.places.flatMap(({ underWay }) => typeof underWay === "object" ? [underWay] : [])
  queues.delete(queue.base / places)
  queue.base = ++lastQueue * places
  queues.set(lastQueue, queue)
  queue.places = []
  queue.free.length = 0
  queue.head =
    queue.tail =
    queue.inFlight =
    queue.signaled =
      0
  for (const { ended } of dropped) ended(undefined)
  tellWaiting(queue)
}

/** Drops all, for good: the queue is destroyed. */
export const close = (queue: RequestQueue): void => {
  drop(queue)
  queue.capacity = 0
  queues.delete(queue.base / places)
  for (const tell of queue.waiting) promise(queue, tell)
}

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

const capacityOf = (capacity: number): number => Math.min(capacity, places)

const promise = (queue: RequestQueue, tell: () => void): void => {
  queue.waiting.delete(tell)
  queue.promised++
  tell()
}

const vacate = (queue: RequestQueue, at: number): void => {
  const place = queue.places[at]
  if (place?.underWay === undefined) return
  place.underWay = undefined
  queue.inFlight--
  if (place.isSignaled) queue.signaled--
}
