/**
 * MADs in libibumad: buffers, sending, receiving, waiting.
 *
 * @since 0.1.0
 */
import * as Errno from "@effect-rdma/core/Errno"
import * as Library from "@effect-rdma/core/Library"
import * as NativeMemory from "@effect-rdma/core/NativeMemory"
import type * as Pointer from "@effect-rdma/core/Pointer"
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
    ReturnConvention.matchNegativeErrno(() => poll(portId, millis), {
      onFailure: (returned, variable) =>
        returned === ETIMEDOUT
          ? Effect.succeed(false)
          : Effect.fail(errorOf("umad_poll", variable || returned, { portId })),
      onSuccess: () => Effect.succeed(true)
    })

  /** Looks again and again, the first time for as long as a look takes: an answer takes a twentieth of it. */
  const look = (portId: PortId, millis: number): Effect.Effect<void, UmadError> =>
    Effect.flatMap(
      isReadable(portId, millis),
      (isThere) => isThere ? Effect.void : Effect.andThen(Effect.sleep(lookMillis), look(portId, 0))
    )

  /** Descriptors of a simulator, found out once: to ask again takes longer than an answer. */
  const unpollable = new Set<PortId>()

  const awaitMad = (portId: PortId): Effect.Effect<void, UmadError> => {
    // Whoever has something to send goes first.
    const looking = Effect.andThen(Effect.yieldNow, look(portId, lookMillis))
    return unpollable.has(portId)
      ? looking
      : Effect.catchTag(Readiness.readable(portId), "NotPollable", () => {
        unpollable.add(portId)
        return looking
      })
  }

  /** How much room there is and how much came. One for all: nobody else has a turn between a call and what is made of it. */
  const inOut = new Int32Array(1)

  /** Of the buffers that were used: a new view takes as long as an answer. */
  const views = new Map<Pointer.Pointer<"ib_user_mad">, DataView>()

  /** The header, and at least so many bytes behind it. */
  const viewOf = (buffer: Pointer.Pointer<"ib_user_mad">, length: number): DataView => {
    const size = Layout.UserMad.size + length
    const known = views.get(buffer)
    if (known !== undefined && known.byteLength >= size) return known
    const view = NativeMemory.view(buffer, size)
    views.set(buffer, view)
    return view
  }

  return {
    // umad_alloc and umad_free are inline in the header: calloc and free.
    alloc: (length) =>
      ReturnConvention.pointerOrErrno<"ib_user_mad", UmadError>(
        () => calloc(1, Layout.UserMad.size + length),
        (errno) => errorOf("umad_alloc", errno, { length })
      ),
    free: (buffer) =>
      Effect.sync(() => {
        views.delete(buffer)
        free(buffer)
      }),
    dump: (buffer) => Effect.sync(() => dump(buffer)),
    addrDump: (buffer) => Effect.sync(() => addrDump(getMadAddr(buffer))),

    send: (portId, agentId, buffer, mad, timeoutMs, retries) =>
      ReturnConvention.matchNegativeErrno(
        () => {
          const { length } = mad.mad
          UserMad.write(viewOf(buffer, length), mad)
          return send(portId, agentId, buffer, length, timeoutMs, retries)
        },
        {
          onFailure: (returned, variable) =>
            Effect.fail(
              errorOf("umad_send", variable || returned, { agentId, lid: mad.address.lid, length: mad.mad.length })
            ),
          onSuccess: () => Effect.void
        }
      ),
    recv: (portId, buffer, length) =>
      ReturnConvention.matchNegativeErrno(
        () => {
          inOut[0] = length
          return recv(portId, buffer, inOut, 0)
        },
        {
          onFailure: (returned, variable): Effect.Effect<ReceivedMad | BufferTooSmall, UmadError> => {
            const errno = variable || returned
            const needed = inOut[0] ?? 0
            if (errno === ENOSPC && needed > length) return Effect.succeed({ needed })
            return errno === EAGAIN ? nothingThere : Effect.fail(errorOf("umad_recv", errno, { portId, length }))
          },
          // The length comes from the kernel, and the buffer is only so long.
          onSuccess: () => {
            const received = Math.min(Math.max(inOut[0] ?? 0, 0), length)
            return Effect.succeed(UserMad.read(viewOf(buffer, received), received))
          }
        }
      ),
    poll: (portId) => isReadable(portId),
    awaitMad: (portId) => Effect.suspend(() => awaitMad(portId))
  }
}

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

const ETIMEDOUT = Errno.numberOf("ETIMEDOUT")
const EAGAIN = Errno.numberOf("EAGAIN")
const ENOSPC = Errno.numberOf("ENOSPC")

/** The end of every burst. One for all: to make an error takes as long as four answers. */
const nothingThere = Effect.fail(errorOf("umad_recv", EAGAIN, {}))

/** A simulator's descriptor is none of the kernel's: all that can be done is to look, again and again. */
const lookMillis = 1
