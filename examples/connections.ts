/**
 * What the programs of the connection manager share: how an id comes to its address, its queue pair and its connection, and how
 * long a peer may be silent.
 */
import { AddressInfo, CmId, type ConnectionParameters, EventChannel, type PortSpace } from "@effect-rdma/rdmacm"
import { CompletionChannel, CompletionQueue, ProtectionDomain, QueuePair, WorkCompletion } from "@effect-rdma/verbs"
import { Duration, Effect, Schema } from "effect"
import { ProgramError } from "./program.ts"

// -----------------------------------------------------------------------------
// Addresses
// -----------------------------------------------------------------------------

/** A name or an address of a host, and a port. */
export interface Place {
  readonly host: string | undefined
  readonly port: number
  readonly portSpace: PortSpace.PortSpace
}

/** Where a place is: to bind to it when it is `passive`. */
export const find = ({ host, port, portSpace }: Place, flags: ReadonlyArray<"passive"> = []) =>
  Effect.flatMap(
    AddressInfo.get({ ...(host === undefined ? {} : { node: host }), service: `${port}`, portSpace, flags }),
    ([found]) => {
      const address = found?.source ?? found?.destination
      return address === undefined
        ? Effect.fail(new ProgramError({ problem: `no address of ${host}` }))
        : Effect.succeed(address)
    }
  )

/** An id that listens at a place, where no host means each address of this one. */
export const listen = Effect.fnUntraced(function*(at: Place) {
  const listener = yield* CmId.make(yield* EventChannel.make(), at.portSpace)
  yield* CmId.bind(listener, yield* find(at, ["passive"]))
  yield* CmId.listen(listener)
  return listener
})

/** An id on the device that leads to a place. */
export const resolve = Effect.fnUntraced(function*(to: Place, from: string | undefined) {
  const id = yield* CmId.make(yield* EventChannel.make(), to.portSpace)
  yield* CmId.resolveAddress(id, {
    destination: yield* find(to),
    ...(from === undefined ? {} : { source: yield* find({ ...to, host: from, port: 0 }, ["passive"]) })
  })
  return id
})

// -----------------------------------------------------------------------------
// Queue pairs
// -----------------------------------------------------------------------------

/** A queue pair for an id, in INIT, with room for some messages each way. */
export const open = Effect.fnUntraced(function*<Type extends "rc" | "ud">(id: CmId.CmId, qpType: Type, depth: number) {
  const context = yield* CmId.context(id)
  const domain = yield* ProtectionDomain.alloc(context)
  const channel = yield* CompletionChannel.make(context)
  const queue = yield* CompletionQueue.make(context, { cqe: 2 * depth, channel })
  const queuePair = yield* QueuePair.make(domain, {
    qpType,
    sendCq: queue,
    recvCq: queue,
    cap: { maxSendWr: depth, maxRecvWr: depth }
  })
  yield* CmId.moveQueuePair(id, queuePair, "init")
  return { domain, queue, queuePair }
})

export const ready = Effect.fnUntraced(function*(id: CmId.CmId, queuePair: QueuePair.QueuePair) {
  yield* CmId.moveQueuePair(id, queuePair, "rtr")
  yield* CmId.moveQueuePair(id, queuePair, "rts")
})

/** What these programs ask for. Soft-RoCE repeats for ever what may be repeated seven times. */
const parameters: ConnectionParameters.Input = { responderResources: 1, initiatorDepth: 1, retryCount: 5 }

/** Connects an id with a route, and its queue pair. */
export const connect = Effect.fnUntraced(function*(id: CmId.CmId, queuePair: QueuePair.QueuePair<"rc">) {
  yield* CmId.connect(id, { ...parameters, qpNum: queuePair.qpNum })
  // Only now the connection manager has the rights of the other side to read and write memory.
  yield* CmId.moveQueuePair(id, queuePair, "init")
  yield* ready(id, queuePair)
  yield* CmId.establish(id)
})

/** Accepts the request of an id with its queue pair. */
export const accept = Effect.fnUntraced(function*(id: CmId.CmId, queuePair: QueuePair.QueuePair<"rc">) {
  yield* ready(id, queuePair)
  yield* patiently(CmId.accept(id, { ...parameters, qpNum: queuePair.qpNum }))
})

// -----------------------------------------------------------------------------
// The other side
// -----------------------------------------------------------------------------

const patience = Duration.seconds(10)

/** The other side is gone without a word, or as good as gone. */
export class PeerSilent extends Schema.TaggedError<PeerSilent>()("PeerSilent", { errno: Schema.Literal("ETIMEDOUT") }) {
  override get message() {
    return `nothing was heard of the other side for ${Duration.format(patience)}`
  }
}

/** Nobody tells that the host of the other side is gone, so whoever waits for it waits for some seconds. */
export const patiently = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.timeoutOrElse(effect, {
    duration: patience,
    orElse: () => Effect.fail(new PeerSilent({ errno: "ETIMEDOUT" }))
  })

/** The next message of the other side. */
export const received = (queue: CompletionQueue.CompletionQueue, queuePair: QueuePair.QueuePair) =>
  Effect.flatMap(
    CompletionQueue.next(queue, 1),
    ([completion]) => WorkCompletion.orFail(completion, "recv", queuePair)
  )

/** Fails when the other side disconnects before `effect` is done. */
export const whileConnected = <A, E, R>(id: CmId.CmId, effect: Effect.Effect<A, E, R>) =>
  Effect.raceFirst(
    effect,
    Effect.andThen(
      CmId.awaitDisconnected(id),
      Effect.fail(new ProgramError({ problem: "the other side has disconnected" }))
    )
  )
