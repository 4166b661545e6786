/**
 * The events of a channel. Whoever reads one may have waited for another id, so an event goes to the one who waits for it,
 * and is kept when there is none. One fiber reads at a time; when it has what it waited for, the next one does.
 *
 * @since 0.1.0
 */
import type * as Pointer from "@effect-rdma/core/Pointer"
import * as Resource from "@effect-rdma/core/Resource"
import * as Effect from "effect/Effect"
import * as Semaphore from "effect/Semaphore"
import type * as CmEvent from "../CmEvent.ts"
import type * as EventChannel from "../EventChannel.ts"
import type { RdmaCmError } from "../RdmaCmError.ts"

type Id = Pointer.Pointer<"rdma_cm_id">

/** How far an id has come, as its events tell. */
export interface Progress {
  /** Its request was accepted, or is being. */
  isAccepted: boolean
  isConnected: boolean
  isDisconnected: boolean
}

interface Waiter {
  /** Of which id, or of any. */
  readonly id: Id | undefined
  readonly wants: (event: CmEvent.CmEvent) => boolean
  /** Whether it takes the event, or only looks. */
  readonly takes: boolean
  event: CmEvent.CmEvent | undefined
  tell: () => void
}

export interface ChannelEvents {
  /** What nobody has taken yet, in the order of the channel. */
  readonly pending: Array<CmEvent.CmEvent>
  readonly waiters: Map<Id | undefined, Set<Waiter>>
  readonly progress: Map<Id, Progress>
  /** Taken by the one who reads. */
  readonly reading: Semaphore.Semaphore
  /** Taken while an event is got and not yet acked, and by what waits for acks in C. */
  readonly unacked: Semaphore.Semaphore
  /** Notes in the ledger that an event was got and acked. */
  readonly countPair: Effect.Effect<void>
}

export const make = (countPair: Effect.Effect<void>): ChannelEvents => ({
  countPair,
  pending: [],
  waiters: new Map(),
  progress: new Map(),
  reading: Semaphore.makeUnsafe(1),
  unacked: Semaphore.makeUnsafe(1)
})

/** Follows an id from here on. */
export const follow = (self: ChannelEvents, id: Id): Progress => {
  const progress = {
    isAccepted: false,
    isConnected: false,
    isDisconnected: self.pending.some((event) => event.id === id && event.event === "disconnected")
  }
  self.progress.set(id, progress)
  return progress
}

/** Forgets an id that is destroyed: a later one may have its address. Gives the ids of requests that nobody took. */
export const forget = (self: ChannelEvents, id: Id): ReadonlyArray<Id> => {
  self.progress.delete(id)
  const requests = takeAll(self, (event) => event.listenId === id).map((event) => event.id)
  takeAll(self, (event) => event.id === id)
  return requests
}

/** Puts the events of an id and those who wait for them onto another channel. */
export const move = (from: ChannelEvents, to: ChannelEvents, id: Id): void => {
  const progress = from.progress.get(id)
  if (progress !== undefined) to.progress.set(id, progress)
  from.progress.delete(id)
  to.pending.push(...takeAll(from, (event) => event.id === id || event.listenId === id))
  // They look where the id is, and wait there.
  for (const waiter of Array.from(from.waiters.get(id) ?? [])) waiter.tell()
}

/** The first pending request to an id that listens. */
export const requestTo = (self: ChannelEvents, id: Id): CmEvent.CmEvent | undefined =>
  self.pending.find(({ event, listenId }) => event === "connectRequest" && listenId === id)

/** Takes all pending events that match. */
export const takeAll = (
  self: ChannelEvents,
  matches: (event: CmEvent.CmEvent) => boolean
): ReadonlyArray<CmEvent.CmEvent> => {
  const taken = self.pending.filter(matches)
  if (taken.length > 0) self.pending.splice(0, Infinity, ...self.pending.filter((event) => !matches(event)))
  return taken
}

/**
 * The next event that is wanted, of one id or of any. One that was handed over and not received is kept. Requests are not
 * taken so, since each brings an id that must have an owner at any moment.
 */
export const next = (
  channelOf: () => EventChannel.EventChannel,
  id: Id | undefined,
  wants: (event: CmEvent.CmEvent) => boolean
): Effect.Effect<CmEvent.CmEvent, RdmaCmError> =>
  Effect.suspend(() => {
    const channel = channelOf()
    const { pending } = channel.events
    const at = pending.findIndex((event) => concerns(event, id) && wants(event))
    const [event] = at === -1 ? [] : pending.splice(at, 1)
    if (event !== undefined) return Effect.succeed(event)
    const waiter: Waiter = { id, wants, takes: true, event: undefined, tell: () => {} }
    return Effect.flatMap(
      Effect.onExit(whileReading(channel, waiter), (exit) =>
        Effect.sync(() => {
          if (exit._tag === "Failure" && waiter.event !== undefined) deliver(channel.events, waiter.event)
        })),
      () => waiter.event === undefined ? next(channelOf, id, wants) : Effect.succeed(waiter.event)
    )
  })

/** Waits until something is so, looking again at each event of an id. */
export const until = (
  channelOf: () => EventChannel.EventChannel,
  id: Id,
  isSo: () => boolean
): Effect.Effect<void, RdmaCmError> =>
  Effect.suspend(() =>
    isSo()
      ? Effect.void
      : Effect.andThen(
        whileReading(channelOf(), { id, wants: () => false, takes: false, event: undefined, tell: () => {} }),
        until(channelOf, id, isSo)
      )
  )

/** Reads what is there, without waiting. */
export const drain = (channel: EventChannel.EventChannel): Effect.Effect<void, RdmaCmError> =>
  Effect.catchReason(Effect.forever(read(channel)), "RdmaCmError", "EAGAIN", () => Effect.void)

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

/** The id of a request is new: it concerns the one that listens. */
const concerns = (event: CmEvent.CmEvent, id: Id | undefined): boolean =>
  id === undefined || (event.listenId ?? event.id) === id

const whileReading = (channel: EventChannel.EventChannel, waiter: Waiter): Effect.Effect<void, RdmaCmError> => {
  const { reading, waiters } = channel.events
  const told = Effect.callback<void>((resume) => {
    const own = waiters.get(waiter.id) ?? new Set()
    waiters.set(waiter.id, own.add(waiter))
    const leave = () => {
      own.delete(waiter)
      if (own.size === 0 && waiters.get(waiter.id) === own) waiters.delete(waiter.id)
    }
    waiter.tell = () => {
      leave()
      resume(Effect.void)
    }
    return Effect.sync(leave)
  })
  const reads = Effect.forever(Effect.catchReason(
    read(channel),
    "RdmaCmError",
    "EAGAIN",
    () => Resource.use(channel, channel.cm.awaitCmEvent)
  ))
  return Resource.whileLive(channel, Effect.raceFirst(told, reading.withPermit(reads)))
}

/** Reads one event, acks and delivers it in the same step: no interruption loses it, and no id is destroyed meanwhile. */
const read = (channel: EventChannel.EventChannel): Effect.Effect<void, RdmaCmError> =>
  Effect.uninterruptible(
    Resource.use(channel, (pointer) =>
      channel.events.unacked.withPermit(Effect.flatMap(channel.cm.getCmEvent(pointer), ({ event, pointer }) =>
        Effect.andThen(
          channel.cm.ackCmEvent(pointer),
          Effect.map(channel.events.countPair, () =>
            deliver(channel.events, event))
        ))))
  )

const deliver = (self: ChannelEvents, event: CmEvent.CmEvent): void => {
  note(self.progress.get(event.id), event)
  const own = Array.from(self.waiters.get(event.listenId ?? event.id) ?? [])
  const taker = [...own, ...(self.waiters.get(undefined) ?? [])].find(({ takes, wants }) => takes && wants(event))
  if (taker === undefined) {
    self.pending.push(event)
  } else {
    taker.event = event
    taker.tell()
  }
  for (const waiter of own) if (!waiter.takes) waiter.tell()
}

const note = (progress: Progress | undefined, { event }: CmEvent.CmEvent): void => {
  if (progress === undefined) return
  if (event === "established") progress.isConnected = true
  if (event === "disconnected" || event === "deviceRemoval") progress.isDisconnected = true
}
