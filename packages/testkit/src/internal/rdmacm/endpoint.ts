import * as Errno from "@effect-rdma/core/Errno"
import type { RdmaCm } from "@effect-rdma/rdmacm/RdmaCm"
import type { RdmaCmError } from "@effect-rdma/rdmacm/RdmaCmError"
import * as Effect from "effect/Effect"
import { FabricMisuse } from "../../FabricMisuse.ts"
import * as Binding from "./binding.ts"
import { acked, allocChannel, getEvent } from "./channel.ts"
import { destroy, isolate } from "./identifier.ts"
import { createQueuePair, destroyQueuePair, destroySharedReceiveQueue } from "./queues.ts"
import { type CmState, errorOf, fail, type Id, type IdState, makeId } from "./state.ts"

/** Endpoints of one host: ids with a channel of their own, and the requests to those that listen. */
export const make = (state: CmState) =>
  ({
    createEp: (info, pd, attributes) =>
      Effect.suspend(() => {
        const call = "rdma_create_ep"
        const channel = allocChannel(state)
        state.host.heap.name(channel, undefined)
        const self = makeId(state.channels.get(call, channel), info.portSpace, info.qpType)
        self.channel.ids++
        self.isSync = true
        const id = state.ids.make((pointer) => Object.assign(self, { pointer }))
        const input = { portSpace: info.portSpace, qpType: info.qpType }
        const queuePair = attributes && { ...attributes, qpType: info.qpType }
        const prepared = info.flags.includes("passive")
          ? info.source === undefined
            ? fail(call, "EINVAL", input)
            : Effect.map(Binding.bind(state, call, self, info.source), () => {
              self.on.pd = pd ?? self.on.pd
              self.endpoint = { queuePair }
            })
          : Effect.gen(function*() {
            if (info.destination === undefined) return yield* fail(call, "EINVAL", input)
            yield* started(
              call,
              input,
              Binding.resolveAddress(state, self, info.source, info.destination, timeoutMillis)
            )
            yield* completed(state, self, call, input)
            yield* started(call, input, Binding.resolveRoute(state, self, timeoutMillis))
            yield* completed(state, self, call, input)
            if (queuePair !== undefined) yield* createQueuePair(state, call, self, pd, queuePair)
          })
        return Effect.as(
          Effect.onError(
            Effect.mapError(prepared, ({ reason }) => errorOf(call, reason.errno, input)),
            () => destroyEndpoint(state, call, id)
          ),
          id
        )
      }).pipe(Effect.uninterruptible),
    destroyEp: (id) => Effect.suspend(() => destroyEndpoint(state, "rdma_destroy_ep", id)),

    getRequest: (listener) =>
      Effect.suspend(() => {
        const call = "rdma_get_request"
        const self = listenerOf(state, call, listener)
        if (self.keeps !== undefined) acked(state.events.free(call, self.keeps))
        self.keeps = undefined
        return Effect.flatMap(
          Effect.mapError(getEvent(state, self.channel), ({ reason }) => errorOf(call, reason.errno)),
          ({ event, pointer }) => {
            const failed = (error: RdmaCmError) => {
              self.keeps = pointer
              return Effect.fail(error)
            }
            if (event.event === "rejected") return failed(errorOf(call, Errno.numberOf("ECONNREFUSED")))
            if (event.status !== 0) return failed(errorOf(call, -event.status))
            if (event.event !== "connectRequest") return failed(errorOf(call, Errno.numberOf("EINVAL")))
            const request = state.ids.get(call, event.id)
            isolate(state, request)
            const init = self.endpoint?.queuePair
            return Effect.matchEffect(
              init === undefined ? Effect.void : createQueuePair(state, call, request, self.on.pd, init),
              {
                onFailure: failed,
                onSuccess: () => {
                  request.keeps = pointer
                  return Effect.succeed({ id: event.id, event })
                }
              }
            )
          }
        )
      }),
    awaitRequest: (listener) => Effect.suspend(() => listenerOf(state, "poll", listener).channel.readable.await)
  }) satisfies Partial<RdmaCm["Service"]>

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

/** How long librdmacm gives each resolution of an endpoint. */
const timeoutMillis = 2000

const listenerOf = ({ ids }: CmState, call: string, listener: Id): IdState => {
  const self = ids.get(call, listener)
  if (!self.isSync) throw new FabricMisuse({ call, problem: "would follow no pointer: the id is not an endpoint's" })
  return self
}

const started = (call: string, input: RdmaCmError["input"], refused: Errno.ErrnoName | undefined) =>
  refused === undefined ? Effect.void : fail(call, refused, input)

/** Waits for the event of what was started, as librdmacm does on a channel that blocks. */
const completed = (state: CmState, self: IdState, call: string, input: RdmaCmError["input"]) =>
  Effect.flatMap(
    Effect.andThen(self.channel.readable.await, Effect.suspend(() => getEvent(state, self.channel))),
    ({ event: { status }, pointer }) => {
      acked(state.events.free(call, pointer))
      return status === 0 ? Effect.void : Effect.fail(errorOf(call, -status, input))
    }
  )

const destroyEndpoint = (state: CmState, call: string, id: Id): Effect.Effect<void> =>
  Effect.suspend(() => {
    const self = state.ids.get(call, id)
    const queuePair = self.on.qp === undefined ? Effect.void : destroyQueuePair(state, self)
    return Effect.andThen(
      Effect.andThen(queuePair, destroySharedReceiveQueue(state, self)),
      destroy(state, call, id)
    )
  })
