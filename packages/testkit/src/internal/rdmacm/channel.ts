import * as Errno from "@effect-rdma/core/Errno"
import * as NativeReason from "@effect-rdma/core/NativeReason"
import type * as Pointer from "@effect-rdma/core/Pointer"
import type { ContextArray, RdmaCm } from "@effect-rdma/rdmacm/RdmaCm"
import { RdmaCmError } from "@effect-rdma/rdmacm/RdmaCmError"
import * as Effect from "effect/Effect"
import * as Latch from "effect/Latch"
import { FabricMisuse } from "../../FabricMisuse.ts"
import type * as Heap from "../heap.ts"
import { type ChannelState, type CmState, type EventState, fail } from "./state.ts"

/** The devices and event channels of librdmacm on one host. */
export const make = (state: CmState) => {
  const { channels, contextOf, events, host } = state
  const lists = host.heap.store<"ibv_context *", Heap.Native>("ibv_context *")

  return {
    getDevices: Effect.suspend((): Effect.Effect<ContextArray, RdmaCmError> => {
      if (!host.rdma) return Effect.fail(unavailable("rdma_get_devices"))
      if (host.devices.length === 0) return Effect.succeed({ list: undefined, contexts: [] })
      return Effect.succeed({ list: lists.alloc({ kind: "RdmaDevices" }), contexts: host.devices.map(contextOf) })
    }),
    freeDevices: (list) => Effect.sync(() => void lists.free("rdma_free_devices", list)),

    // It first loads the list of devices, and gives up when that is empty.
    createEventChannel: Effect.suspend(() => {
      const call = "rdma_create_event_channel"
      if (!host.rdma) return Effect.fail(unavailable(call))
      return host.devices.length === 0 ? fail(call, "ENODEV") : Effect.sync(() => allocChannel(state))
    }),
    destroyEventChannel: (channel) =>
      Effect.sync(() => {
        const call = "rdma_destroy_event_channel"
        const { ids } = channels.get(call, channel)
        if (ids > 0) throw new FabricMisuse({ call, problem: `${ids} id(s) are still on the channel` })
        channels.free(call, channel)
      }),
    getCmEvent: (channel) => Effect.suspend(() => getEvent(state, channels.get("rdma_get_cm_event", channel))),
    ackCmEvent: (event) => Effect.sync(() => acked(events.free("rdma_ack_cm_event", event))),
    awaitCmEvent: (channel) => Effect.suspend(() => channels.get("poll", channel).readable.await)
  } satisfies Partial<RdmaCm["Service"]>
}

export const allocChannel = ({ channels, fabric, host }: CmState): Pointer.Pointer<"rdma_event_channel"> =>
  channels.make((pointer) => ({
    kind: "EventChannel",
    pointer,
    fabric,
    host,
    pending: [],
    held: [],
    readable: Latch.makeUnsafe(false),
    ids: 0
  }))

/** The next event of a channel, and what librdmacm does about it. */
export const getEvent = (
  state: CmState,
  channel: ChannelState
): ReturnType<RdmaCm["Service"]["getCmEvent"]> =>
  Effect.suspend(() => {
    const pending = channel.pending.shift()
    if (pending === undefined) return noEvent
    if (channel.pending.length === 0) channel.readable.closeUnsafe()
    return Effect.flatMap(pending.got, (event) => {
      if (event === undefined) return getEvent(state, channel)
      // A request is acked for the id that listens.
      const { membership, of: id } = pending
      id.unacked++
      if (membership !== undefined) membership.unacked++
      return Effect.succeed({ pointer: state.events.alloc({ kind: "CmEvent", id, membership }), event })
    })
  })

export const acked = ({ id, membership }: EventState): void => {
  id.unacked--
  if (membership !== undefined) membership.unacked--
}

export const unavailable = (call: string) =>
  new RdmaCmError({
    call,
    reason: new NativeReason.RdmaUnavailable({ errno: Errno.numberOf("ENODEV") }),
    input: {},
    hint: "The topology gives this host no RDMA"
  })

// One for all: who drains a channel ends with it each time, and never looks at its stack.
const noEvent = fail("rdma_get_cm_event", "EAGAIN")
