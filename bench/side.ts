/**
 * One side of a connection that is measured: a queue pair, the queue of its completions and memory.
 */
import { CompletionQueue, DeviceContext, MemoryRegion, ProtectionDomain, QueuePair } from "@effect-rdma/verbs"
import { Effect } from "effect"

export const make = Effect.fnUntraced(function*(device: string) {
  const context = yield* DeviceContext.openByName(device)
  const domain = yield* ProtectionDomain.alloc(context)
  const queue = yield* CompletionQueue.make(context, { cqe: 256 })
  const queuePair = yield* QueuePair.make(domain, {
    qpType: "rc",
    sendCq: queue,
    recvCq: queue,
    cap: { maxSendWr: 128, maxRecvWr: 128, maxSendSge: 4 }
  })
  const region = yield* MemoryRegion.alloc(domain, { length: 4096, access: ["localWrite"] })
  const local = yield* QueuePair.endpoint(queuePair)
  return { context, queue, queuePair, region, local }
})
