import type * as Completion from "@effect-rdma/verbs/operations/Completion"
import * as Effect from "effect/Effect"
import { FabricMisuse } from "../../FabricMisuse.ts"
import type * as Host from "../host.ts"
import { type CompletionChannelState, fail, query, reclaim, type VerbsState } from "./state.ts"

/** Completion channels and queues of one host. */
export const make = (state: VerbsState): Completion.Operations => {
  const { completionQueues: queues, host: { heap } } = state
  const channels = heap.store<"ibv_comp_channel", CompletionChannelState>("ibv_comp_channel")
  state.onClose.push((context) => {
    reclaim(queues, context, ({ device }) => {
      device.cqs--
    })
    reclaim(channels, context)
  })

  return {
    createCompChannel: (context) =>
      query(
        state,
        "ibv_create_comp_channel",
        context,
        (device) => Effect.sync(() => channels.alloc({ kind: "CompletionChannel", device, context, queues: 0 }))
      ),
    destroyCompChannel: (channel) =>
      Effect.suspend(() => {
        const call = "ibv_destroy_comp_channel"
        // Counted and closed in user space: the kernel is not asked.
        if (channels.get(call, channel).queues > 0) return fail(call, "EBUSY")
        channels.free(call, channel)
        return Effect.void
      }),
    createCq: (context, { channel, compVector, cqContext, cqe }) =>
      query(state, "ibv_create_cq", context, (device) => {
        const call = "ibv_create_cq"
        const on = channel === undefined ? undefined : channels.get(call, channel)
        if (on !== undefined && on.context !== context) {
          throw new FabricMisuse({ call, problem: "the channel is of another context" })
        }
        const { maxCq, maxCqe } = device.description.attributes
        if (cqe < 1 || cqe > maxCqe || compVector < 0 || compVector >= compVectors) {
          return fail(call, "EINVAL", { cqe, compVector })
        }
        if (device.cqs >= maxCq) return fail(call, "ENOMEM")
        device.cqs++
        if (on !== undefined) on.queues++
        const room = roomFor(device, cqe)
        return Effect.succeed({
          cq: queues.alloc({
            kind: "CompletionQueue",
            device,
            context,
            channel: on,
            cqContext,
            cqe: room,
            users: 0
          }),
          cqe: room
        })
      }),
    destroyCq: (cq) =>
      Effect.suspend(() => {
        const call = "ibv_destroy_cq"
        const queue = queues.get(call, cq)
        if (!queue.device.plugged) return fail(call, "EIO")
        if (queue.users > 0) return fail(call, "EBUSY")
        queues.free(call, cq)
        queue.device.cqs--
        if (queue.channel !== undefined) queue.channel.queues--
        return Effect.void
      })
  }
}

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

/** The interrupts of a device of the fabric. */
const compVectors = 2

/** Both providers keep a ring of a power of two; one place of it stays empty. */
const roomFor = (_device: Host.DeviceState, cqe: number): number => 2 ** Math.ceil(Math.log2(cqe + 1)) - 1
