import type * as Pointer from "@effect-rdma/core/Pointer"
import type * as AsyncEvent from "@effect-rdma/verbs/AsyncEvent"
import type * as Events from "@effect-rdma/verbs/operations/Events"
import * as Effect from "effect/Effect"
import * as Latch from "effect/Latch"
import { FabricMisuse } from "../../FabricMisuse.ts"
import * as Arrivals from "../arrivals.ts"
import type * as Heap from "../heap.ts"
import { type AsyncEventsState, fail, type VerbsState } from "./state.ts"

/** Asynchronous events of one host. */
export const make = (state: VerbsState): Events.Operations => {
  const { asyncEvents, host } = state
  state.onClose.push((context) => {
    asyncEvents.delete(context)
  })
  host.onUnplug.push((device) => {
    for (const [context, { device: opened }] of host.contexts.values()) {
      if (opened === device) raise(state, context, { _tag: "Device", event: "deviceFatal" })
    }
  })
  host.onAsyncEvent.push((device, event) => {
    if ("pointer" in event) return raise(state, contextOf(host.heap, event.pointer), event)
    for (const [context, { device: opened }] of host.contexts.values()) {
      if (opened === device) raise(state, context, event)
    }
  })

  return {
    getAsyncEvent: (context) =>
      Effect.suspend(() => {
        const call = "ibv_get_async_event"
        const { device } = host.contexts.get(call, context)
        const { pending, readable } = queueOf(state, context)
        // The kernel drops the events of an object with it.
        const live = pending.filter((event) => !("pointer" in event) || find(host.heap, event.pointer) !== undefined)
        const event = live.shift()
        pending.splice(0, Infinity, ...live)
        if (pending.length === 0 && device.plugged) readable.closeUnsafe()
        if (event !== undefined) return Effect.succeed(event)
        return fail(call, device.plugged ? "EAGAIN" : "EIO")
      }),
    awaitAsyncEvent: (context) =>
      Effect.suspend(() => {
        host.contexts.get("poll", context)
        return queueOf(state, context).readable.await
      })
  }
}

/** Raises an event on a context, or does as tests want it. */
export const raise = (
  state: VerbsState,
  context: Pointer.Pointer<"ibv_context">,
  event: AsyncEvent.AsyncEvent
): void => {
  const { fabric, host } = state
  const queue = queueOf(state, context)
  const put = () => {
    queue.pending.push(event)
    queue.readable.openUnsafe()
  }
  if (fabric.onArrival.size === 0 && queue.held.length === 0) return put()
  const device = host.contexts.find(context)?.device.name
  Arrivals.arrive(fabric, queue.held, { arrival: "asyncEvent", host: host.name, device, event }, {
    put,
    putAgain: put,
    drop: () => {}
  })
}

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

const queueOf = ({ asyncEvents }: VerbsState, context: Pointer.Pointer<"ibv_context">): AsyncEventsState => {
  let queue = asyncEvents.get(context)
  if (queue === undefined) asyncEvents.set(context, queue = makeQueue())
  return queue
}

const makeQueue = (): AsyncEventsState => ({ pending: [], held: [], readable: Latch.makeUnsafe(false) })

const find = (heap: Heap.Heap, pointer: bigint): Heap.Native | undefined =>
  heap.objects().find(([other]) => other === pointer)?.[1]

const contextOf = (heap: Heap.Heap, pointer: bigint): Pointer.Pointer<"ibv_context"> => {
  const context = find(heap, pointer)?.context
  if (context === undefined) {
    throw new FabricMisuse({ call: "Fabric.raise", problem: `nothing on a context is at 0x${pointer.toString(16)}` })
  }
  return context
}
