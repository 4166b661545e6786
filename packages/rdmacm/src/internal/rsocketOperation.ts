/**
 * What the operations of an rsocket have in common: what is looked at before the call, and the wait until it can be made.
 *
 * @since 0.1.0
 */
import * as Errno from "@effect-rdma/core/Errno"
import * as NativeReason from "@effect-rdma/core/NativeReason"
import * as Resource from "@effect-rdma/core/Resource"
import * as Effect from "effect/Effect"
import type * as RSockets from "../operations/RSockets.ts"
import { RdmaCmError } from "../RdmaCmError.ts"
import type * as RSocket from "../RSocket.ts"
import { refused } from "./idOperation.ts"

type Call<A> = (socket: RSockets.RSocketNumber) => Effect.Effect<A, RdmaCmError>

/** Makes a call again each time that the rsocket is as wanted, until it does not fail with `EAGAIN`. */
export const whenReady = <A>(
  self: RSocket.RSocket,
  wanted: RSockets.Wanted,
  call: Call<A>
): Effect.Effect<A, RdmaCmError> =>
  Effect.catchReason(
    Resource.use(self, call),
    "RdmaCmError",
    "EAGAIN",
    () => Effect.andThen(ready(self, wanted), whenReady(self, wanted, call))
  )

/** Waits until an rsocket is as wanted, or will not be so any more. */
export const ready = (self: RSocket.RSocket, wanted: RSockets.Wanted): Effect.Effect<void> =>
  Effect.suspend(() => Resource.whileLive(self, self.cm.awaitRSocket(Resource.raw(self), wanted)))

/** Makes a call that would end the process without a connection. */
export const connected = <A>(
  self: RSocket.RSocket,
  call: string,
  run: Effect.Effect<A, RdmaCmError>
): Effect.Effect<A, RdmaCmError> =>
  Effect.suspend(() =>
    self.progress.state === "connected"
      ? run
      : Effect.fail(refused(call, "ENOTCONN", "Connect the rsocket before", { state: self.progress.state }))
  )

/** Makes a call that is for an rsocket in some states only. */
export const inState = <A>(
  self: RSocket.RSocket,
  states: ReadonlyArray<RSocket.State>,
  call: string,
  run: Effect.Effect<A, RdmaCmError>
): Effect.Effect<A, RdmaCmError> =>
  Effect.suspend(() =>
    states.includes(self.progress.state)
      ? run
      : Effect.fail(
        self.progress.state === "connected"
          ? refused(call, "EISCONN", "Use another rsocket for it", { state: self.progress.state })
          : refused(call, "EINVAL", `It is for an rsocket that is ${states.join(" or ")}`, {
            state: self.progress.state
          })
      )
  )

/** The error that C has noted for an rsocket, as that of a call. */
export const notedError = (
  self: RSocket.RSocket,
  call: string,
  otherwise: Errno.ErrnoName,
  input: RdmaCmError["input"] = {}
): Effect.Effect<never, RdmaCmError> =>
  Effect.flatMap(
    Resource.use(self, (socket) => self.cm.rgetsockopt(socket, "Error")),
    (errno) =>
      Effect.fail(new RdmaCmError({ call, reason: NativeReason.fromErrno(errno || Errno.numberOf(otherwise)), input }))
  )

/** Hands bytes over until all are. */
export const handOver = (
  self: RSocket.RSocket,
  call: string,
  bytes: Uint8Array,
  some: (socket: RSockets.RSocketNumber, bytes: Uint8Array, at: number) => Effect.Effect<number, RdmaCmError>,
  at = 0
): Effect.Effect<void, RdmaCmError> =>
  at === bytes.length ? Effect.void : Effect.flatMap(
    whenReady(self, "writable", (socket) =>
      Effect.andThen(
        sendable(self, call),
        some(socket, bytes.subarray(at), at)
      )),
    (count) => handOver(self, call, bytes, some, at + count)
  )

/** C takes bytes for a connection that has ended, or that it was told to send no more on, and nobody ever gets them. */
export const sendable = (self: RSocket.RSocket, call: string): Effect.Effect<void, RdmaCmError> =>
  Effect.suspend(() => {
    if (self.progress.isSendShut) return Effect.fail(refused(call, "EPIPE", "It was shut down for sending"))
    return Effect.flatMap(
      Resource.use(self, self.cm.rpoll),
      ({ isBroken, isHungUp }): Effect.Effect<void, RdmaCmError> => {
        if (isHungUp) return Effect.fail(refused(call, "ECONNRESET", "The other side has closed the connection"))
        return isBroken ? notedError(self, call, "EIO") : Effect.void
      }
    )
  })
