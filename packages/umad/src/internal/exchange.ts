/**
 * Many requests by one fiber, a bounded number of them in flight: what a walk of a subnet is made of. A request of its own
 * fiber, timer and copy each costs several times what the answer takes on the wire.
 *
 * @since 0.1.0
 */
import * as Resource from "@effect-rdma/core/Resource"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as MadAddress from "../MadAddress.ts"
import * as MadBuffer from "../MadBuffer.ts"
import type { MadStatus } from "../MadStatus.ts"
import type { MadTimeout } from "../MadTimeout.ts"
import type * as UmadAgent from "../UmadAgent.ts"
import type { UmadError } from "../UmadError.ts"
import * as MadHeader from "./madHeader.ts"
import { requestOf } from "./madRequest.ts"
import * as Traffic from "./portTraffic.ts"
import * as Request from "./request.ts"

/** One request, and what is done with its answer: that may ask for more. */
export interface Question {
  /** Made when it is sent. One packet. */
  readonly mad: () => Uint8Array
  /** Asked when its turn comes: what is known by then needs no MAD. */
  readonly isNeeded: () => boolean
  readonly onAnswer: (mad: Uint8Array) => void
  readonly onFailure: (error: MadTimeout | MadStatus) => void
}

/** Asks until nothing is left to ask, in the order of the queue, which grows meanwhile. */
export const run = (
  agent: UmadAgent.UmadAgent,
  address: MadAddress.MadAddress,
  queue: ReadonlyArray<Question>,
  concurrency: number,
  patience: Request.Patience
): Effect.Effect<void, UmadError> =>
  Effect.scoped(Effect.gen(function*() {
    const { port } = agent
    const { traffic } = port
    const flight = yield* makeFlight(traffic)
    const buffer = yield* Effect.catchTag(MadBuffer.alloc(port, MadHeader.packetSize), "SchemaError", Effect.die)
    const allowance = patience.timeoutMs * (patience.retries + 1) + Request.graceMillis
    let next = 0
    let answered: ReadonlyArray<Answered> = []
    while (next < queue.length || flight.sent.size > 0 || answered.length > 0) {
      if (traffic.failure !== undefined) return yield* traffic.failure
      const now = yield* Clock.currentTimeMillis
      yield* Resource.use(port, (portId) =>
        Resource.use(buffer, (pointer) =>
          Effect.gen(function*() {
            while (flight.sent.size < concurrency && next < queue.length) {
              const question = queue[next++]!
              if (!question.isNeeded()) continue
              const mad = question.mad()
              flight.add(mad, { question, deadline: now + allowance })
              yield* port.umad.send(
                portId,
                Resource.raw(agent),
                pointer,
                { address, mad },
                patience.timeoutMs,
                patience.retries
              )
            }
          })))
      // The subnet has more to do by now, while this is read.
      for (const { exit, question } of answered) {
        if (Exit.isFailure(exit)) return yield* Effect.failCause(exit.cause)
        const outcome = exit.value
        if (outcome !== "timeout" && MadHeader.status(outcome.mad) === 0) {
          question.onAnswer(outcome.mad)
        } else question.onFailure(Request.failureOf(outcome, requestOf(question.mad(), address.lid), patience))
      }
      const isFull = flight.sent.size >= concurrency || next >= queue.length
      // Nothing is in flight when nothing of the rest was needed, or all has landed meanwhile.
      if (isFull && flight.sent.size > 0) yield* flight.wait(now)
      answered = flight.take()
    }
  }))

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

interface Sent {
  readonly question: Question
  /** When it is given up here, because the kernel said nothing. */
  readonly deadline: number
}

interface Answered {
  readonly question: Question
  readonly exit: Exit.Exit<Traffic.Outcome, UmadError>
}

/** What was sent and not answered yet, oldest first. */
const makeFlight = (traffic: Traffic.PortTraffic) =>
  Effect.gen(function*() {
    const sent = new Map<number, Sent>()
    let answered: Array<Answered> = []
    let wake: (() => void) | undefined

    const land = (key: number, question: Question, exit: Answered["exit"]): void => {
      traffic.waiting.delete(key)
      sent.delete(key)
      answered.push({ question, exit })
      wake?.()
      wake = undefined
    }

    const somethingLanded = Effect.callback<void>((resume) => {
      if (answered.length > 0) return resume(Effect.void)
      // Not in the turn of the receiver: what else is there lands first, and is answered in one go.
      wake = () => queueMicrotask(() => resume(Effect.void))
      return Effect.sync(() => wake = undefined)
    })

    yield* Effect.addFinalizer(() =>
      Effect.sync(() => {
        for (const key of sent.keys()) traffic.waiting.delete(key)
      })
    )
    return {
      sent,
      add: (mad: Uint8Array, flying: Sent): void => {
        const mgmtClass = MadHeader.mgmtClass(mad)
        const id = Traffic.nextTransactionId(traffic, mgmtClass)
        MadHeader.setTransactionId(mad, 0, id)
        const key = Traffic.keyOf(mgmtClass, id)
        sent.set(key, flying)
        traffic.waiting.set(key, (exit) => land(key, flying.question, exit))
      },
      wait: (now: number): Effect.Effect<void> =>
        Effect.suspend(() => {
          const [oldest] = sent
          if (oldest === undefined) return somethingLanded
          const [key, { deadline, question }] = oldest
          return Effect.timeoutOrElse(somethingLanded, {
            duration: Math.max(0, deadline - now),
            orElse: () => Effect.sync(() => land(key, question, Exit.succeed("timeout")))
          })
        }),
      take: (): ReadonlyArray<Answered> => {
        const taken = answered
        answered = []
        return taken
      }
    }
  })
