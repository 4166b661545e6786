/**
 * What is under way on one send, receive or shared receive queue: how much room is left, and whom a completion is for.
 *
 * The library is told numbers of ours as `wr_id`: a queue, a place in it, and how often that was taken. So a completion that
 * arrives after its queue was destroyed, or a second time, is nobody's instead of somebody else's.
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
  /** Another one after each reset. */
  number: number
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
  /** How often it was taken, of which the library is told 8 bits. */
  generation: number
  underWay: UnderWay | undefined
  isSignaled: boolean
  /** One that was posted later has completed. No device does that, but what is awaited must not be lost for it. */
  isPassed: boolean
}

/** Places in one queue: more than any device has. */
const places = 2 ** 24

const queues = new Map<number, RequestQueue>()

/** That of the completion before, which mostly is that of the next one too. It has another number once it is dropped. */
let lastEnded: RequestQueue | undefined

const halves = new DataView(new ArrayBuffer(8))

// 0 is the queue of those who post through the seam, with numbers of their own.
let lastQueue = 0

export const make = (capacity: number, isOrdered: boolean): RequestQueue => {
  const queue: RequestQueue = {
    isOrdered,
    number: ++lastQueue,
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
  let at: number
  if (queue.isOrdered) {
    at = queue.head
    // Such as wait longer than those behind them.
    while (queue.places[at]?.underWay !== undefined) at = next(queue, at)
    queue.head = next(queue, at)
  } else at = queue.free.pop() ?? queue.head++
  const place = queue.places[at] ??= { generation: 0, underWay: undefined, isSignaled: false, isPassed: false }
  place.generation = (place.generation + 1) & 0xff
  place.underWay = underWay
  place.isSignaled = isSignaled
  place.isPassed = false
  queue.inFlight++
  if (isSignaled) queue.signaled++
  halves.setUint32(0, (place.generation * places + at) >>> 0, true)
  halves.setUint32(4, queue.number, true)
  return halves.getBigUint64(0, true)
}

/** Gives the place of the last request back that was not given back yet: it was not posted. */
export const undo = (queue: RequestQueue, wrId: bigint): void => {
  halves.setBigUint64(0, wrId, true)
  const at = placeIn(halves.getUint32(0, true))
  if (queue.isOrdered) queue.head = at
  else queue.free.push(at)
  vacate(queue, at)
}

/**
 * Whom a completion is for, whose place it frees, and of an ordered queue all before it that have none of their own.
 * `undefined` when it is nobody's.
 */
export const end = (wrId: bigint): { readonly queue: RequestQueue; readonly underWay: UnderWay } | undefined => {
  // In halves: a number from a bigint, and its remainder, cost more than all of the rest.
  halves.setBigUint64(0, wrId, true)
  const low = halves.getUint32(0, true)
  const number = halves.getUint32(4, true)
  if (lastEnded?.number !== number) lastEnded = queues.get(number)
  const queue = lastEnded
  const at = placeIn(low)
  const place = queue?.places[at]
  if (queue === undefined || place?.underWay === undefined || place.generation !== low >>> 24) return undefined
  const { underWay } = place
  if (!queue.isOrdered) queue.free.push(at)
  else if (!place.isPassed) {
    for (; queue.tail !== at; queue.tail = next(queue, queue.tail)) pass(queue, queue.tail)
    queue.tail = next(queue, at)
  }
  vacate(queue, at)
  return { queue, underWay }
}

/** Whether a number was never told to the library here: those who post through the seam have numbers of their own. */
export const isForeign = (wrId: bigint): boolean => {
  const queue = Number(wrId >> 32n)
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
  queues.delete(queue.number)
  queue.number = ++lastQueue
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
  queues.delete(queue.number)
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

const placeIn = (low: number): number => low & 0xff_ffff

const next = ({ capacity }: RequestQueue, at: number): number => at + 1 === capacity ? 0 : at + 1

/** One that tells of itself waits for that. */
const pass = (queue: RequestQueue, at: number): void => {
  const place = queue.places[at]
  if (place?.isSignaled === true) place.isPassed = true
  else vacate(queue, at)
}

const vacate = (queue: RequestQueue, at: number): void => {
  const place = queue.places[at]
  if (place?.underWay === undefined) return
  place.underWay = undefined
  queue.inFlight--
  if (place.isSignaled) queue.signaled--
}
