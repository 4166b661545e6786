/**
 * What the tests of posts and polls on the echo provider are made of.
 */
import * as Resource from "@effect-rdma/core/Resource"
import * as CompletionQueue from "@effect-rdma/verbs/CompletionQueue"
import * as DeviceContext from "@effect-rdma/verbs/DeviceContext"
import * as MemoryRegion from "@effect-rdma/verbs/MemoryRegion"
import * as ProtectionDomain from "@effect-rdma/verbs/ProtectionDomain"
import * as QueuePair from "@effect-rdma/verbs/QueuePair"
import type * as QueuePairType from "@effect-rdma/verbs/QueuePairType"
import * as Effect from "effect/Effect"
import type * as Echo from "./Echo.ts"

export const address = (handle: Resource.Resource<string, bigint>): string => String(Resource.raw(handle))

export const names = (calls: ReadonlyArray<Echo.Report>): ReadonlyArray<string> => calls.map(({ op }) => op)

/** The reports of requests among those of calls. */
export const requestsOf = (calls: ReadonlyArray<Echo.Report>): ReadonlyArray<Echo.Report> =>
  calls.filter(({ op }) => op === "send_wr" || op === "recv_wr")

/** A device of the provider with a domain, a region of 100 bytes and a completion queue. */
export const open = Effect.fnUntraced(function*(device: string = "echo0") {
  const context = yield* DeviceContext.openByName(device)
  const domain = yield* ProtectionDomain.alloc(context)
  const queue = yield* CompletionQueue.make(context, { cqe: 8 })
  // Windows are for the first device only, and need this of their region.
  const region = yield* MemoryRegion.alloc(domain, { length: 100, access: ["localWrite", "mwBind"] })
  return { context, domain, queue, region }
})

/** The room that is asked for: the provider gives a little more. */
export const cap = { maxSendWr: 16, maxRecvWr: 16, maxSendSge: 2, maxRecvSge: 2, maxInlineData: 59 }

/** A queue pair that may post everything. */
export const ready = Effect.fnUntraced(function*<Type extends QueuePairType.QueuePairType>(
  { domain, queue }: Effect.Success<ReturnType<typeof open>>,
  qpType: Type,
  room: Partial<typeof cap> = {}
) {
  const self = yield* QueuePair.make(domain, { qpType, sendCq: queue, recvCq: queue, cap: { ...cap, ...room } })
  yield* QueuePair.modify(self, { qpState: "rts" })
  return self
})
