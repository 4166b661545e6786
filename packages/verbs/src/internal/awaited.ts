/**
 * Awaiting one work request. Its memory is the device's until the completion, so nothing that holds it is released before,
 * and who is interrupted waits for the completion too: past the grace the queue pair is flushed.
 *
 * @since 0.1.0
 */
import * as Resource from "@effect-rdma/core/Resource"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import type * as CompletionQueue from "../CompletionQueue.ts"
import type * as DataPath from "../operations/DataPath.ts"
import type * as QueuePair from "../QueuePair.ts"
import type { VerbsError } from "../VerbsError.ts"
import * as WaitStrategy from "../WaitStrategy.ts"
import * as WorkCompletion from "../WorkCompletion.ts"
import type * as WorkRequest from "../WorkRequest.ts"
import * as Completions from "./completions.ts"
import { withDataPath } from "./dataPath.ts"
import * as Posting from "./posting.ts"
import * as Path from "./queuePairPath.ts"
import * as Work from "./queuePairWork.ts"
import { orRefused, refused } from "./refused.ts"
import * as RequestQueue from "./requestQueue.ts"
import * as Codec from "./workRequest.ts"

type Outcome = Effect.Effect<WorkCompletion.Succeeded, VerbsError | WorkCompletion.WorkCompletionError>

/** Posts a send, when there is room, and waits for its completion. */
export const send = (self: QueuePair.QueuePair, request: WorkRequest.SendRequest): Outcome => {
  const { flags = [] } = request
  const signaled: WorkRequest.SendRequest = flags.includes("signaled")
    ? request
    : { ...request, flags: [...flags, "signaled"] }
  return whenPosted(self, {
    name: request.opcode,
    queue: self.work.sends,
    completionQueue: self.sendCq,
    handles: () => Codec.handlesOf(request),
    ensure: () => Work.ensureSending("ibv_post_send", self),
    wrId: request.wrId ?? 0n,
    hasGrace: true,
    post: (dataPath, awaited) => Posting.send(self, dataPath, [signaled], awaited)
  })
}

/** Posts a receive, when there is room, and waits for its completion. */
export const receive = (self: QueuePair.QueuePair, request: WorkRequest.ReceiveRequest): Outcome =>
  whenPosted(self, {
    name: "recv",
    queue: self.work.receives,
    completionQueue: self.recvCq,
    handles: () => Codec.handlesOf(request),
    ensure: () => Work.ensureReceiving("ibv_post_recv", self),
    wrId: request.wrId ?? 0n,
    hasGrace: false,
    post: (dataPath, awaited) => Posting.receive(self, dataPath, [request], awaited)
  })

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

interface Request {
  readonly name: string
  readonly queue: RequestQueue.RequestQueue
  readonly completionQueue: CompletionQueue.CompletionQueue | undefined
  readonly handles: () => ReadonlyArray<Resource.Any>
  /** Throws what is refused before there is any waiting. */
  readonly ensure: () => void
  readonly wrId: bigint
  /** Whether it can be expected to complete soon. */
  readonly hasGrace: boolean
  readonly post: (dataPath: DataPath.DataPath, awaited: RequestQueue.Awaited) => VerbsError | undefined
}

/** A request under way, and how it ended. */
interface Pending extends Waiter {
  readonly hasGrace: boolean
  outcome: Outcome | undefined
  /** Why nobody can see how it ends. */
  failure: VerbsError | undefined
  readonly end: (outcome: Outcome) => void
}

const whenPosted = (self: QueuePair.QueuePair, request: Request): Outcome =>
  Effect.uninterruptibleMask((restore) => {
    const { name, queue } = request
    const post = (isPromised: boolean): Outcome =>
      withDataPath(self.context, (dataPath, fiber) => {
        if (isPromised) queue.promised--
        const held: Array<() => void> = []
        const giveBack = () => held.splice(0).forEach((give) => give())
        try {
          // Throws for one that is released.
          Resource.raw(self)
          request.ensure()
          const { completionQueue } = request
          if (completionQueue === undefined) {
            throw refused("ibv_poll_cq", "EINVAL", "The queue pair has no completion queue for it", { request: name })
          }
          // Nobody could see the end of a request there.
          Resource.raw(completionQueue)
          if (!RequestQueue.hasRoom(queue, 1)) {
            return Effect.flatMap(untilPromised(queue, completionQueue, restore), () => post(true))
          }
          let isUrgent = false
          const pending: Pending = {
            hasGrace: request.hasGrace,
            outcome: undefined,
            failure: undefined,
            // Also when something that it holds is to be released.
            isTold: () => isUrgent || pending.outcome !== undefined || pending.failure !== undefined,
            wake: () => {},
            end: (outcome) => {
              if (pending.outcome !== undefined) return
              pending.outcome = outcome
              giveBack()
              Completions.leave(completionQueue, failed)
              pending.wake()
            }
          }
          const failed = (error: VerbsError): void => {
            pending.failure = error
            // When all of them know: the first one resets the queue pair, which would be the reason of the others.
            queueMicrotask(() => pending.wake())
          }
          for (const handle of request.handles()) {
            held.push(Resource.holdUnsafe(handle, () => {
              isUrgent = true
              pending.wake()
            }))
          }
          const refusal = request.post(dataPath, {
            wrId: request.wrId,
            ended: (completion) =>
              pending.end(
                completion === undefined && pending.failure !== undefined
                  ? Effect.fail(pending.failure)
                  : outcomeOf(self, name, completion)
              )
          })
          if (refusal !== undefined) throw refusal
          // On quick devices it has ended by now. Who spins, and is the only one, gives it as long as another fiber costs.
          const isSpinning = fiber.getRef(WaitStrategy.WaitStrategy)._tag === "spin" &&
            completionQueue.completions.needing.size === 0
          let error: VerbsError | undefined
          for (let polls = isSpinning ? 64 : 1; polls > 0 && error === undefined; polls--) {
            error = Completions.sweep(completionQueue, dataPath)
            if (pending.outcome !== undefined) return pending.outcome
          }
          completionQueue.completions.needing.add(failed)
          if (error !== undefined) failed(error)
          return Effect.andThen(Completions.drive(completionQueue), untilEnded(self, pending, restore))
        } catch (thrown) {
          giveBack()
          RequestQueue.tellWaiting(queue)
          throw thrown
        }
      })
    return post(false)
  })

/** Waits until the queue promises a place. */
const untilPromised = (
  queue: RequestQueue.RequestQueue,
  completionQueue: CompletionQueue.CompletionQueue,
  restore: Restore
): Effect.Effect<void, VerbsError> =>
  orRefused(() => {
    // Room comes with a completion only.
    if (queue.signaled + queue.promised === 0) Work.ensureRoom("ibv_post_send", queue, 1)
    let isPromised = false
    let error: VerbsError | undefined
    const waiter: Waiter = { isTold: () => isPromised || error !== undefined, wake: () => {} }
    const told = () => {
      isPromised = true
      waiter.wake()
    }
    const failed = (reason: VerbsError) => {
      error = reason
      waiter.wake()
    }
    queue.waiting.add(told)
    // Since there was no place other fibers may have run, and have told nobody of those that came free.
    RequestQueue.tellWaiting(queue)
    completionQueue.completions.needing.add(failed)
    return Completions.drive(completionQueue).pipe(
      // Each goes on in a turn of its own: a long line of them must not be on one stack.
      Effect.andThen(restore(Effect.andThen(wait(waiter), Effect.yieldNow))),
      Effect.andThen(Effect.suspend(() => error === undefined ? Effect.void : Effect.fail(error))),
      Effect.onExit((exit) =>
        Effect.sync(() => {
          queue.waiting.delete(told)
          Completions.leave(completionQueue, failed)
          if (Exit.isSuccess(exit) || !isPromised) return
          queue.promised--
          RequestQueue.tellWaiting(queue)
        })
      )
    )
  })

const outcomeOf = (
  self: QueuePair.QueuePair,
  request: string,
  completion: WorkCompletion.WorkCompletion | undefined
): Outcome => {
  if (completion === undefined) {
    return Effect.suspend(() => {
      // Destroyed, or reset.
      Resource.raw(self)
      return Effect.fail(refused("ibv_modify_qp", "ECANCELED", "The queue pair was reset: its requests are gone"))
    })
  }
  return WorkCompletion.orFail(completion, request, self)
}

type Restore = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>

interface Waiter {
  readonly isTold: () => boolean
  wake: () => void
}

const wait = (waiter: Waiter): Effect.Effect<void> =>
  Effect.callback((resume) => {
    if (waiter.isTold()) return resume(Effect.void)
    waiter.wake = () => resume(Effect.void)
  })

const untilEnded = (
  self: QueuePair.QueuePair,
  pending: Pending,
  restore: Restore
): Outcome =>
  restore(wait(pending)).pipe(
    Effect.onInterrupt(() => Effect.exit(stop(self, pending))),
    Effect.andThen(Effect.suspend(() => pending.outcome ?? stop(self, pending)))
  )

/** Ends a request that may not go on, or that nobody sees the end of: flushed, or dropped by a reset. */
const stop = (self: QueuePair.QueuePair, pending: Pending): Outcome =>
  Effect.gen(function*() {
    if (pending.failure === undefined && pending.hasGrace) {
      const grace = yield* WaitStrategy.InterruptionGrace
      yield* endedWithin(pending, millisOf(grace))
    }
    if (pending.failure === undefined && pending.outcome === undefined) {
      const moved = yield* moveTo(self, "err")
      if (Exit.isSuccess(moved)) yield* endedWithin(pending, flushMillis)
    }
    if (pending.outcome === undefined) {
      const { failure } = pending
      yield* moveTo(self, "reset")
      const unseen: Outcome = Effect.fail(
        failure ?? refused("ibv_poll_cq", "ETIMEDOUT", "Not even the flush completed")
      )
      pending.end(unseen)
      return yield* failure === undefined ? pending.outcome ?? unseen : unseen
    }
    return yield* pending.outcome
  })

// One that is being released drops its requests, and one whose device is gone has none.
const moveTo = (self: QueuePair.QueuePair, qpState: "err" | "reset") => Effect.exit(Path.modify(self, { qpState }))

/** What is no duration is none: to die here would give the memory back too early. A timer beyond its range ends at once. */
const millisOf = (grace: Duration.Input): number =>
  Math.min(Duration.toMillis(Option.getOrElse(Duration.fromInput(grace), () => Duration.zero)), 2 ** 31 - 1)

/** How long a device may take to flush. */
const flushMillis = 5000

// Not on the program's clock: what a test's clock never lets happen would keep memory from its owner for ever.
const endedWithin = (pending: Pending, millis: number): Effect.Effect<void> =>
  Effect.flatMap(WaitStrategy.DeviceTimer, (after) =>
    Effect.callback((resume) => {
      const hasEnded = () => pending.outcome !== undefined || pending.failure !== undefined
      if (hasEnded()) return resume(Effect.void)
      const cancel = after(millis, () => resume(Effect.void))
      pending.wake = () => {
        if (!hasEnded()) return
        cancel()
        resume(Effect.void)
      }
    }))
