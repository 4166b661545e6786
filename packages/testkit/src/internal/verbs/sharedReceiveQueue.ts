import type * as Pointer from "@effect-rdma/core/Pointer"
import type * as Queue from "@effect-rdma/verbs/operations/Queue"
import * as Effect from "effect/Effect"
import type * as Host from "../host.ts"
import * as QueuePairError from "./queuePairError.ts"
import type { SharedReceiveQueueState } from "./queueState.ts"
import * as QueueState from "./queueState.ts"
import { destroy, ensureOneContext, fail, on, query, reclaim, type VerbsState } from "./state.ts"

type SharedReceiveQueues = Pick<
  Queue.Operations,
  "createSrq" | "createSrqEx" | "destroySrq" | "modifySrq" | "querySrq" | "getSrqNum"
>

/** Shared receive queues of one host. */
export const make = (state: VerbsState): SharedReceiveQueues => {
  const { completionQueues, domains, sharedReceiveQueues, xrcDomains } = state
  let lastNumber = 0x100
  state.onClose.push((context) =>
    reclaim(sharedReceiveQueues, context, ({ device, number }) => {
      device.srqs--
      QueueState.of(device).sharedReceiveQueues.delete(number)
    })
  )
  state.host.onUnplug.push((device) => {
    for (const { receives } of QueueState.of(device).sharedReceiveQueues.values()) QueuePairError.wake(receives)
  })

  const createSharedReceiveQueue = (
    call: string,
    device: Host.DeviceState,
    context: Pointer.Pointer<"ibv_context">,
    { cq, maxSge, maxWr, pd, srqType, tmCap, xrcd }: Queue.ExtendedSharedReceiveQueueInit
  ) => {
    const domain = domains.get(call, pd)
    const xrcDomain = xrcd && xrcDomains.get(call, xrcd)
    const completionQueue = cq && completionQueues.get(call, cq)
    const parts = [domain, xrcDomain, completionQueue].filter((part) => part !== undefined)
    ensureOneContext(call, context, parts)
    const { attributes, provider } = device.description
    const input = { srqType, maxWr, maxSge }
    if (srqType === "xrc" && (xrcd === undefined || cq === undefined)) return fail(call, "EINVAL", input)
    if (srqType === "tm" && (cq === undefined || tmCap === undefined)) return fail(call, "EINVAL", input)
    if (srqType !== "basic" && provider === "rxe") return fail(call, "EOPNOTSUPP", input)
    // The tag of a completion can be read from an extended queue only.
    if (srqType === "tm" && cq !== undefined && completionQueues.get(call, cq).wcFlags === undefined) {
      return fail(call, "EINVAL", input)
    }
    if (maxWr === 0 || maxWr > attributes.maxSrqWr || maxSge > attributes.maxSrqSge) return fail(call, "EINVAL", input)
    if (device.srqs >= attributes.maxSrq) return fail(call, "ENOMEM")
    device.srqs++
    for (const part of parts) part.users++
    const room = { maxWr: ringOf(maxWr), maxSge: Math.max(maxSge, 1) }
    const srq = sharedReceiveQueues.make((pointer) => {
      const queue: SharedReceiveQueueState = {
        kind: "SharedReceiveQueue",
        device,
        context,
        pointer,
        srqType,
        number: ++lastNumber,
        domain,
        xrcDomain,
        completionQueue,
        receives: QueueState.makeReceives(),
        parts,
        ...room,
        srqLimit: 0,
        users: 0
      }
      QueueState.of(device).sharedReceiveQueues.set(queue.number, queue)
      return queue
    })
    // rxe tells the room only when it is asked.
    return Effect.succeed({ srq, ...room, ...(provider === "rxe" ? { maxWr } : {}) })
  }

  return {
    createSrq: (pd, { maxSge, maxWr }) =>
      Effect.suspend(() => {
        const call = "ibv_create_srq"
        const { context, device } = domains.get(call, pd)
        if (!device.plugged) return fail(call, "EIO")
        const plain = { srqType: "basic", xrcd: undefined, cq: undefined, tmCap: undefined } as const
        return createSharedReceiveQueue(call, device, context, { ...plain, pd, maxWr, maxSge })
      }),
    createSrqEx: (context, attributes) =>
      query(
        state,
        "ibv_create_srq_ex",
        context,
        (device) => createSharedReceiveQueue("ibv_create_srq_ex", device, context, attributes)
      ),
    destroySrq: (srq) =>
      Effect.suspend(() => {
        const call = "ibv_destroy_srq"
        const queue = sharedReceiveQueues.get(call, srq)
        return destroy(call, queue, () => {
          sharedReceiveQueues.free(call, srq)
          queue.device.srqs--
          QueueState.of(queue.device).sharedReceiveQueues.delete(queue.number)
          for (const part of queue.parts) part.users--
          QueuePairError.wake(queue.receives)
        })
      }),
    modifySrq: (srq, { maxWr, srqLimit }) =>
      on("ibv_modify_srq", sharedReceiveQueues, srq, (queue) => {
        const call = "ibv_modify_srq"
        const { attributes, provider } = queue.device.description
        if (maxWr !== undefined) {
          if (provider === "mlx5" || maxWr === 0 || maxWr > attributes.maxSrqWr || maxWr < queue.srqLimit) {
            return fail(call, "EINVAL", { maxWr })
          }
        }
        const room = maxWr === undefined ? queue.maxWr : ringOf(maxWr)
        // The limit is compared with the room from before the call.
        if (srqLimit !== undefined && srqLimit > queue.maxWr) return fail(call, "EINVAL", { srqLimit })
        queue.maxWr = room
        queue.srqLimit = srqLimit ?? queue.srqLimit
        return Effect.void
      }),
    querySrq: (srq) =>
      on(
        "ibv_query_srq",
        sharedReceiveQueues,
        srq,
        ({ maxSge, maxWr, srqLimit }) => Effect.succeed({ maxWr, maxSge, srqLimit })
      ),
    getSrqNum: (srq) => on("ibv_get_srq_num", sharedReceiveQueues, srq, numberOf)
  }
}

/** The places of a ring that holds so many: both providers take a power of two and leave one empty. */
export const ringOf = (count: number): number => 2 ** Math.ceil(Math.log2(count + 1)) - 1

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

const numberOf = ({ device, number, srqType }: SharedReceiveQueueState) =>
  srqType === "basic" || device.description.provider === "rxe"
    ? fail("ibv_get_srq_num", "EOPNOTSUPP")
    : Effect.succeed(number)
