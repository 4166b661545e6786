/**
 * One request: sent, waited for, matched.
 *
 * @since 0.1.0
 */
import * as Resource from "@effect-rdma/core/Resource"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { MadStatus } from "../MadStatus.ts"
import { MadTimeout } from "../MadTimeout.ts"
import type * as Umad from "../Umad.ts"
import type * as UmadAgent from "../UmadAgent.ts"
import type { UmadError } from "../UmadError.ts"
import * as MadHeader from "./madHeader.ts"
import { type Request, requestOf } from "./madRequest.ts"
import * as Traffic from "./portTraffic.ts"

/** How often a request is sent, and how long each time is waited. */
export interface Patience {
  readonly timeoutMs: number
  readonly retries: number
}

export const patienceOf = (
  timeout: Duration.Input = "1 second",
  retries: number = 3
): Effect.Effect<Patience, Schema.SchemaError> =>
  Effect.suspend(() => {
    const millis = Math.ceil(Duration.toMillis(Duration.fromInputUnsafe(timeout)))
    return decodePatience({ timeoutMs: millis, retries })
  })

/** How much later than the kernel a request is given up here. */
export const graceMillis = 1000

/** Why an outcome is no response that says yes. */
export const failureOf = (outcome: Traffic.Outcome, request: Request, patience: Patience): MadTimeout | MadStatus =>
  outcome === "timeout"
    ? new MadTimeout({ ...request, ...patience })
    : new MadStatus({ ...request, status: MadHeader.status(outcome.mad), mad: outcome.mad })

/** The MAD is the caller's to give: its transaction id is filled in. */
export const run = (
  self: UmadAgent.UmadAgent,
  { address, mad }: Umad.MadToSend,
  patience: Patience
): Effect.Effect<Umad.ReceivedMad, UmadError | MadTimeout | MadStatus> =>
  Effect.suspend(() => {
    const { port } = self
    const { traffic } = port
    if (traffic.failure !== undefined) return Effect.fail(traffic.failure)
    const request = requestOf(mad, address.lid)
    const transactionId = Traffic.nextTransactionId(traffic, request.mgmtClass)
    MadHeader.setTransactionId(mad, 0, transactionId)
    const key = Traffic.keyOf(request.mgmtClass, transactionId)
    const waiter = Deferred.makeUnsafe<Traffic.Outcome, UmadError>()
    const { retries, timeoutMs } = patience
    traffic.waiting.set(key, (exit) => Deferred.doneUnsafe(waiter, exit))
    return Traffic.send(port, Resource.raw(self), { address, mad }, timeoutMs, retries).pipe(
      Effect.andThen(Deferred.await(waiter)),
      // The kernel says nothing of what it could not send, and a simulator nothing at all.
      Effect.timeoutOrElse({
        duration: timeoutMs * (retries + 1) + graceMillis,
        orElse: () => Effect.succeed<Traffic.Outcome>("timeout")
      }),
      Effect.ensuring(Effect.sync(() => traffic.waiting.delete(key))),
      Effect.flatMap((outcome) =>
        outcome !== "timeout" && MadHeader.status(outcome.mad) === 0
          ? Effect.succeed(outcome)
          : Effect.fail(failureOf(outcome, request, patience))
      )
    )
  })

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

const longest = 0x7fff_ffff

const decodePatience = Schema.decodeEffect(
  Schema.Struct({
    timeoutMs: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: longest })),
    retries: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 255 }))
  }).check(
    Schema.makeFilter(({ retries, timeoutMs }: Patience) =>
      timeoutMs * (retries + 1) < longest || `all times together have to be less than ${longest} ms`
    )
  )
)
