/**
 * MADs in libibumad: buffers, sending, receiving, waiting.
 *
 * @since 0.1.0
 */
import * as Errno from "@effect-rdma/core/Errno"
import * as Library from "@effect-rdma/core/Library"
import * as NativeMemory from "@effect-rdma/core/NativeMemory"
import * as Readiness from "@effect-rdma/core/Readiness"
import * as ReturnConvention from "@effect-rdma/core/ReturnConvention"
import * as Effect from "effect/Effect"
import type { BufferTooSmall, PortId, ReceivedMad, Umad } from "../../Umad.ts"
import type { UmadError } from "../../UmadError.ts"
import * as Layout from "../Layout.ts"
import * as UserMad from "../userMadCodec.ts"
import { errorOf } from "./error.ts"

type Operations = Pick<
  Umad["Service"],
  "alloc" | "free" | "dump" | "addrDump" | "send" | "recv" | "poll" | "awaitMad"
>

export const make = (library: Library.Library): Operations => {
  const calloc = Library.fromProcess().bind("calloc", ["size", "size"], "pointer")
  const free = Library.fromProcess().bind("free", ["pointer"], "void")
  const dump = library.bind("umad_dump", ["pointer"], "void")
  const addrDump = library.bind("umad_addr_dump", ["pointer"], "void")
  const getMadAddr = library.bind("umad_get_mad_addr", ["pointer"], "pointer")
  const send = library.bind("umad_send", ["int", "int", "pointer", "int", "int", "int"], "int")
  const recv = library.bind("umad_recv", ["int", "pointer", "buffer", "int"], "int")
  const poll = library.bind("umad_poll", ["int", "int"], "int")

  const isReadable = (portId: PortId, millis = 0): Effect.Effect<boolean, UmadError> =>
    Effect.matchEffect(
      ReturnConvention.negativeErrno(
        () => poll(portId, millis),
        (returned, variable) => returned === ETIMEDOUT ? returned : variable || returned
      ),
      {
        onFailure: (errno) =>
          errno === ETIMEDOUT ? Effect.succeed(false) : Effect.fail(errorOf("umad_poll", errno, { portId })),
        onSuccess: () => Effect.succeed(true)
      }
    )

  const look = (portId: PortId, looks = 0): Effect.Effect<void, UmadError> =>
    Effect.flatMap(
      isReadable(portId, looks < quickLooks ? lookMillis : 0),
      (isThere) =>
        isThere
          ? Effect.void
          : Effect.andThen(looks < quickLooks ? Effect.yieldNow : Effect.sleep(lookMillis), look(portId, looks + 1))
    )

  return {
    // umad_alloc and umad_free are inline in the header: calloc and free.
    alloc: (length) =>
      ReturnConvention.pointerOrErrno<"ib_user_mad", UmadError>(
        () => calloc(1, Layout.UserMad.size + length),
        (errno) => errorOf("umad_alloc", errno, { length })
      ),
    free: (buffer) => Effect.sync(() => free(buffer)),
    dump: (buffer) => Effect.sync(() => dump(buffer)),
    addrDump: (buffer) => Effect.sync(() => addrDump(getMadAddr(buffer))),

    send: (portId, agentId, buffer, mad, timeoutMs, retries) =>
      Effect.asVoid(ReturnConvention.negativeErrno(
        () => {
          const { length } = mad.mad
          UserMad.write(NativeMemory.view(buffer, Layout.UserMad.size + length), mad)
          return send(portId, agentId, buffer, length, timeoutMs, retries)
        },
        (returned, variable) =>
          errorOf("umad_send", variable || returned, { agentId, lid: mad.address.lid, length: mad.mad.length })
      )),
    recv: (portId, buffer, length) =>
      Effect.suspend(() => {
        const inOut = Int32Array.of(length)
        return Effect.matchEffect(
          ReturnConvention.negativeErrno(
            () => recv(portId, buffer, inOut, 0),
            (returned, variable) => variable || returned
          ),
          {
            onFailure: (errno): Effect.Effect<ReceivedMad | BufferTooSmall, UmadError> => {
              const needed = inOut[0] ?? 0
              return errno === ENOSPC && needed > length
                ? Effect.succeed({ needed })
                : Effect.fail(errorOf("umad_recv", errno, { portId, length }))
            },
            // The length comes from the kernel, and the buffer is only so long.
            onSuccess: () => {
              const received = Math.min(Math.max(inOut[0] ?? 0, 0), length)
              return Effect.succeed(
                UserMad.read(NativeMemory.view(buffer, Layout.UserMad.size + received), received)
              )
            }
          }
        )
      }),
    poll: (portId) => isReadable(portId),
    awaitMad: (portId) => Effect.catchTag(Readiness.readable(portId), "NotPollable", () => look(portId))
  }
}

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

const ETIMEDOUT = Errno.numberOf("ETIMEDOUT")
const ENOSPC = Errno.numberOf("ENOSPC")

/** A simulator's descriptor is none of the kernel's: all that can be done is to look, again and again. */
const lookMillis = 1

/** An answer takes a twentieth of what the shortest sleep does: so long the thread waits for it. */
const quickLooks = 1
