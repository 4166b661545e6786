/**
 * What both sides of a connection do: its queues before, its watch and its end after it is set up.
 *
 * @since 0.1.0
 */
import * as QueuePair from "@effect-rdma/verbs/QueuePair"
import * as WaitStrategy from "@effect-rdma/verbs/WaitStrategy"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as CmId from "../CmId.ts"
import type * as Connection from "../Connection.ts"
import * as ConnectionError from "../ConnectionError.ts"
import type * as ConnectionOptions from "../ConnectionOptions.ts"
import * as ShutdownGrace from "../ShutdownGrace.ts"
import { onDevice, refused } from "./idOperation.ts"
import * as Messages from "./messages.ts"
import { watch } from "./watch.ts"

/** Makes the queues of an id, and posts the receives before the other side can send. */
export const prepare = Effect.fnUntraced(function*(id: CmId.CmId, options: Messages.Options) {
  const messages = yield* Messages.make(yield* CmId.context(id), "rc", options)
  yield* CmId.moveQueuePair(id, messages.queuePair, "init")
  yield* Messages.start(messages)
  return messages
})

/** Moves the queue pair to where it sends and receives. */
export const makeReady = (id: CmId.CmId, { queuePair }: Messages.Messages<"rc">) =>
  // Before there was an answer the connection manager let the other side do nothing but send.
  CmId.moveQueuePair(id, queuePair, "init").pipe(
    Effect.andThen(CmId.moveQueuePair(id, queuePair, "rtr", { minRnrTimer })),
    Effect.andThen(CmId.moveQueuePair(id, queuePair, "rts"))
  )

/** What the other side is told beside the private data. */
export const parametersOf = (
  { retryCount, rnrRetryCount }: ConnectionOptions.ConnectionOptions,
  { queuePair: { qpNum } }: Messages.Messages<"rc">
) => ({ qpNum, retryCount, rnrRetryCount })

/** Makes a connection of an id that is set up: watches it, and shuts it down before anything of it is released. */
export const watched = Effect.fnUntraced(function*(
  id: CmId.CmId,
  messages: Messages.Messages<"rc">,
  privateData: Uint8Array,
  keepAlive: Duration.Input | undefined
) {
  const { localAddress, peerAddress, portNum } = yield* CmId.state(id)
  if (localAddress === undefined || peerAddress === undefined) {
    return yield* refused("rdma_cm_id.route", "ENOTCONN", "The id has no addresses")
  }
  const connection: Connection.Connection = {
    id,
    queuePair: messages.queuePair,
    domain: messages.domain,
    device: messages.domain.context.name,
    portNum,
    localAddress,
    peerAddress,
    privateData,
    messageSize: messages.size,
    messages
  }
  messages.onFailure = Effect.asVoid(Effect.exit(disconnect(id)))
  yield* watch(id, messages)
  if (keepAlive !== undefined) yield* Messages.work(messages, asking(messages, keepAlive))
  yield* Effect.addFinalizer(() => shutDown(id, messages))
  return connection
})

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

/** 0.64 ms: what the connection manager has is 655 ms. */
const minRnrTimer = 12

/** Has the other adapter answer from time to time, which ends the messages when it does not. */
const asking = (messages: Messages.Messages<"rc">, keepAlive: Duration.Input): Effect.Effect<void> => {
  // Nobody looks at the key of a write of nothing.
  const nothing = { sgList: [], remote: { remoteAddr: 0n, rkey: 0 } }
  const ask = Messages.guarded(messages, QueuePair.rdmaWrite(messages.queuePair, nothing))
  return Effect.ignore(Effect.forever(Effect.andThen(Effect.sleep(keepAlive), ask)))
}

/** Starts to disconnect, or answers the other side that did. */
const disconnect = (id: CmId.CmId) => onDevice(id, "rdma_disconnect", (raw) => id.channel.cm.disconnect(raw))

/** Tells the other side, waits for its answer, and flushes what is under way. */
const shutDown = (id: CmId.CmId, messages: Messages.Messages<"rc">): Effect.Effect<void> =>
  Effect.gen(function*() {
    const failure = new ConnectionError.ConnectionClosed({ call: "rdma_disconnect", status: 0 })
    messages.failure ??= failure
    yield* Effect.exit(disconnect(id))
    const grace = yield* ShutdownGrace.ShutdownGrace
    yield* Effect.exit(Effect.raceFirst(CmId.awaitDisconnected(id), sleep(grace)))
    yield* Effect.exit(QueuePair.toErr(messages.queuePair))
    Messages.close(messages, failure)
  })

// Not on the program's clock: what a test's clock never lets happen would keep the scope from closing.
const sleep = (duration: Duration.Input): Effect.Effect<void> =>
  Effect.flatMap(WaitStrategy.DeviceTimer, (after) =>
    Effect.callback((resume) => {
      const millis = Duration.toMillis(Option.getOrElse(Duration.fromInput(duration), () => Duration.zero))
      if (millis <= 0) return resume(Effect.void)
      // A timer beyond its range ends at once.
      return Effect.sync(after(Math.min(millis, 2 ** 31 - 1), () => resume(Effect.void)))
    }))
