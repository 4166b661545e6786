/**
 * What the conformance suites of librdmacm have in common: ids, listeners and connections on the lane's device.
 *
 * @since 0.1.0
 */
import * as CmId from "@effect-rdma/rdmacm/CmId"
import type * as ConnectionParameters from "@effect-rdma/rdmacm/ConnectionParameters"
import * as EventChannel from "@effect-rdma/rdmacm/EventChannel"
import type * as PortSpace from "@effect-rdma/rdmacm/PortSpace"
import type * as RdmaCm from "@effect-rdma/rdmacm/RdmaCm"
import * as CompletionQueue from "@effect-rdma/verbs/CompletionQueue"
import * as ProtectionDomain from "@effect-rdma/verbs/ProtectionDomain"
import * as QueuePair from "@effect-rdma/verbs/QueuePair"
import type * as Verbs from "@effect-rdma/verbs/Verbs"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Lane from "../conformance/Lane.ts"
import type * as RdmaCmLane from "../conformance/RdmaCmLane.ts"

/** A queue pair for an id, on the device that the id is bound to. */
export const queuePairFor = <Type extends "rc" | "ud" = "rc">(id: CmId.CmId, qpType: Type | "rc" = "rc") =>
  Effect.gen(function*() {
    const context = yield* CmId.context(id)
    const domain = yield* ProtectionDomain.alloc(context)
    const queue = yield* CompletionQueue.make(context, { cqe: 16 })
    const queuePair = yield* QueuePair.make(domain, { qpType, sendCq: queue, recvCq: queue })
    return { domain, queue, queuePair }
  })

/** Takes the next request, moves a queue pair to RTS and accepts. */
export const serve = Effect.fnUntraced(function*(
  listener: CmId.CmId,
  parameters: ConnectionParameters.Input = {}
) {
  const request = yield* CmId.nextRequest(listener)
  const { id } = request
  const queues = yield* queuePairFor(id)
  for (const state of ["init", "rtr", "rts"] as const) yield* CmId.moveQueuePair(id, queues.queuePair, state)
  yield* CmId.accept(id, { ...parameters, qpNum: queues.queuePair.qpNum })
  return { ...queues, ...request }
})

/** Connects a resolved id with a queue pair. */
export const dial = Effect.fnUntraced(function*(id: CmId.CmId, parameters: ConnectionParameters.Input = {}) {
  const queues = yield* queuePairFor(id)
  yield* CmId.moveQueuePair(id, queues.queuePair, "init")
  const answer = yield* CmId.connect(id, { ...parameters, qpNum: queues.queuePair.qpNum })
  for (const state of ["init", "rtr", "rts"] as const) yield* CmId.moveQueuePair(id, queues.queuePair, state)
  yield* CmId.establish(id)
  return { ...queues, id, answer }
})

/** The port that an id is bound to here. */
export const portOf = (id: CmId.CmId) =>
  Effect.map(CmId.state(id), ({ localAddress }) => {
    if (localAddress === undefined || localAddress._tag === "IbAddress") return assert.fail("the id has no port")
    return localAddress.port
  })

/** The first objects on the lane's device. */
export const rdmaCmSuite = <Others>(lane: RdmaCmLane.RdmaCmLane<Others>) => {
  const at = (port: number) => `${lane.ownAddress}:${port}`

  /** An id that listens on a free port, and where. */
  const listening = Effect.fnUntraced(function*(
    channel: EventChannel.EventChannel,
    portSpace: PortSpace.PortSpace = "tcp"
  ) {
    const listener = yield* CmId.make(channel, portSpace)
    yield* CmId.bind(listener, at(0))
    yield* CmId.listen(listener)
    return { listener, address: at(yield* portOf(listener)) }
  })

  /** An id with a route to an address. */
  const routed = Effect.fnUntraced(function*(
    channel: EventChannel.EventChannel,
    destination: string,
    portSpace: PortSpace.PortSpace = "tcp"
  ) {
    const id = yield* CmId.make(channel, portSpace)
    yield* CmId.resolveAddress(id, { destination })
    yield* CmId.resolveRoute(id)
    return id
  })

  /** A listener and a connection to it, each side on a channel of its own. */
  const connected = Effect.gen(function*() {
    const { address, listener } = yield* listening(yield* EventChannel.make())
    const id = yield* routed(yield* EventChannel.make(), address)
    const [server, client] = yield* Effect.all([serve(listener), dial(id)], { concurrency: "unbounded" })
    return { listener, server, client }
  })

  return {
    it: Lane.test<RdmaCm.RdmaCm | Verbs.Verbs | Others>(lane),
    at,
    idOnOwnChannel: Effect.flatMap(EventChannel.make(), (channel) => CmId.make(channel, "tcp")),
    listening,
    routed,
    connected
  }
}
