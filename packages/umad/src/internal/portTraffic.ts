/**
 * The MADs of an open port. One fiber receives for all agents: a response goes to the request that waits for it, by
 * transaction id and class, and what nobody asked for to the agent that the kernel chose. The kernel keeps everything that
 * is not received, without a bound, so the fiber receives whether anybody waits or not.
 *
 * @since 0.1.0
 */
import * as Errno from "@effect-rdma/core/Errno"
import * as NativeReason from "@effect-rdma/core/NativeReason"
import type * as Pointer from "@effect-rdma/core/Pointer"
import * as Resource from "@effect-rdma/core/Resource"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Queue from "effect/Queue"
import * as Scope from "effect/Scope"
import * as Semaphore from "effect/Semaphore"
import * as MadBuffer from "../MadBuffer.ts"
import type * as Umad from "../Umad.ts"
import { UmadError } from "../UmadError.ts"
import type * as UmadPort from "../UmadPort.ts"
import * as MadHeader from "./madHeader.ts"

/** What an agent has received and nobody has taken yet. */
export interface Inbox {
  readonly mgmtClass: number
  readonly queue: Queue.Queue<Umad.ReceivedMad, UmadError>
  lost: number
}

/** What came of a request: the response, or no response in time. */
export type Outcome = Umad.ReceivedMad | "timeout"

export interface PortTraffic {
  readonly inboxes: Map<Umad.AgentId, Inbox>
  /** Who waits for what came of a request, by {@link keyOf}. */
  readonly waiting: Map<number, (exit: Exit.Exit<Outcome, UmadError>) => void>
  /** Taken by the one who has the buffer. */
  readonly lending: Semaphore.Semaphore
  buffer: { readonly handle: MadBuffer.MadBuffer; readonly scope: Scope.Closeable } | undefined
  nextTransactionId: number
  isReceiving: boolean
  /** Why nothing is received any more. */
  failure: UmadError | undefined
}

export const make = (): PortTraffic => ({
  inboxes: new Map(),
  waiting: new Map(),
  lending: Semaphore.makeUnsafe(1),
  buffer: undefined,
  nextTransactionId: 1,
  isReceiving: false,
  failure: undefined
})

export const makeInbox = (mgmtClass: number, capacity: number): Effect.Effect<Inbox> =>
  Effect.map(Queue.sliding<Umad.ReceivedMad, UmadError>(capacity), (queue) => ({ mgmtClass, queue, lost: 0 }))

/** Starts to receive for an agent. */
export const open = (port: UmadPort.OpenPort, agentId: Umad.AgentId, inbox: Inbox): Effect.Effect<void> =>
  Effect.suspend(() => {
    const { traffic } = port
    traffic.inboxes.set(agentId, inbox)
    if (traffic.failure !== undefined) return Effect.asVoid(Queue.fail(inbox.queue, traffic.failure))
    if (traffic.isReceiving) return Effect.void
    traffic.isReceiving = true
    return Effect.asVoid(Effect.forkDetach(receiveAll(port)))
  })

/** Stops to receive for an agent. */
export const close = (self: PortTraffic, agentId: Umad.AgentId): Effect.Effect<void> =>
  Effect.suspend(() => {
    const inbox = self.inboxes.get(agentId)
    self.inboxes.delete(agentId)
    return inbox === undefined ? Effect.void : Effect.asVoid(Queue.shutdown(inbox.queue))
  })

/** Sends a MAD out of the buffer of the port. */
export const send = (
  port: UmadPort.OpenPort,
  agentId: Umad.AgentId,
  mad: Umad.MadToSend,
  timeoutMs: number,
  retries: number
): Effect.Effect<void, UmadError> =>
  withBuffer(
    port,
    mad.mad.length,
    (buffer) => Resource.use(port, (portId) => port.umad.send(portId, agentId, buffer, mad, timeoutMs, retries))
  )

/** A number that no request of the port under way has. */
export const nextTransactionId = (self: PortTraffic, mgmtClass: number): number => {
  let id = self.nextTransactionId
  while (self.waiting.has(keyOf(mgmtClass, id))) id = following(id)
  self.nextTransactionId = following(id)
  return id
}

/** The kernel writes to the upper half of a transaction id, so the lower one is ours: with the class it names a request. */
export const keyOf = (mgmtClass: number, transactionId: number): number => mgmtClass * 2 ** 32 + transactionId

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

const following = (id: number): number => id === 0xffff_ffff ? 1 : id + 1

/** A packet of any fabric, and more than the longest of Omni-Path. */
const firstLength = 2048

const keepsGoing = (port: UmadPort.OpenPort): Effect.Effect<void, UmadError> =>
  Effect.catchReason(
    Effect.forever(receive(port)),
    "UmadError",
    "EAGAIN",
    () => Effect.andThen(port.umad.awaitMad(Resource.raw(port)), keepsGoing(port))
  )

const receiveAll = (port: UmadPort.OpenPort): Effect.Effect<void> =>
  // Released meanwhile, it dies with `UseAfterRelease`: the agents have gone before, and with them who waited.
  Effect.ignoreCause(
    Effect.tapError(Resource.whileLive(port, keepsGoing(port)), (error) => Effect.sync(() => stop(port.traffic, error)))
  )

const stop = (self: PortTraffic, error: UmadError): void => {
  self.failure = error
  for (const waiter of self.waiting.values()) waiter(Exit.fail(error))
  for (const { queue } of self.inboxes.values()) Queue.failCauseUnsafe(queue, Cause.fail(error))
}

/** So many at most before others may have the buffer. */
const burst = 64

const receive = (port: UmadPort.OpenPort): Effect.Effect<void, UmadError> =>
  Effect.uninterruptible(Effect.flatMap(
    withBuffer(
      port,
      firstLength,
      (buffer, length) => Resource.use(port, (portId) => receiveBurst(port, portId, buffer, length))
    ),
    (needed) => {
      if (needed === undefined) return Effect.void
      if (needed > MadBuffer.maximumLength) return Effect.fail(tooLong(needed))
      return withBuffer(port, needed, () => Effect.void)
    }
  ))

/** Until nothing is there (EAGAIN), or the buffer is too short: then how long it has to be. */
const receiveBurst = Effect.fnUntraced(function*(
  port: UmadPort.OpenPort,
  portId: Umad.PortId,
  buffer: Pointer.Pointer<"ib_user_mad">,
  length: number
) {
  for (let left = burst; left > 0; left--) {
    const received = yield* port.umad.recv(portId, buffer, length)
    if ("needed" in received) return received.needed
    deliver(port.traffic, received)
  }
  return undefined
})

const tooLong = (length: number): UmadError =>
  new UmadError({
    call: "umad_recv",
    reason: NativeReason.fromErrno(Errno.numberOf("EMSGSIZE")),
    input: { length },
    hint:
      `A message is longer than ${MadBuffer.maximumLength} bytes, and the kernel keeps it in front of all others: ` +
      "open the port again"
  })

const deliver = (self: PortTraffic, received: Umad.ReceivedMad): void => {
  const { mad, status } = received
  if (mad.length < MadHeader.size) return
  const mgmtClass = MadHeader.mgmtClass(mad)
  if (status !== 0 || MadHeader.isResponse(mad)) {
    // Without a waiter it is late: who asked was interrupted.
    const waiter = self.waiting.get(keyOf(mgmtClass, MadHeader.lowTransactionId(mad)))
    waiter?.(Exit.succeed(status === 0 ? received : "timeout"))
    return
  }
  const inbox = self.inboxes.get(received.agentId)
  // The kernel may still have MADs of an agent whose number another one has by now.
  if (inbox === undefined || (inbox.mgmtClass !== 0 && inbox.mgmtClass !== mgmtClass)) return
  if (Queue.isFullUnsafe(inbox.queue)) inbox.lost++
  Queue.offerUnsafe(inbox.queue, received)
}

/** Lends the buffer of the port, one at a time, made longer first when it is too short. */
const withBuffer = <A, E>(
  port: UmadPort.OpenPort,
  length: number,
  use: (buffer: Pointer.Pointer<"ib_user_mad">, length: number) => Effect.Effect<A, E>
): Effect.Effect<A, E | UmadError> =>
  port.traffic.lending.withPermit(
    Effect.flatMap(bufferOf(port, length), (buffer) => Resource.use(buffer, (pointer) => use(pointer, buffer.length)))
  )

const bufferOf = (port: UmadPort.OpenPort, length: number): Effect.Effect<MadBuffer.MadBuffer, UmadError> =>
  Effect.suspend(() => {
    const { buffer } = port.traffic
    if (buffer !== undefined && buffer.handle.length >= length) return Effect.succeed(buffer.handle)
    return Effect.uninterruptible(Effect.gen(function*() {
      const scope = yield* Scope.make()
      const handle = yield* Scope.provide(
        Effect.catchTag(MadBuffer.alloc(port, Math.max(length, firstLength)), "SchemaError", Effect.die),
        scope
      )
      port.traffic.buffer = { handle, scope }
      if (buffer !== undefined) yield* Scope.close(buffer.scope, Exit.void)
      return handle
    }))
  })
