/**
 * How an rsocket becomes a handle, whoever made it, and how long its release may take.
 *
 * @since 0.1.0
 */
import type * as CreationSite from "@effect-rdma/core/CreationSite"
import * as Errno from "@effect-rdma/core/Errno"
import * as NativeReason from "@effect-rdma/core/NativeReason"
import * as Resource from "@effect-rdma/core/Resource"
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import type * as Scope from "effect/Scope"
import * as Semaphore from "effect/Semaphore"
import type * as RSockets from "../operations/RSockets.ts"
import type * as RdmaCm from "../RdmaCm.ts"
import { RdmaCmError } from "../RdmaCmError.ts"
import type * as RSocket from "../RSocket.ts"

/**
 * How long a release waits until the other host has what was sent: 60 seconds by default. After that it fails with
 * `ETIMEDOUT`, and the rsocket counts as leaked.
 *
 * @category references
 * @since 0.1.0
 */
export const CloseTimeout = Context.Reference<Duration.Input>("@effect-rdma/rdmacm/CloseTimeout", {
  defaultValue: () => "60 seconds"
})

interface Acquisition {
  readonly pair: readonly [acquire: string, release: string]
  readonly site: CreationSite.CreationSite | undefined
  readonly cm: RdmaCm.RdmaCm["Service"]
  readonly uses: ReadonlyArray<Resource.Any>
  readonly state: RSocket.State
  readonly acquire: Effect.Effect<RSockets.RSocketNumber, RdmaCmError>
}

export const acquire = (
  { acquire, cm, pair, site, state, uses }: Acquisition
): Effect.Effect<RSocket.RSocket, RdmaCmError, Scope.Scope> => {
  const progress: RSocket.RSocket["progress"] = { state, isSendShut: false }
  return Resource.make({
    kind: "RSocket",
    pair,
    site,
    parents: [],
    uses,
    // With memory still mapped it would never return.
    cannotRefuse: true,
    acquire,
    release: (socket: RSockets.RSocketNumber) =>
      Effect.flatMap(
        Effect.exit(progress.state === "listening" ? closeWaiting(cm, socket) : Effect.void),
        (exit) => Effect.andThen(close(cm, socket), exit)
      ),
    fields: () => ({ cm, progress, sending: Semaphore.makeUnsafe(1), receiving: Semaphore.makeUnsafe(1) })
  })
}

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

const ETIMEDOUT = Errno.numberOf("ETIMEDOUT")

/** C forgets the connections that nobody has accepted. */
const closeWaiting = (
  cm: RdmaCm.RdmaCm["Service"],
  listener: RSockets.RSocketNumber
): Effect.Effect<void, RdmaCmError> =>
  Effect.catchReason(
    Effect.forever(Effect.flatMap(cm.raccept(listener), (socket) => close(cm, socket))),
    "RdmaCmError",
    "EAGAIN",
    () => Effect.void
  )

/** Nothing wakes a thread that waits for the other host, so it is left behind when that takes too long. */
const close = (cm: RdmaCm.RdmaCm["Service"], socket: RSockets.RSocketNumber): Effect.Effect<void, RdmaCmError> =>
  Effect.flatMap(
    CloseTimeout,
    (duration) =>
      Effect.flatMap(
        Effect.forkDetach(cm.rclose(socket), { startImmediately: true }),
        (fiber) =>
          Effect.timeoutOrElse(Fiber.join(fiber), {
            duration,
            orElse: () =>
              Effect.fail(
                new RdmaCmError({
                  call: "rclose",
                  reason: NativeReason.fromErrno(ETIMEDOUT),
                  input: {},
                  hint: "The other host does not take what was sent; a thread goes on waiting for it"
                })
              )
          })
      )
  )
