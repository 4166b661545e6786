/**
 * Asynchronous events on the real library.
 *
 * @since 0.1.0
 */
import type * as Library from "@effect-rdma/core/Library"
import * as NativeMemory from "@effect-rdma/core/NativeMemory"
import * as Readiness from "@effect-rdma/core/Readiness"
import * as ReturnConvention from "@effect-rdma/core/ReturnConvention"
import * as Effect from "effect/Effect"
import * as AsyncEvent from "../../AsyncEvent.ts"
import type * as Events from "../../operations/Events.ts"
import * as DeviceLayout from "../DeviceLayout.ts"
import { errorOf } from "./error.ts"

export const make = (library: Library.Library): Events.Operations => {
  const getAsyncEvent = library.bind("ibv_get_async_event", ["pointer", "buffer"], "int")
  const ackAsyncEvent = library.bind("ibv_ack_async_event", ["buffer"], "void")

  return {
    getAsyncEvent: (context) =>
      Effect.suspend(() => {
        const event = DeviceLayout.AsyncEvent.allocate()
        return Effect.andThen(
          // The context may be somebody else's, who set it otherwise.
          Effect.mapError(Readiness.setNonBlocking(descriptorOf(context)), notPollable),
          Effect.map(
            ReturnConvention.minusOneErrno(
              () => {
                const result = getAsyncEvent(context, event)
                if (result >= 0) ackAsyncEvent(event)
                return result
              },
              (errno) => errorOf("ibv_get_async_event", errno)
            ),
            () => AsyncEvent.fromNative(DeviceLayout.AsyncEvent.read(event))
          )
        )
      }),
    awaitAsyncEvent: (context) =>
      Effect.suspend(() => Effect.mapError(Readiness.readable(descriptorOf(context)), notPollable))
  }
}

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

const notPollable = ({ errno, fd }: Readiness.NotPollable) => errorOf("ibv_get_async_event", errno, { fd })

const descriptorOf = (context: bigint): number =>
  DeviceLayout.Context.get("asyncFd", NativeMemory.view(context, DeviceLayout.Context.size))
