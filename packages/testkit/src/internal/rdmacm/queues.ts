import type * as Errno from "@effect-rdma/core/Errno"
import type * as Pointer from "@effect-rdma/core/Pointer"
import type { RdmaCm } from "@effect-rdma/rdmacm/RdmaCm"
import type { RdmaCmError } from "@effect-rdma/rdmacm/RdmaCmError"
import type * as Queue from "@effect-rdma/verbs/operations/Queue"
import type { Operations } from "@effect-rdma/verbs/Verbs"
import type { VerbsError } from "@effect-rdma/verbs/VerbsError"
import * as Effect from "effect/Effect"
import { FabricMisuse } from "../../FabricMisuse.ts"
import * as Ece from "./ece.ts"
import { deviceOf, errorIn } from "./onId.ts"
import * as QueuePair from "./queuePair.ts"
import { type CmState, fail, type IdState, type OnId } from "./state.ts"

/** Queues that librdmacm makes on ids of one host, on its verbs. */
export const make = (state: CmState) =>
  ({
    createQp: (id, pd, attributes) =>
      Effect.suspend(() =>
        createQueuePair(state, "rdma_create_qp", state.ids.get("rdma_create_qp", id), pd, attributes)
      ),
    destroyQp: (id) =>
      Effect.suspend(() => {
        const call = "rdma_destroy_qp"
        const self = state.ids.get(call, id)
        if (self.on.qp === undefined) throw new FabricMisuse({ call, problem: "the id has no queue pair" })
        return destroyQueuePair(state, self)
      }),
    createSrq: (id, pd, attributes) =>
      Effect.suspend(() => {
        const call = "rdma_create_srq"
        const self = state.ids.get(call, id)
        deviceOf(call, self)
        const domain = pd ?? self.on.pd
        if (domain === undefined) return fail(call, "EINVAL", attributes)
        return Effect.map(
          Effect.tapError(
            Effect.mapError(state.verbs.createSrq(domain, attributes), errorIn(call, attributes)),
            () => destroyCompletionQueues(state.verbs, self.on)
          ),
          (made) => {
            state.host.heap.name(made.srq, "CmSharedReceiveQueue")
            self.on.pd ??= domain
            // One that was there before is lost.
            self.on.srq = made.srq
            return made
          }
        )
      }),
    destroySrq: (id) =>
      Effect.suspend(() => {
        const call = "rdma_destroy_srq"
        const self = state.ids.get(call, id)
        if (self.on.srq === undefined) throw new FabricMisuse({ call, problem: "the id has no shared receive queue" })
        return destroySharedReceiveQueue(state, self)
      })
  }) satisfies Partial<RdmaCm["Service"]>

/** `rdma_create_qp`, which is what endpoints make their queue pairs with. */
export const createQueuePair = (
  state: CmState,
  call: string,
  self: IdState,
  pd: Pointer.Pointer<"ibv_pd"> | undefined,
  init: Queue.QueuePairInit
): Effect.Effect<Queue.MadeQueuePair, RdmaCmError> =>
  Effect.suspend(() => {
    const { host, verbs } = state
    const { on } = self
    const input = { qpType: init.qpType }
    const context = state.contextOf(deviceOf(call, self))
    const domain = pd ?? on.pd
    if (on.qp !== undefined || domain === undefined) return fail(call, "EINVAL", input)
    if (isOther(on.sendCq, init.sendCq) || isOther(on.recvCq, init.recvCq)) return fail(call, "EINVAL", input)

    const completionQueue = (cqe: number) =>
      Effect.gen(function*() {
        const channel = yield* verbs.createCompChannel(context)
        host.heap.name(channel, undefined)
        on.channels.push(channel)
        const { cq } = yield* verbs.createCq(context, { cqe, channel, cqContext: 0, compVector: 0 })
        host.heap.name(cq, undefined)
        return cq
      })
    const create = Effect.gen(function*() {
      if ((init.recvCq ?? on.recvCq) === undefined && init.cap.maxRecvWr > 0) {
        on.recvCq = yield* completionQueue(init.cap.maxRecvWr)
      }
      if ((init.sendCq ?? on.sendCq) === undefined && init.cap.maxSendWr > 0) {
        on.sendCq = yield* completionQueue(init.cap.maxSendWr)
      }
      const srq = init.srq ?? on.srq
      const made = yield* verbs.createQp(domain, {
        ...init,
        sendCq: init.sendCq ?? on.sendCq,
        recvCq: init.recvCq ?? on.recvCq,
        srq
      })
      on.qp = made.qp
      on.made = { qpNum: made.qpNum, srq: srq !== undefined }
      host.heap.name(made.qp, "CmQueuePair")
      yield* Ece.propose(state, self)
      yield* QueuePair.move(state, self, self.qpType === "ud" ? ["init", "rtr", "rts"] : ["init"])
      on.pd = domain
      return made
    })
    return Effect.tapError(
      Effect.mapError(create, (error: VerbsError | Errno.ErrnoName) => errorIn(call, input)(error)),
      () => destroyQueuePair(state, self)
    )
  })

/** `rdma_destroy_qp`, which does not look at what comes of it. */
export const destroyQueuePair = ({ verbs }: CmState, { on }: IdState): Effect.Effect<void> =>
  Effect.suspend(() => {
    const { qp } = on
    on.qp = undefined
    on.made = undefined
    return Effect.andThen(
      qp === undefined ? Effect.void : Effect.ignore(verbs.destroyQp(qp)),
      destroyCompletionQueues(verbs, on)
    )
  })

/** `rdma_destroy_srq`, which takes the completion queues that came with a queue pair along, or tries to. */
export const destroySharedReceiveQueue = ({ verbs }: CmState, { on }: IdState): Effect.Effect<void> =>
  Effect.suspend(() => {
    const { srq } = on
    if (srq === undefined) return Effect.void
    on.srq = undefined
    return Effect.andThen(Effect.ignore(verbs.destroySrq(srq)), destroyCompletionQueues(verbs, on))
  })

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

const destroyCompletionQueues = (verbs: Operations, on: OnId): Effect.Effect<void> =>
  Effect.suspend(() => {
    const { channels, recvCq, sendCq } = on
    on.recvCq = undefined
    on.sendCq = undefined
    const queues = [recvCq, sendCq].filter((queue) => queue !== undefined)
    const releases = [...queues.map(verbs.destroyCq), ...channels.splice(0).map(verbs.destroyCompChannel)]
    return Effect.forEach(releases, (release) => Effect.ignore(release), { discard: true })
  })

const isOther = (own: bigint | undefined, given: bigint | undefined): boolean =>
  own !== undefined && given !== undefined && own !== given
