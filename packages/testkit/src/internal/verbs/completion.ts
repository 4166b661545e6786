import type * as Errno from "@effect-rdma/core/Errno"
import type * as Pointer from "@effect-rdma/core/Pointer"
import type * as CompletionQueueAttributes from "@effect-rdma/verbs/CompletionQueueAttributes"
import type * as ExtendedCompletion from "@effect-rdma/verbs/ExtendedCompletion"
import type * as Completion from "@effect-rdma/verbs/operations/Completion"
import * as Effect from "effect/Effect"
import * as Latch from "effect/Latch"
import { FabricMisuse } from "../../FabricMisuse.ts"
import { Deque } from "../deque.ts"
import type * as Host from "../host.ts"
import * as Store from "./completionStore.ts"
import {
  type CompletionChannelState,
  type CompletionQueueState,
  type DomainState,
  fail,
  query,
  reclaim,
  type VerbsState
} from "./state.ts"

/** Completion channels and queues of one host. */
export const make = (state: VerbsState): Completion.Operations => {
  const { completionQueues: queues, domains, host } = state
  const channels = host.heap.store<"ibv_comp_channel", CompletionChannelState>("ibv_comp_channel")
  state.onClose.push((context) => {
    reclaim(queues, context, ({ device }) => {
      device.cqs--
    })
    reclaim(channels, context)
  })
  host.onUnplug.push((device) => {
    for (const [, channel] of channels.values()) {
      if (channel.device !== device) continue
      // The kernel's queues are gone, and their events with them.
      channel.pending.length = 0
      channel.readable.openUnsafe()
    }
  })
  host.onCompletion.push((cq, completion) => Store.completeFromTest(state, cq, completion))

  const create = (
    call: string,
    context: Pointer.Pointer<"ibv_context">,
    { channel, compVector, cqContext, cqe }: Completion.QueueAttributes,
    extended: Pick<CompletionQueueState, "wcFlags" | "domain">,
    refused: Errno.ErrnoName | undefined
  ) =>
    query(state, call, context, (device) => {
      const on = channel === undefined ? undefined : channels.get(call, channel)
      if ([on, extended.domain].some((part) => part !== undefined && part.context !== context)) {
        throw new FabricMisuse({ call, problem: "the parts are of different contexts" })
      }
      const { maxCq, maxCqe } = device.description.attributes
      if (refused !== undefined) return fail(call, refused)
      if (cqe < 1 || cqe > maxCqe || compVector < 0 || compVector >= compVectors) {
        return fail(call, "EINVAL", { cqe, compVector })
      }
      if (device.cqs >= maxCq) return fail(call, "ENOMEM")
      device.cqs++
      if (on !== undefined) on.queues++
      if (extended.domain !== undefined) extended.domain.users++
      const room = roomFor(cqe)
      const cq = queues.make((pointer) => ({
        kind: "CompletionQueue",
        pointer,
        device,
        context,
        channel: on,
        cqContext,
        ...extended,
        completions: new Deque(),
        held: [],
        late: new Set(),
        cqe: room,
        armed: undefined,
        isOverrun: false,
        users: 0
      }))
      return Effect.succeed({ cq, cqe: room })
    })

  return {
    numCompVectors: (context) =>
      Effect.sync(() => {
        host.contexts.get("ibv_context.num_comp_vectors", context)
        return compVectors
      }),

    createCompChannel: (context) =>
      query(state, "ibv_create_comp_channel", context, (device) =>
        Effect.sync(() =>
          channels.alloc({
            kind: "CompletionChannel",
            device,
            context,
            queues: 0,
            pending: [],
            readable: Latch.makeUnsafe(false)
          })
        )),
    destroyCompChannel: (channel) =>
      Effect.suspend(() => {
        const call = "ibv_destroy_comp_channel"
        // Counted and closed in user space: the kernel is not asked.
        if (channels.get(call, channel).queues > 0) return fail(call, "EBUSY")
        channels.free(call, channel)
        return Effect.void
      }),

    createCq: (context, attributes) =>
      create("ibv_create_cq", context, attributes, { wcFlags: undefined, domain: undefined }, undefined),
    createCqEx: (context, attributes) =>
      Effect.suspend(() => {
        const call = "ibv_create_cq_ex"
        const { parentDomain, wcFlags } = attributes
        const domain = parentDomain === undefined ? undefined : domains.get(call, parentDomain)
        const { device } = host.contexts.get(call, context)
        return create(
          call,
          context,
          attributes,
          { wcFlags: new Set(wcFlags), domain },
          refuseExtended(device, attributes, domain)
        )
      }),
    destroyCq: (cq) =>
      Effect.suspend(() => {
        const call = "ibv_destroy_cq"
        const { channel, device, domain, users } = queues.get(call, cq)
        if (!device.plugged) {
          // The library keeps the queue for ever; the seam takes back its reference to the channel.
          if (channel !== undefined) channel.queues--
          return fail(call, "EIO")
        }
        if (users > 0) return fail(call, "EBUSY")
        queues.free(call, cq)
        device.cqs--
        if (domain !== undefined) domain.users--
        if (channel !== undefined) {
          channel.queues--
          channel.pending.splice(0, Infinity, ...channel.pending.filter((other) => other !== cq))
          if (channel.pending.length === 0) channel.readable.closeUnsafe()
        }
        return Effect.void
      }),
    resizeCq: (cq, cqe) =>
      Effect.suspend(() => {
        const call = "ibv_resize_cq"
        const queue = queues.get(call, cq)
        const { completions, device } = queue
        if (!device.plugged) return fail(call, "EIO")
        if (cqe < 1 || cqe > device.description.attributes.maxCqe || cqe < completions.length) {
          return fail(call, "EINVAL", { cqe })
        }
        queue.cqe = roomFor(cqe)
        return Effect.succeed(queue.cqe)
      }),
    modifyCq: (cq, moderation) =>
      Effect.suspend(() => {
        const call = "ibv_modify_cq"
        const { device } = queues.get(call, cq)
        if (device.description.provider !== "mlx5") return fail(call, "EOPNOTSUPP", moderation)
        if (!device.plugged) return fail(call, "EIO")
        return moderation.cqPeriod > maxPeriod ? fail(call, "EINVAL", moderation) : Effect.void
      }),
    reqNotifyCq: (cq, solicitedOnly) =>
      Effect.suspend(() => {
        const call = "ibv_req_notify_cq"
        const queue = queues.get(call, cq)
        // mlx5 rings a doorbell, and never learns that nobody hears it.
        if (!queue.device.plugged) {
          return queue.device.description.provider === "mlx5" ? Effect.void : fail(call, "EIO", { solicitedOnly })
        }
        if (queue.armed !== "any") queue.armed = solicitedOnly ? "solicited" : "any"
        return Effect.void
      }),

    getCqEvent: (channel) =>
      Effect.suspend(() => {
        const call = "ibv_get_cq_event"
        const { device, pending, readable } = channels.get(call, channel)
        const cq = pending.shift()
        if (pending.length === 0 && device.plugged) readable.closeUnsafe()
        if (cq === undefined) return device.plugged ? noEvent : fail(call, "EIO")
        return Effect.succeed({ cq, cqContext: queues.get(call, cq).cqContext })
      }),
    awaitCqEvent: (channel) => Effect.suspend(() => channels.get("poll", channel).readable.await),

    startPoll: (cq, _wcFlags, each) =>
      Effect.sync(() => {
        const call = "ibv_start_poll"
        const queue = queues.get(call, cq)
        const { wcFlags } = queue
        if (wcFlags === undefined) throw new FabricMisuse({ call, problem: "the queue is not an extended one" })
        let count = 0
        for (let next = Store.take(queue); next !== undefined; next = Store.take(queue)) {
          count++
          if (!each(reported(next, wcFlags))) break
        }
        return count
      })
  }
}

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

/** The interrupts of a device of the fabric. */
const compVectors = 2

/** Both providers keep a ring of a power of two; one place of it stays empty. */
const roomFor = (cqe: number): number => 2 ** Math.ceil(Math.log2(cqe + 1)) - 1

/** The longest period that mlx5 counts, in µs. */
const maxPeriod = 0xfff

// One for all: who drains a channel ends with it each time, and never looks at its stack.
const noEvent = fail("ibv_get_cq_event", "EAGAIN")

const ofRxe: ReadonlySet<CompletionQueueAttributes.WcFlag> = new Set<CompletionQueueAttributes.WcFlag>([
  "byteLen",
  "imm",
  "qpNum",
  "srcQp",
  "slid",
  "sl",
  "dlidPathBits"
])

const refuseExtended = (
  { description }: Host.DeviceState,
  { ignoreOverrun, wcFlags }: Completion.ExtendedQueueAttributes,
  domain: DomainState | undefined
): Errno.ErrnoName | undefined => {
  if (description.provider === "mlx5") return domain?.kind === "ProtectionDomain" ? "EINVAL" : undefined
  return ignoreOverrun || !wcFlags.every((flag) => ofRxe.has(flag)) ? "EOPNOTSUPP" : undefined
}

/** What the flags of the queue let through. */
const reported = (
  completion: Store.Completed,
  wcFlags: ReadonlySet<CompletionQueueAttributes.WcFlag>
): ExtendedCompletion.ExtendedCompletion => {
  const { immData, invalidatedRkey, made, status, vendorErr, wrId } = completion
  const qpNum = wcFlags.has("qpNum") ? { qpNum: completion.qpNum } : {}
  if (status !== "success") return { wrId, status, vendorErr, ...qpNum }
  return {
    wrId,
    status,
    vendorErr,
    ...qpNum,
    opcode: completion.opcode,
    wcFlags: completion.wcFlags,
    ...(wcFlags.has("byteLen") ? { byteLen: completion.byteLen } : {}),
    ...(wcFlags.has("imm") && immData !== undefined ? { immData } : {}),
    ...(wcFlags.has("imm") && invalidatedRkey !== undefined ? { invalidatedRkey } : {}),
    ...(wcFlags.has("srcQp") ? { srcQp: completion.srcQp } : {}),
    ...(wcFlags.has("slid") ? { slid: completion.slid } : {}),
    ...(wcFlags.has("sl") ? { sl: completion.sl } : {}),
    ...(wcFlags.has("dlidPathBits") ? { dlidPathBits: completion.dlidPathBits } : {}),
    ...(wcFlags.has("completionTimestamp") ? { completionTs: made?.completionTs ?? 0n } : {}),
    ...(wcFlags.has("cvlan") ? { cvlan: made?.cvlan ?? 0 } : {}),
    ...(wcFlags.has("flowTag") ? { flowTag: made?.flowTag ?? 0 } : {}),
    ...(wcFlags.has("tmInfo") ? { tmInfo: made?.tmInfo ?? { tag: 0n, priv: 0 } } : {}),
    ...(wcFlags.has("completionTimestampWallclock") ? { completionWallclockNs: made?.completionWallclockNs ?? 0n } : {})
  }
}
