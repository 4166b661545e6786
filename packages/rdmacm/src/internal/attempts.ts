/**
 * Attempts at the addresses of a destination: each in a scope of its own, bounded, and again as a schedule says.
 *
 * @since 0.1.0
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Schedule from "effect/Schedule"
import type * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import * as CmAddress from "../CmAddress.ts"
import * as ConnectionError from "../ConnectionError.ts"
import * as Destination from "../Destination.ts"
import type * as PortSpace from "../PortSpace.ts"
import type * as RdmaCm from "../RdmaCm.ts"
import { inOwnScope } from "./ownScope.ts"

interface Options {
  readonly portSpace: PortSpace.PortSpace
  readonly timeout?: Duration.Input
  readonly retry?: Schedule.Schedule<unknown, ConnectionError.ConnectError>
}

export const attempts = <A, R>(
  destination: Destination.Destination,
  { portSpace, retry, timeout }: Options,
  attempt: (
    address: CmAddress.CmAddress
  ) => Effect.Effect<A, ConnectionError.AttemptError | Schema.SchemaError, R>
): Effect.Effect<A, ConnectionError.ConnectError, Exclude<R, Scope.Scope> | Scope.Scope | RdmaCm.RdmaCm> => {
  const bounded = (address: CmAddress.CmAddress) =>
    timeout === undefined ? attempt(address) : Effect.timeoutOrElse(attempt(address), {
      duration: timeout,
      orElse: () =>
        new ConnectionError.ConnectionTimedOut({
          address: CmAddress.format(address),
          millis: Duration.toMillis(Duration.fromInputUnsafe(timeout))
        })
    })
  // Released out of the race with time, whose loser nobody hears: a release that fails must be told.
  const all = Destination.firstOf(destination, { portSpace }, (address) => inOwnScope(bounded(address)))
  // What is wrong by itself is not right the next time.
  return retry === undefined ? all : Effect.retry(all, { schedule: retry, while: ({ _tag }) => _tag !== "SchemaError" })
}

/** Internet addresses are of the service for connections, service ids of InfiniBand stand for themselves. */
export const portSpaceOf = ({ _tag }: Destination.Destination): "tcp" | "ib" => _tag === "IbAddress" ? "ib" : "tcp"
